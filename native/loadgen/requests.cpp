#include "loadgen/requests.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <sstream>

#include "loadgen/cache.hpp"
#include "loadgen/connections.hpp"
#include "loadgen/limits.hpp"
#include "loadgen/redis.hpp"
#include "loadgen/reply.hpp"
#include "loadgen/requests_source.hpp"
#include "loadgen/socket.hpp"
#include "loadgen/tally.hpp"
#include "loadgen/waiter.hpp"

namespace aferir::loadgen {

namespace {

/// Interval between two searches for requests whose patience has ended.
constexpr Nanoseconds kSweep = 10'000'000;

std::string no_answer_within(Nanoseconds patience) {
    std::ostringstream text;
    text << "no answer within " << static_cast<double>(patience) * 1e-9 << " s";
    return text.str();
}

Target named(Target target, const std::string& host) {
    if (!host.empty()) {
        target.host = host;
    }
    return target;
}

/// For each target, the number of its group; targets of one host are in the same group.
std::vector<std::size_t> group_by_host(const std::vector<Weighted>& targets) {
    std::map<std::string, std::size_t> hosts;
    std::vector<std::size_t> groups;
    groups.reserve(targets.size());
    for (const Weighted& one : targets) {
        groups.push_back(hosts.try_emplace(one.target.host, hosts.size()).first->second);
    }
    return groups;
}

std::string text_of(const Weighted& asked, const Target& home) {
    switch (asked.protocol) {
        case Protocol::kMemcached:
            return cache_request(asked.target);
        case Protocol::kRedis:
            return redis_request(asked.target);
        case Protocol::kHttp:
            break;
    }
    return request("GET", home, true);
}

class Sender {
  public:
    Sender(const Plan& plan, const Tell& tell)
        : plan_(&plan),
          epoll_(epoll_create1(EPOLL_CLOEXEC)),
          waiter_(epoll_.number()),
          source_(plan),
          groups_(group_by_host(plan.targets)),
          connections_(plan.connections, std::ranges::max(groups_) + 1),
          tally_(plan, tell),
          no_answer_(no_answer_within(plan.patience)) {
        for (const Weighted& one : plan.targets) {
            homes_.push_back(named(one.target, plan.host));
            texts_.push_back(text_of(one, homes_.back()));
        }
    }

    Measured go() {
        const double cpu_before = cpu_seconds();
        began_ = monotonic_now();
        while (!source_.done() || waits_for_answers()) {
            turn();
        }
        return tally_.finish(static_cast<double>(now()) * 1e-9, cpu_seconds() - cpu_before);
    }

  private:
    void turn() {
        std::array<epoll_event, 512> events;
        const Nanoseconds due = std::min(source_.done() ? kNever : source_.next(),
                                         waits_for_answers() ? sweep_ : kNever);
        const Nanoseconds left = std::clamp<Nanoseconds>(due - now(), 0, kSecond);
        const int count = waiter_.wait(events, left);
        for (int k = 0; k < count; ++k) {
            look(events[static_cast<std::size_t>(k)]);
            send_due();  // reading a long answer must not delay a request
        }
        send_due();
        if (waits_for_answers() && now() >= sweep_) {
            sweep();
        }
    }

    [[nodiscard]] Nanoseconds now() const { return monotonic_now() - began_; }
    [[nodiscard]] bool waits_for_answers() const { return busy_ > 0 || !waiting_.empty(); }

    void send_due() {
        for (Nanoseconds moment = now(); !source_.done() && source_.next() <= moment;
             moment = now()) {
            const Wanted wanted = source_.take();
            tally_.due(wanted, moment);
            ask(wanted);
        }
    }

    void ask(const Wanted& wanted) {
        if (!wanted.again && is_at_home(wanted)) {
            if (const auto number = connections_.take_idle(groups_[wanted.target])) {
                send(*number, wanted);
                return;
            }
        }
        if (const auto number = connections_.take_unused()) {
            open(*number, wanted);
        } else {
            waiting_.push_back(wanted);
        }
    }

    void open(std::uint32_t number, const Wanted& wanted) {
        Connection& made = connections_[number];
        made.address = address_;
        made.is_at_home = is_at_home(wanted);
        made.socket = connect_to(place_of(wanted));
        if (!made.socket.open()) {
            const std::string reason = std::strerror(errno);
            connections_.close(number);
            if (!ask_elsewhere(wanted, made.address)) {
                failed(wanted, reason);
            }
            return;
        }
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        event.data.u64 = std::uint64_t{made.serial} << 32U | number;
        epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, made.socket.number(), &event);
        tally_.connected(connections_.open());
        send(number, wanted);
    }

    void send(std::uint32_t number, const Wanted& wanted) {
        Connection& it = connections_[number];
        it.busy = true;
        ++it.requests;
        if (busy_++ == 0) {
            sweep_ = std::max(sweep_, now() + kSweep);
        }
        it.wanted = wanted;
        it.answer = Reply(plan_->targets[wanted.target]);
        it.out = wanted.hop ? wanted.hop->text : texts_[wanted.target];
        tally_.sent(wanted, now());
        if (!send_some(it.socket, it.out)) {
            broken(number);
        }
    }

    void look(const epoll_event& event) {
        const auto number = static_cast<std::uint32_t>(event.data.u64);
        Connection& it = connections_[number];
        if (!it.socket.open() || it.serial != event.data.u64 >> 32U) {
            return;
        }
        it.ended = it.ended || (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        if (!it.busy) {
            look_at_idle(number);
            return;
        }
        if (!it.out.empty() && !send_some(it.socket, it.out)) {
            broken(number);
            return;
        }
        read(number);
    }

    /// Handles an event of an idle connection, which may belong to a response that has been read
    /// already. The connection is useless if the server closes it, or sends something without a
    /// request.
    void look_at_idle(std::uint32_t number) {
        const Connection& it = connections_[number];
        std::array<char, 1> byte;
        const Received got = receive(it.socket, byte);
        if (it.ended || got.ended || got.bytes > 0) {
            connections_.close_idle(number, groups_[it.wanted.target]);
            serve_waiting();
        }
    }

    void read(std::uint32_t number) {
        Connection& it = connections_[number];
        std::array<char, 65536> buffer;
        Received got;
        do {
            got = receive(it.socket, buffer);
            it.answer.feed(std::span(buffer).first(static_cast<std::size_t>(got.bytes)));
            if (got.bytes > 0) {
                it.last = got.at;
            }
        } while (got.bytes > 0 && it.answer.state() == Answer::State::kReading);
        if (got.ended) {
            it.answer.end();
        }
        if (it.answer.state() == Answer::State::kDone) {
            answered(number);
        } else if (it.answer.state() == Answer::State::kBroken) {
            broken(number);
        }
    }

    /// Ends a request. In a closed loop the user's next one is scheduled from the time of the last
    /// byte, however late it was read; after a failure it follows only after a sweep, or a server
    /// that refuses every request would be asked without a pause.
    void ended(const Wanted& wanted, Nanoseconds latency, int status, std::string_view failure) {
        tally_.ended(wanted, latency, status, failure);
        source_.ended(failure.empty() ? wanted.intended + latency : now() + kSweep);
    }

    void failed(const Wanted& wanted, std::string_view failure) { ended(wanted, 0, 0, failure); }

    void answered(std::uint32_t number) {
        const Connection& it = connections_[number];
        const int status = it.answer.status();
        if (redirects(status) && follow(number)) {
            return;
        }
        const bool good = status >= 200 && status < 400;
        ended(it.wanted, it.last - began_ - it.wanted.intended, status,
              good ? "" : "status " + std::to_string(status));
        release(number, it.answer.keeps() && !it.ended);
    }

    /// Follows a redirection if possible. One to another scheme, or to a host without a numeric
    /// address, counts as an ordinary answer.
    bool follow(std::uint32_t number) {
        const Connection& it = connections_[number];
        Wanted wanted = it.wanted;
        const int count = wanted.hop ? wanted.hop->count + 1 : 1;
        const Target& home = homes_[wanted.target];
        auto hop =
            next_hop(home, wanted.hop ? wanted.hop->target : home, it.answer.location(), count);
        if (!hop) {
            return false;
        }
        wanted.hop = std::move(hop);
        wanted.again = false;
        release(number, it.answer.keeps() && !it.ended);
        if (count > kMostHops) {
            failed(wanted, "redirected more than " + std::to_string(kMostHops) + " times");
        } else {
            ask(wanted);
        }
        return true;
    }

    static bool is_at_home(const Wanted& wanted) { return !wanted.hop || wanted.hop->is_at_home; }

    /// Address to connect to: for the plan's own host, the one that is known to answer.
    [[nodiscard]] Target place_of(const Wanted& wanted) const {
        if (is_at_home(wanted) && !plan_->addresses.empty()) {
            return plan_->addresses[address_];
        }
        return wanted.hop ? wanted.hop->target : homes_[wanted.target];
    }

    /// Switches to the host's next address after one did not answer, and retries the request there.
    /// Returns false, without a retry, if the request was redirected to another host, the host has
    /// one address, or all have failed.
    bool ask_elsewhere(Wanted wanted, std::size_t address) {
        if (!is_at_home(wanted) || !leave(address) || ++wanted.tried >= plan_->addresses.size()) {
            return false;
        }
        wanted.again = true;
        ask(wanted);
        return true;
    }

    bool leave(std::size_t address) {
        if (plan_->addresses.size() < 2) {
            return false;
        }
        if (address == address_) {
            address_ = (address_ + 1) % plan_->addresses.size();
        }
        return true;
    }

    void broken(std::uint32_t number) {
        const Connection& it = connections_[number];
        Wanted wanted = it.wanted;
        const bool nobody = it.requests == 1 && !it.answer.begun();
        const std::size_t address = it.address;
        // The server may close an idle connection just when it is reused (RFC 9112, 9.3.1).
        const bool retry = it.requests > 1 && !it.answer.begun() && !wanted.again;
        release(number, false);
        if (retry) {
            wanted.again = true;
            ask(wanted);
        } else if (!nobody || !ask_elsewhere(wanted, address)) {
            failed(wanted, "the connection was refused, reset or spoke another protocol");
        }
    }

    void release(std::uint32_t number, bool keep) {
        --busy_;
        Connection& it = connections_[number];
        it.busy = false;
        if (keep && it.is_at_home && (plan_->reuse == 0 || it.requests < plan_->reuse)) {
            connections_.keep(number, groups_[it.wanted.target]);
        } else {
            connections_.close(number);
        }
        serve_waiting();
    }

    /// Sends as many waiting requests as there are connections, kept or new.
    void serve_waiting() {
        if (is_serving_) {
            return;  // the loop below goes on by itself
        }
        is_serving_ = true;
        while (!waiting_.empty() && connections_.available()) {
            const Wanted next = waiting_.front();
            waiting_.pop_front();
            ask(next);
        }
        is_serving_ = false;
    }

    void sweep() {
        const Nanoseconds moment = now();
        sweep_ = moment + kSweep;
        while (!waiting_.empty() && moment - waiting_.front().intended >= plan_->patience) {
            failed(waiting_.front(), no_answer_);
            waiting_.pop_front();
        }
        for (std::uint32_t number = 0; number < connections_.size(); ++number) {
            const Connection& it = connections_[number];
            if (it.busy && moment - it.wanted.intended >= plan_->patience) {
                const Wanted wanted = it.wanted;
                if (it.requests == 1 && !it.answer.begun() && it.is_at_home) {
                    leave(it.address);  // a network that drops packets does not refuse connections
                }
                release(number, false);
                failed(wanted, no_answer_);
            }
        }
    }

    const Plan* plan_;
    Descriptor epoll_;
    Waiter waiter_;
    Source source_;
    /// For each target, the number of its group of connections.
    std::vector<std::size_t> groups_;
    Connections connections_;
    Tally tally_;
    std::vector<std::string> texts_;
    /// The targets, with the host's name.
    std::vector<Target> homes_;
    /// Index, among the plan's addresses, of the one in use.
    std::size_t address_ = 0;
    std::string no_answer_;
    /// Requests that are due and have no connection.
    std::deque<Wanted> waiting_;
    Nanoseconds began_ = 0;
    Nanoseconds sweep_ = kSweep;
    std::size_t busy_ = 0;
    bool is_serving_ = false;
};

}  // namespace

Measured send_requests(const Plan& plan, const Tell& tell) {
    allow_files(plan.connections);
    prctl(PR_SET_TIMERSLACK, 1UL);
    const auto sender = std::make_unique<Sender>(plan, tell);
    return sender->go();
}

}  // namespace aferir::loadgen
