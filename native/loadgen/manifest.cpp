#include "loadgen/manifest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "loadgen/text.hpp"
#include "loadgen/xml.hpp"

namespace aferir::loadgen {

namespace {

constexpr double kMostSegments = 1e6;
constexpr std::int64_t kMostNumber = std::int64_t{1} << 60;
/// Levels that segments are described on: MPD, Period, AdaptationSet, Representation.
constexpr std::size_t kLevels = 4;
constexpr std::size_t kWidest = 20;
constexpr std::array<std::string_view, 4> kUnknown{"BaseURL", "SegmentBase", "SegmentList",
                                                   "SegmentTimeline"};

/// Takes a number of seconds from a text such as PT1H2M3.5S (ISO 8601; no years or months, whose
/// lengths differ); nothing if it is none.
std::optional<double> duration(std::string_view text) {
    constexpr std::array<std::pair<char, double>, 4> kUnits{
        {{'D', 86400.0}, {'H', 3600.0}, {'M', 60.0}, {'S', 1.0}}};
    if (!text.starts_with('P')) {
        return std::nullopt;
    }
    text.remove_prefix(1);
    double sum = 0.0;
    bool in_time = false;
    while (!text.empty()) {
        if (text.starts_with('T') && !in_time) {
            in_time = true;
            text.remove_prefix(1);
            continue;
        }
        const std::size_t end = text.find_first_not_of("0123456789.");
        const std::optional<double> value = number<double>(text.substr(0, end));
        const auto* unit = std::ranges::find_if(
            kUnits, [&](const auto& one) { return end < text.size() && one.first == text[end]; });
        if (!value || unit == kUnits.end() || in_time == (unit->first == 'D')) {
            return std::nullopt;
        }
        sum += *value * unit->second;
        text.remove_prefix(end + 1);
    }
    return sum;
}

/// A positive number, `otherwise` if the text is empty. Errors: ManifestError.
double positive(std::string_view text, const char* what, double otherwise = 0.0) {
    const double value = text.empty() ? otherwise : number<double>(text).value_or(0.0);
    if (!(value > 0.0) || !std::isfinite(value)) {
        throw ManifestError(std::string("no ") + what);
    }
    return value;
}

/// The value of what stands between two `$`, written with at least as many digits as in `%05d`
/// (5.3.9.4.4).
std::string substituted(std::string_view what, const std::string& value) {
    const std::size_t at = what.find("%0");
    if (at == std::string_view::npos || !what.ends_with('d')) {
        return value;
    }
    const auto width = number<std::size_t>(what.substr(at + 2, what.size() - at - 3)).value_or(0);
    const std::size_t wanted = std::min(width, kWidest);
    return std::string(wanted - std::min(wanted, value.size()), '0') + value;
}

/// A URL from a template. Errors: ManifestError for another name than those of numbered segments.
std::string filled(std::string_view pattern, const Representation& of, const std::string& number) {
    std::string made;
    while (!pattern.empty()) {
        const std::size_t begin = std::min(pattern.find('$'), pattern.size());
        made.append(pattern.substr(0, begin));
        if (begin == pattern.size()) {
            break;
        }
        const std::size_t end = pattern.find('$', begin + 1);
        if (end == std::string_view::npos) {
            throw ManifestError("a template with a single $");
        }
        const std::string_view what = pattern.substr(begin + 1, end - begin - 1);
        const std::string_view name = what.substr(0, what.find('%'));
        if (what.empty()) {
            made.push_back('$');
        } else if (name == "RepresentationID") {
            made.append(of.id);
        } else if (name == "Bandwidth") {
            made.append(substituted(what, of.bandwidth));
        } else if (name == "Number" && !number.empty()) {
            made.append(substituted(what, number));
        } else {
            throw ManifestError("a template with $" + std::string(what) + "$");
        }
        pattern.remove_prefix(end + 1);
    }
    return made;
}

/// Reads tag after tag. What an element says of segments is inherited by those in it (5.3.9.1), and
/// its template stands before them.
class Reader {
  public:
    Manifest read(std::string_view text) {
        while (const std::optional<Tag> tag = take_tag(text)) {
            if (tag->opens) {
                open(*tag);
            }
            if (tag->closes) {
                close(*tag);
            }
        }
        if (!text.empty()) {
            throw ManifestError("no XML");
        }
        if (made_.representations.empty()) {
            throw ManifestError("no video");
        }
        std::ranges::sort(made_.representations, {}, &Representation::bits_per_second);
        return std::move(made_);
    }

  private:
    void open(const Tag& tag) {
        if (tag.name == "MPD") {
            begin(tag);
        } else if (tag.name == "Period" && ++periods_ > 1) {
            throw ManifestError("more than one Period");
        } else if (tag.name == "SegmentTemplate") {
            for (const auto& [name, value] : tag.attributes) {
                levels_.back().attributes[name] = value;
            }
        } else if (std::ranges::find(kUnknown, tag.name) != kUnknown.end()) {
            throw ManifestError("it has " + tag.name);
        }
        if (is_level(tag)) {
            if (levels_.size() == kLevels) {
                throw ManifestError("no MPD");
            }
            levels_.push_back(levels_.back());
            for (const auto& [name, value] : tag.attributes) {
                levels_.back().attributes[name] = value;
            }
        }
    }

    void close(const Tag& tag) {
        if (!is_level(tag)) {
            return;
        }
        if (levels_.size() < 2) {
            throw ManifestError("no XML");
        }
        if (tag.name == "Representation" && !complete_ && is_video()) {
            add();
        }
        complete_ = complete_ || (tag.name == "AdaptationSet" && !made_.representations.empty());
        levels_.pop_back();
    }

    static bool is_level(const Tag& tag) {
        return tag.name == "Period" || tag.name == "AdaptationSet" || tag.name == "Representation";
    }

    void begin(const Tag& tag) {
        if (tag.value("type") == "dynamic") {
            throw ManifestError("it is of a live video");
        }
        made_.seconds = duration(tag.value("mediaPresentationDuration")).value_or(0.0);
    }

    [[nodiscard]] bool is_video() const {
        const std::string_view mime = levels_.back().value("mimeType");
        const std::string_view content = levels_.back().value("contentType");
        return mime.empty() ? content.empty() || content == "video" : mime.starts_with("video/");
    }

    /// Adds the representation whose element ends here.
    void add() {
        const Tag& said = levels_.back();
        Representation one;
        one.id = said.value("id");
        one.bandwidth = said.value("bandwidth");
        one.bits_per_second = positive(one.bandwidth, "bandwidth");
        one.initialization = filled(said.value("initialization"), one, "");
        one.media = said.value("media");
        if (one.media.empty()) {
            throw ManifestError("no SegmentTemplate with media");
        }
        static_cast<void>(one.segment(1));
        const double scale = positive(said.value("timescale"), "timescale", 1.0);
        const double segment_s =
            positive(said.value("duration"), "duration of the segments") / scale;
        const auto first = number<std::int64_t>(said.value("startNumber")).value_or(1);
        if (!made_.representations.empty() &&
            (segment_s != made_.segment_s || first != made_.first)) {
            throw ManifestError("rates whose segments differ in length or number");
        }
        made_.segment_s = segment_s;
        made_.first = first;
        if (!(made_.seconds > 0.0) || made_.seconds / segment_s > kMostSegments || first < 0 ||
            first > kMostNumber) {
            throw ManifestError("no possible number of segments");
        }
        made_.representations.push_back(std::move(one));
    }

    Manifest made_;
    std::vector<Tag> levels_ = std::vector<Tag>(1);
    int periods_ = 0;
    /// The adaptation set that is taken has ended.
    bool complete_ = false;
};

}  // namespace

std::string Representation::segment(std::int64_t number) const {
    return filled(media, *this, std::to_string(number));
}

std::int64_t Manifest::segments() const {
    // A rounding error is no segment.
    return std::max<std::int64_t>(1, std::llround(std::ceil(seconds / segment_s - 1e-3)));
}

Manifest parse_manifest(std::string_view text) { return Reader().read(text); }

}  // namespace aferir::loadgen
