#include "dedup/archive.hpp"

#include <zlib.h>

#include <array>
#include <new>
#include <string_view>
#include <utility>

#include "dedup/chunker.hpp"

namespace aferir::dedup {
namespace {

constexpr std::string_view kMagic = "aferdd01";
constexpr std::size_t kFlush = 1U << 20U;
constexpr unsigned kSizeBytes = 4;
constexpr unsigned kNumberBytes = 8;
enum Kind : unsigned char { kEnd = 0, kData = 1, kRepeat = 2 };

const Bytef* input_of(std::span<const std::byte> data) {
    return reinterpret_cast<const Bytef*>(data.data());
}

struct Place {
    std::uint64_t offset;
    std::uint32_t raw_bytes;
    std::uint32_t packed_bytes;
};

class Reader {
  public:
    explicit Reader(const ReadAt& read) : read_(read) {}

    std::uint64_t number(unsigned bytes) {
        std::array<std::byte, kNumberBytes> raw{};
        take(std::span(raw).first(bytes), offset_);
        offset_ += bytes;
        std::uint64_t value = 0;
        for (unsigned byte = bytes; byte > 0; --byte) {
            value = value << 8U | std::to_integer<std::uint64_t>(raw[byte - 1]);
        }
        return value;
    }

    // Reads a data record after its first byte, the kind.
    Place place() {
        const auto raw = static_cast<std::uint32_t>(number(kSizeBytes));
        const auto packed = static_cast<std::uint32_t>(number(kSizeBytes));
        if (raw == 0 || raw > kMostChunk || packed > compressBound(kMostChunk)) {
            throw ArchiveError("a chunk of a size that none has");
        }
        const Place found{offset_, raw, packed};
        offset_ += packed;
        return found;
    }

    std::span<const std::byte> unpack(const Place& place) {
        packed_.resize(place.packed_bytes);
        take(packed_, place.offset);
        raw_.resize(place.raw_bytes);
        uLongf bytes = place.raw_bytes;
        const int status = uncompress(reinterpret_cast<Bytef*>(raw_.data()), &bytes,
                                      input_of(packed_), place.packed_bytes);
        if (status == Z_MEM_ERROR) {
            throw std::bad_alloc();
        }
        if (status != Z_OK || bytes != place.raw_bytes) {
            throw ArchiveError("a chunk that cannot be unpacked");
        }
        return raw_;
    }

    void magic() {
        std::array<std::byte, kMagic.size()> found{};
        take(found, 0);
        offset_ = found.size();
        for (std::size_t at = 0; at < found.size(); ++at) {
            if (found[at] != static_cast<std::byte>(kMagic[at])) {
                throw ArchiveError("this is no archive of ours");
            }
        }
    }

  private:
    void take(std::span<std::byte> data, std::uint64_t offset) const {
        if (read_(data, offset) != data.size()) {
            throw ArchiveError("the archive ends too early");
        }
    }

    const ReadAt& read_;
    std::uint64_t offset_ = 0;
    Bytes packed_;
    Bytes raw_;
};

}  // namespace

ArchiveError::~ArchiveError() = default;

Bytes compress(std::span<const std::byte> chunk, int level) {
    uLongf bytes = compressBound(chunk.size());
    Bytes packed(bytes);
    if (compress2(reinterpret_cast<Bytef*>(packed.data()), &bytes, input_of(chunk), chunk.size(),
                  level) != Z_OK) {
        throw std::bad_alloc();
    }
    packed.resize(bytes);
    return packed;
}

ArchiveWriter::ArchiveWriter(Put put) : put_(std::move(put)) {
    for (const char letter : kMagic) {
        pending_.push_back(static_cast<std::byte>(letter));
    }
}

std::uint64_t ArchiveWriter::data(std::span<const std::byte> packed, std::uint32_t raw_bytes) {
    pending_.push_back(static_cast<std::byte>(kData));
    number(raw_bytes, kSizeBytes);
    number(packed.size(), kSizeBytes);
    pending_.insert(pending_.end(), packed.begin(), packed.end());
    raw_ += raw_bytes;
    if (pending_.size() >= kFlush) {
        flush();
    }
    return records_++;
}

void ArchiveWriter::repeat(std::uint64_t number_of_record, std::uint32_t raw_bytes) {
    pending_.push_back(static_cast<std::byte>(kRepeat));
    number(number_of_record, kNumberBytes);
    raw_ += raw_bytes;
}

void ArchiveWriter::finish() {
    pending_.push_back(static_cast<std::byte>(kEnd));
    number(raw_, kNumberBytes);
    flush();
}

void ArchiveWriter::number(std::uint64_t value, unsigned bytes) {
    for (; bytes > 0; --bytes, value >>= 8U) {
        pending_.push_back(static_cast<std::byte>(value));
    }
}

void ArchiveWriter::flush() {
    put_(pending_);
    pending_.clear();
}

std::uint64_t restore(const ReadAt& read, const ArchiveWriter::Put& take) {
    Reader reader(read);
    reader.magic();
    std::vector<Place> places;
    std::uint64_t restored = 0;
    for (auto kind = reader.number(1); kind != kEnd; kind = reader.number(1)) {
        Place place{};
        if (kind == kData) {
            place = reader.place();
            places.push_back(place);
        } else if (kind == kRepeat) {
            const auto number = reader.number(kNumberBytes);
            if (number >= places.size()) {
                throw ArchiveError("a chunk repeats one that was not there before");
            }
            place = places[number];
        } else {
            throw ArchiveError("a record of an unknown kind");
        }
        take(reader.unpack(place));
        restored += place.raw_bytes;
    }
    if (reader.number(kNumberBytes) != restored) {
        throw ArchiveError("it holds another number of bytes than it says");
    }
    return restored;
}

}  // namespace aferir::dedup
