#include "lbm/mpi_world.hpp"

#include <memory>
#include <string>
#include <vector>

#include "common/program.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::lbm {
namespace {

constexpr int kThere = 1;
constexpr int kBack = 2;

/// Ghosts are received directly into their places in the array of populations; values to be sent
/// are copied into a buffer first, as they are not contiguous.
class MessageExchange : public Exchange {
  public:
    explicit MessageExchange(const Cells& cells) : peers_(cells.peers), buffers_(peers_.size()) {
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            buffers_[i].resize(peers_[i].places.size());
        }
    }

    void start_ghosts(double* f) override {
        for (const auto& peer : peers_) {
            messages_.receive(peer.rank, ghosts(f, peer), kThere);
        }
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            for (std::size_t j = 0; j < buffers_[i].size(); ++j) {
                buffers_[i][j] = f[peers_[i].places[j]];
            }
            messages_.send(peers_[i].rank, std::span<const double>(buffers_[i]), kThere);
        }
    }

    void progress() override { messages_.progress(); }

    void finish_ghosts() override { messages_.wait(); }

    void return_ghosts(double* f) override {
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            messages_.receive(peers_[i].rank, std::span(buffers_[i]), kBack);
        }
        for (const auto& peer : peers_) {
            messages_.send(peer.rank, std::span<const double>(ghosts(f, peer)), kBack);
        }
        messages_.wait();
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            for (std::size_t j = 0; j < buffers_[i].size(); ++j) {
                f[peers_[i].places[j]] = buffers_[i][j];
            }
        }
    }

  private:
    static std::span<double> ghosts(double* f, const Peer& peer) {
        return {f + peer.ghosts_begin, f + peer.ghosts_end};
    }

    const std::vector<Peer>& peers_;
    std::vector<std::vector<double>> buffers_;
    npb::Messages messages_;
};

class MpiWorld : public World {
  public:
    [[nodiscard]] int id() const override { return ranks_.id(); }
    [[nodiscard]] int count() const override { return ranks_.count(); }
    [[nodiscard]] double seconds() const override { return npb::Ranks::seconds(); }
    void wait() const override { ranks_.wait(); }
    [[nodiscard]] double sum(double value) const override { return ranks_.sum(value); }
    [[nodiscard]] double largest(double value) const override { return ranks_.largest(value); }
    [[nodiscard]] std::unique_ptr<Exchange> exchange(const Cells& cells) const override {
        return std::make_unique<MessageExchange>(cells);
    }

  private:
    npb::Ranks ranks_;
};

}  // namespace

int drive_mpi(std::string_view program, std::string_view mpi, std::span<const Variant> variants,
              std::span<const std::string_view> given) {
    const MpiWorld world;
    const int code = drive(program, mpi, variants, given, world, stdout, stderr);
    if (code == kNoMemory) {
        print_line(stderr, std::string(program) + ": rank " + std::to_string(world.id()) +
                               " has not enough memory");
        npb::Ranks::abort(code);  // other ranks may have enough, and wait for this one
    }
    return code;
}

}  // namespace aferir::lbm
