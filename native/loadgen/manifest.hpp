#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace aferir::loadgen {

/// The text is no manifest, or one of a kind that is not understood; the message says why.
class ManifestError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The video at one rate. URLs are relative to the manifest's.
struct Representation {
    std::string id;
    std::string bandwidth;
    double bits_per_second = 0.0;
    /// URL of the initialisation segment, which comes before the first segment; may be empty.
    std::string initialization;
    /// Template of the segments' URLs.
    std::string media;

    /// URL of the segment with that number.
    [[nodiscard]] std::string segment(std::int64_t number) const;
};

/// What a viewer needs of a media presentation description, the manifest of MPEG-DASH: a video
/// whose segments are numbered and, but for the last, equally long.
struct Manifest {
    double seconds = 0.0;
    double segment_s = 0.0;
    /// Number of the first segment.
    std::int64_t first = 1;
    /// In ascending order of rates.
    std::vector<Representation> representations;

    [[nodiscard]] std::int64_t segments() const;
};

/// Reads the video of an MPD (ISO/IEC 23009-1, 5.3): type `static`, one period, and in the first
/// adaptation set of video segments by a SegmentTemplate with `duration`. Errors: ManifestError.
Manifest parse_manifest(std::string_view text);

}  // namespace aferir::loadgen
