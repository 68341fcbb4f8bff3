#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/lu_fronts.hpp"
#include "npb/lu_relay.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Ranks with adjacent pencils, -1 if there is none.
struct Beside {
    int before;
    int after;
};

/// Synchronises the sweeps of a process with those of adjacent processes: along j like RelayLinks,
/// and along i as well.
///
/// Gifts (products for a neighbour) are stored in the order in which the sweep reaches their
/// points, so that they can be sent and received in ranges, which are the same on both sides. Along
/// j, a gift's index is its point's number in the column, and a range is a chunk of fronts. Along
/// i, the index is plane * columns + column, and a range is a plane.
class MessageLinks {
  public:
    MessageLinks(const Fronts& fronts, Beside along_i, Beside along_j)
        : period_(fronts.period()),
          columns_(fronts.columns()),
          planes_(fronts.size() - 2),
          slots_(fronts.pencil().i.size()),
          points_(period_ * (planes_ - 1) + slots_),
          chunk_(std::min(period_, kChunk)),
          along_i_(along_i),
          along_j_(along_j) {
        for (auto& boxes : boxes_) {
            boxes.from_j.resize(static_cast<std::size_t>(points_));
            boxes.to_j.resize(static_cast<std::size_t>(points_));
            boxes.from_i.resize(static_cast<std::size_t>(planes_ * columns_));
            boxes.to_i.resize(static_cast<std::size_t>(planes_ * columns_));
        }
    }

    [[nodiscard]] std::ptrdiff_t chunk() const { return chunk_; }

    template <int Side>
    void start() {
        auto& boxes = boxes_[box<Side>()];
        boxes.sending.wait();  // what the sweep before this one of the same kind left there
        boxes.received = boxes.sent = boxes.received_planes = boxes.sent_planes = 0;
    }

    template <int Side>
    void await(std::ptrdiff_t end) {
        auto& boxes = boxes_[box<Side>()];
        if (const int from = source<Side>(along_j_); from >= 0) {
            const auto wanted = std::min(end, points_);
            for (; boxes.received < wanted; boxes.received += chunk_) {
                receive(boxes.receiving, from, range(boxes.from_j, boxes.received, chunk_), kTagJ);
            }
        }
        if (const int from = source<Side>(along_i_); from >= 0) {
            const auto wanted = std::min((end - 1) / period_ + 1, planes_);
            for (; boxes.received_planes < wanted; ++boxes.received_planes) {
                receive(boxes.receiving, from,
                        range(boxes.from_i, boxes.received_planes * columns_, columns_), kTagI);
            }
        }
        boxes.receiving.wait();
    }

    template <int Side>
    void passed(std::ptrdiff_t end) {
        auto& boxes = boxes_[box<Side>()];
        if (const int to = source<-Side>(along_j_); to >= 0) {
            const auto ready = end - (columns_ - 1);
            while (boxes.sent < points_ && std::min(boxes.sent + chunk_, points_) <= ready) {
                send(boxes.sending, to, range(boxes.to_j, boxes.sent, chunk_), kTagJ);
                boxes.sent += chunk_;
            }
        }
        if (const int to = source<-Side>(along_i_); to >= 0) {
            const auto ready = end - (columns_ - 1) - (slots_ - 1);
            for (; boxes.sent_planes < planes_ && boxes.sent_planes * period_ < ready;
                 ++boxes.sent_planes) {
                send(boxes.sending, to, range(boxes.to_i, boxes.sent_planes * columns_, columns_),
                     kTagI);
            }
        }
    }

    template <int Side>
    [[nodiscard]] const LuGift* incoming(std::ptrdiff_t front) const {
        return source<Side>(along_j_) >= 0 && front < points_
                   ? &boxes_[box<Side>()].from_j[static_cast<std::size_t>(front)]
                   : nullptr;
    }

    template <int Side>
    [[nodiscard]] LuGift* outgoing(std::ptrdiff_t front) {
        const auto point = front - (columns_ - 1);
        return source<-Side>(along_j_) >= 0 && point >= 0
                   ? &boxes_[box<Side>()].to_j[static_cast<std::size_t>(point)]
                   : nullptr;
    }

    /// Before a front: adds the products received from the process on that side. They replace the
    /// products of the rim's points, which are zero because the sweep does not visit the rim.
    template <int Side, int W>
    void receive_along_i(std::ptrdiff_t front, double* gifts) const {
        if (source<Side>(along_i_) >= 0) {
            const auto& from = boxes_[box<Side>()].from_i;
            for_points<Side, W>(front, [&](std::size_t index, std::ptrdiff_t place) {
                for (std::size_t m = 0; m < from[index].size(); ++m) {
                    gifts[place + static_cast<std::ptrdiff_t>(m) * W] = from[index][m];
                }
            });
        }
    }

    /// After a front: stores the products of its points next to the process on the other side.
    template <int Side, int W>
    void send_along_i(std::ptrdiff_t front, const double* gifts) {
        if (source<-Side>(along_i_) >= 0) {
            auto& to = boxes_[box<Side>()].to_i;
            for_points<Side, W>(front - (slots_ - 1), [&](std::size_t index, std::ptrdiff_t place) {
                for (std::size_t m = 0; m < to[index].size(); ++m) {
                    to[index][m] = gifts[place + static_cast<std::ptrdiff_t>(m) * W];
                }
            });
        }
    }

  private:
    using Gifts = std::vector<LuGift>;

    static constexpr int kTagI = 1;
    static constexpr int kTagJ = 2;
    /// Number of fronts per message: messages of this size are sent without asking the receiver for
    /// room, and the next process starts half a plane of a class-A cube later.
    static constexpr std::ptrdiff_t kChunk = 32;

    /// Buffers of one sweep (lower or upper): the products (`LuGift`) to and from the neighbours
    /// along i and j, and how many of them have been sent and received so far.
    struct Boxes {
        Gifts from_j;
        Gifts to_j;
        Gifts from_i;
        Gifts to_i;
        std::ptrdiff_t received = 0;
        std::ptrdiff_t sent = 0;
        std::ptrdiff_t received_planes = 0;
        std::ptrdiff_t sent_planes = 0;
        Messages receiving;
        Messages sending;
    };

    template <int Side>
    static constexpr std::size_t box() {
        return Side > 0 ? 0 : 1;
    }

    template <int Side>
    static int source(const Beside& beside) {
        return Side > 0 ? beside.before : beside.after;
    }

    static std::span<LuGift> range(Gifts& gifts, std::ptrdiff_t begin, std::ptrdiff_t size) {
        const auto all = static_cast<std::ptrdiff_t>(gifts.size());
        return std::span(gifts).subspan(static_cast<std::size_t>(begin),
                                        static_cast<std::size_t>(std::min(size, all - begin)));
    }

    static void receive(Messages& messages, int from, std::span<LuGift> gifts, int tag) {
        messages.receive(from, gifts, tag);
    }

    static void send(Messages& messages, int to, std::span<const LuGift> gifts, int tag) {
        messages.send(to, gifts, tag);
    }

    /// Calls `use` for each point that is the first along i in its plane and is visited in that
    /// front, with the index of its gift and its place in the front's gifts. To get the points that
    /// are last along i, pass the front `slots - 1` earlier.
    template <int Side, int W, typename Use>
    void for_points(std::ptrdiff_t front, const Use& use) const {
        if (front < 0) {
            return;
        }
        for (auto plane = std::min(front / period_, planes_ - 1);
             plane >= 0 && front - plane * period_ < columns_; --plane) {
            const auto at = front - plane * period_;
            const auto column = Side > 0 ? at : columns_ - 1 - at;
            use(static_cast<std::size_t>(plane * columns_ + at),
                column / W * (std::ptrdiff_t{5} * W) + column % W);
        }
    }

    std::ptrdiff_t period_;
    std::ptrdiff_t columns_;
    std::ptrdiff_t planes_;
    std::ptrdiff_t slots_;   ///< of inner points in a plane's part of a column
    std::ptrdiff_t points_;  ///< of a column, from the first inner one to the last
    std::ptrdiff_t chunk_;
    Beside along_i_;
    Beside along_j_;
    std::array<Boxes, 2> boxes_;
};

}  // namespace aferir::npb::AFERIR_ISA
