#include "dedup/pipeline.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dedup/chunker.hpp"
#include "dedup/digest.hpp"
#include "dedup/queue.hpp"
#include "io/threads.hpp"

namespace aferir::dedup {
namespace {

// One distinct content of chunks, however often it occurs.
struct Content {
    Bytes packed;                    // set by the thread that found it first; freed once written
    std::atomic<bool> ready{false};  // whether `packed` may be looked at
    bool written = false;            // of the last stage alone, as is `number`
    std::uint64_t number = 0;
};

struct Chunk {
    std::span<const std::byte> data;
    Content* content = nullptr;
    bool first = false;  // whether this item has to compress it
};

struct Fragment {
    std::uint64_t number = 0;
    Bytes data;
    std::vector<Chunk> chunks;
};
using Item = std::unique_ptr<Fragment>;

struct DigestHash {
    std::size_t operator()(const Digest& digest) const {
        std::size_t bits = 0;
        std::memcpy(&bits, digest.data(), sizeof(bits));
        return bits;
    }
};

// All distinct contents by digest, in parts with a lock each.
class Contents {
  public:
    // Returns the content, and whether it is new.
    std::pair<Content*, bool> add(const Digest& digest) {
        auto& part = parts_[digest.back() % parts_.size()];
        const std::scoped_lock held(part.guard);
        auto& content = part.known[digest];
        const bool is_new = content == nullptr;
        if (is_new) {
            content = std::make_unique<Content>();
        }
        return {content.get(), is_new};
    }

  private:
    struct Part {
        std::mutex guard;
        std::unordered_map<Digest, std::unique_ptr<Content>, DigestHash> known;
    };
    std::array<Part, 64> parts_;
};

class Pipeline {
  public:
    Pipeline(const ReadAt& read, const Settings& settings, const ArchiveWriter::Put& put)
        : read_(read), settings_(settings), archive_(put) {
        for (auto& left : left_) {
            left = settings.threads;
        }
        for (auto tokens = most_under_way(settings.threads); tokens > 0; --tokens) {
            tokens_.push(Token{});
        }
    }

    Found run() {
        const int middle = settings_.threads;
        io::in_threads(2 + 3 * middle, [&](int thread) {
            try {
                work(thread, middle);
            } catch (...) {
                abandon();
                throw;
            }
        });
        return found_;
    }

  private:
    struct Token {};

    void work(int thread, int middle) {
        if (thread == 0) {
            fragment();
        } else if (thread == 1) {
            reorder();
        } else {
            const auto stage = static_cast<std::size_t>((thread - 2) / middle);
            while (auto item = queues_[stage].pop()) {
                handle(stage, **item);
                queues_[stage + 1].push(std::move(*item));
            }
            if (--left_[stage] == 0) {
                queues_[stage + 1].close();
            }
        }
    }

    void handle(std::size_t stage, Fragment& fragment) const {
        if (stage == 0) {
            refine(fragment);
        } else if (stage == 1) {
            hash(fragment);
        } else {
            pack(fragment);
        }
    }

    // Cuts fragments, like chunks, at boundaries that the content determines: otherwise repeated
    // data would be cut differently.
    void fragment() {
        Bytes rest;
        std::uint64_t offset = 0;
        for (std::uint64_t number = 0;; ++number) {
            if (!tokens_.pop()) {
                return;
            }
            auto next = std::make_unique<Fragment>();
            next->number = number;
            const auto kept = rest.size();
            next->data = std::move(rest);
            next->data.resize(kFragment);
            const auto got = read_(std::span(next->data).subspan(kept), offset);
            offset += got;
            next->data.resize(kept + got);
            if (next->data.empty()) {
                break;
            }
            const bool last = next->data.size() < kFragment;
            const auto end = last ? next->data.size() : boundary_after(next->data, kFragment / 2);
            rest.assign(next->data.begin() + static_cast<std::ptrdiff_t>(end), next->data.end());
            next->data.resize(end);
            queues_.front().push(std::move(next));
        }
        queues_.front().close();
    }

    static void refine(Fragment& fragment) {
        for (std::span<const std::byte> left(fragment.data); !left.empty();) {
            const auto bytes = chunk_bytes(left);
            fragment.chunks.push_back({left.first(bytes)});
            left = left.subspan(bytes);
        }
    }

    void hash(Fragment& fragment) const {
        for (auto& chunk : fragment.chunks) {
            std::tie(chunk.content, chunk.first) = contents_->add(sha256(chunk.data));
        }
    }

    void pack(Fragment& fragment) const {
        for (const auto& chunk : fragment.chunks) {
            if (chunk.first) {
                chunk.content->packed = compress(chunk.data, settings_.level);
                chunk.content->ready.store(true, std::memory_order_release);
            }
        }
    }

    // A fragment may wait for content that a later one compresses. That one is already in the
    // pipeline, and no queue is ever full, so this cannot block for ever.
    void reorder() {
        std::map<std::uint64_t, Item> waiting;
        std::uint64_t next = 0;
        while (auto item = queues_.back().pop()) {
            waiting.emplace((*item)->number, std::move(*item));
            for (auto first = waiting.find(next); first != waiting.end() && whole(*first->second);
                 first = waiting.find(next)) {
                write(*first->second);
                waiting.erase(first);
                tokens_.push(Token{});
                next += 1;
            }
        }
        archive_.finish();
    }

    static bool whole(const Fragment& fragment) {
        return std::all_of(fragment.chunks.begin(), fragment.chunks.end(), [](const Chunk& chunk) {
            return chunk.content->ready.load(std::memory_order_acquire);
        });
    }

    void write(const Fragment& fragment) {
        for (const auto& chunk : fragment.chunks) {
            const auto bytes = static_cast<std::uint32_t>(chunk.data.size());
            auto& content = *chunk.content;
            found_.chunks += 1;
            found_.raw_bytes += bytes;
            if (content.written) {
                archive_.repeat(content.number, bytes);
                found_.duplicates += 1;
                found_.duplicate_bytes += bytes;
            } else {
                content.number = archive_.data(content.packed, bytes);
                content.written = true;
                content.packed = Bytes();
            }
        }
    }

    void abandon() {
        tokens_.abandon();
        for (auto& queue : queues_) {
            queue.abandon();
        }
    }

    const ReadAt& read_;
    Settings settings_;
    ArchiveWriter archive_;
    Found found_;
    std::unique_ptr<Contents> contents_ = std::make_unique<Contents>();
    Queue<Token> tokens_;
    std::array<Queue<Item>, 4> queues_;  // into refine, hash, compress, reorder
    std::array<std::atomic<int>, 3> left_{};
};

}  // namespace

std::size_t most_under_way(int threads) { return 4 + 4 * static_cast<std::size_t>(threads); }

Found deduplicate(const ReadAt& read, const Settings& settings, const ArchiveWriter::Put& put) {
    return Pipeline(read, settings, put).run();
}

}  // namespace aferir::dedup
