#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "loadgen/chunks.hpp"
#include "loadgen/http.hpp"
#include "loadgen/playback.hpp"
#include "loadgen/segments.hpp"
#include "loadgen/socket.hpp"

namespace aferir::loadgen {

/// How often the socket becomes readable in each second of video: often enough to keep account of
/// the viewers' buffers, seldom enough for thousands of streams.
constexpr double kWakesPerSecond = 4.0;

/// Settings of all clients.
struct Settings {
    Target start;
    double bytes_per_second = 0.0;
    double startup_s = 2.0;
    Nanoseconds patience = 0;
    /// Time after which a server that sends nothing has failed.
    Nanoseconds silence = 0;
    /// How the rates of a video in segments are chosen; null for a video in one file.
    Rule rule = nullptr;
    /// Seconds of a video in segments that a viewer buffers at most.
    double most_buffer_s = 12.0;
};

enum class Outcome { kNone, kServed, kAbandoned, kBlocked, kFailed };

/// Words for outcomes, in the order of `Outcome`.
inline constexpr std::array<std::string_view, 5> kOutcomes{"none", "served", "abandoned", "blocked",
                                                           "failed"};

constexpr std::string_view outcome_name(Outcome outcome) {
    return kOutcomes[static_cast<std::size_t>(outcome)];
}

/// One viewer: requests a video from Front, follows the redirection to a Node, watches, and leaves.
/// With a rule, what it requests is the manifest of a video in segments.
/// Driven from outside: by events of its socket, and by the alarms that it requests.
class Client {
  public:
    /// `intended`: time at which the client was due to arrive, even if it starts later; `watch`:
    /// time for which it watches, 0 for the whole video.
    Client(const Settings& settings, Nanoseconds intended, Nanoseconds watch)
        : settings_(&settings), intended_(intended), watch_(watch) {}

    void start(Nanoseconds now);
    /// To be called when the socket is readable or writable, or the connection has ended.
    void look(Nanoseconds now);
    /// To be called at the time that `alarm()` returned.
    void ring(Nanoseconds now);

    /// Time at which to call `ring`, at the latest.
    [[nodiscard]] Nanoseconds alarm() const;
    /// Socket to wait for, which changes over time. Not open if there is nothing to wait for.
    [[nodiscard]] const Descriptor& socket() const { return socket_; }
    /// Whether `socket()` has changed since the last call.
    [[nodiscard]] bool take_fresh() { return std::exchange(fresh_, false); }
    [[nodiscard]] bool wants_to_send() const { return !out_.empty(); }

    [[nodiscard]] bool done() const { return state_ == State::kDone; }
    /// Whether the video is under way; of one in segments, also while nothing is fetched.
    [[nodiscard]] bool streaming() const {
        return state_ == State::kStream ||
               (segments_ && (state_ == State::kAskNode || state_ == State::kWait));
    }
    [[nodiscard]] Outcome outcome() const { return outcome_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }
    /// Nothing if no video arrived, nor the manifest of one.
    [[nodiscard]] const Playback* playback() const { return sent_ ? &playback_ : nullptr; }
    [[nodiscard]] Nanoseconds intended() const { return intended_; }
    /// Time from the intended arrival to the first picture.
    [[nodiscard]] std::optional<Nanoseconds> startup() const;
    /// Nothing if the video is not in segments, or its manifest did not arrive.
    [[nodiscard]] const Segments* segments() const { return segments_ ? &*segments_ : nullptr; }
    /// Seconds of video by which the buffer of a viewer who was served was fuller at the last
    /// segment than at the first picture. Nothing if the video is not in segments.
    [[nodiscard]] double gained_s() const { return gained_s_; }
    /// Bytes of video that have arrived.
    [[nodiscard]] std::int64_t received() const { return segments_ ? came_ : playback_.received(); }
    /// Bytes of video that arrived since the last call.
    std::int64_t take_bytes();
    [[nodiscard]] bool left_unheard() const { return left_unheard_; }

  private:
    enum class State { kIdle, kAskFront, kAskNode, kStream, kWait, kLeave, kDone };

    void ask(State state, std::string_view method, const Target& target, Nanoseconds now);
    void read_head(Nanoseconds now);
    void answered(Nanoseconds now, std::span<const char> body, Nanoseconds at);
    void follow(Nanoseconds now);
    void begin_stream(std::span<const char> body, Nanoseconds at, Nanoseconds now);
    void read_stream(Nanoseconds now);
    void read_chunks(Chunks& chunks, Nanoseconds now);
    void take(std::int64_t bytes, Nanoseconds at, Nanoseconds now);
    void after_stream(bool ended, Nanoseconds now);
    void begin_part(std::span<const char> body, Nanoseconds at, Nanoseconds now);
    void read_part(Nanoseconds now);
    void after_part(Nanoseconds at, Nanoseconds now);
    void take_manifest(Nanoseconds now);
    void take_segment(Segments& segments, Nanoseconds at, Nanoseconds now);
    void fetch_next(Segments& segments, Nanoseconds now);
    void ask_again(const Target& target, Nanoseconds now);
    void broken(std::string_view reason, Nanoseconds now);
    void end(Outcome outcome, std::string_view reason, Nanoseconds now);
    void starve(bool starving);
    [[nodiscard]] Nanoseconds patience_end() const { return intended_ + settings_->patience; }

    const Settings* settings_;
    Nanoseconds intended_;
    Nanoseconds watch_;
    State state_ = State::kIdle;
    Outcome outcome_ = Outcome::kNone;
    std::string reason_;
    Descriptor socket_;
    std::string out_;
    ResponseHead head_;
    /// Target of the latest request.
    Target asked_;
    int hops_ = 0;
    /// State of a video that is sent in chunks.
    std::optional<Chunks> chunks_;
    bool to_end_ = false;
    std::string leave_path_;
    Playback playback_{1.0, 1, 0};
    bool sent_ = false;
    std::int64_t taken_ = 0;
    Nanoseconds heard_ = 0;
    Nanoseconds empty_ = 0;
    Nanoseconds watch_end_ = kNever;
    /// Of a video in segments: URL of its manifest, and the manifest's text as far as it has come.
    Target manifest_;
    std::string text_;
    std::optional<Segments> segments_;
    /// Bytes of all segments that have come.
    std::int64_t came_ = 0;
    /// Bytes of the present manifest or segment, and how many of them have not come yet.
    std::int64_t size_ = 0;
    std::int64_t left_ = 0;
    /// Time at which it was requested.
    Nanoseconds asked_at_ = 0;
    /// End of a wait until the buffer has room.
    Nanoseconds wait_end_ = 0;
    double began_with_s_ = 0.0;
    double gained_s_ = 0.0;
    /// Whether the connection was opened for an earlier request.
    bool reused_ = false;
    bool fresh_ = false;
    bool starving_ = false;
    bool left_unheard_ = false;
};

}  // namespace aferir::loadgen
