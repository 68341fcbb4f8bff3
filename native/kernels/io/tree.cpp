#include "io/tree.hpp"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "common/storage.hpp"
#include "io/hash.hpp"

namespace aferir::io {
namespace {

constexpr double kLeastDocument = 1024;
constexpr double kSpread = 256;
constexpr double kTwoTo64 = 18446744073709551616.0;
constexpr std::uint64_t kFanOut = 256;
constexpr std::size_t kPart = 1U << 20U;

void add(std::uint64_t& value, std::uint64_t more) {
    std::atomic_ref(value).fetch_add(more, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t signature_of(std::uint64_t document, std::uint64_t occurrences) {
    return mix(mix(document) ^ occurrences);
}

void add_document(std::span<TermTotal> totals, std::uint64_t document,
                  std::vector<std::uint32_t>& drawn) {
    std::sort(drawn.begin(), drawn.end());
    for (auto run = drawn.begin(); run != drawn.end();) {
        const auto end = std::find_if(run, drawn.end(), [&](auto term) { return term != *run; });
        const auto occurrences = static_cast<std::uint64_t>(end - run);
        add(totals[*run].occurrences, occurrences);
        add(totals[*run].documents, 1);
        add(totals[*run].signature, signature_of(document, occurrences));
        run = end;
    }
}

std::vector<std::uint32_t> document_sizes(std::uint64_t seed, std::uint64_t bytes) {
    std::vector<std::uint32_t> sizes;
    Random random(seed, ~std::uint64_t{0});
    for (std::uint64_t sum = 0; sum < bytes; sum += sizes.back()) {
        const double place = static_cast<double>(random.next()) / kTwoTo64;
        sizes.push_back(static_cast<std::uint32_t>(kLeastDocument * std::pow(kSpread, place)));
    }
    return sizes;
}

std::filesystem::path document_path(const std::filesystem::path& root, std::uint64_t document) {
    const auto folder = document / kFanOut;
    return root / std::to_string(folder / kFanOut) / std::to_string(folder % kFanOut) /
           (std::to_string(document) + ".txt");
}

Written write_documents(const std::filesystem::path& root, const TextSource& source,
                        std::span<const std::uint32_t> sizes, std::size_t first, std::size_t step,
                        std::span<TermTotal> totals, bool forget) {
    Written written;
    Volume unused;
    std::string text;
    std::vector<std::uint32_t> drawn;
    for (std::size_t document = first; document < sizes.size(); document += step) {
        source.make(document, sizes[document], text, drawn);
        const auto path = document_path(root, document);
        std::error_code error;
        std::filesystem::create_directories(path.parent_path(), error);
        if (error) {
            throw_storage_error("make", path.parent_path(), error.value());
        }
        File file(path, O_WRONLY | O_CREAT | O_EXCL, unused);
        file.append(std::as_bytes(std::span(text)));
        if (forget) {
            file.forget_cache();
        }
        written.bytes += text.size();
        written.hash += mix(hash_text(text) ^ mix(document));
        add_document(totals, document, drawn);
    }
    return written;
}

Written write_text(const std::filesystem::path& path, const TextSource& source,
                   std::uint64_t first_document, std::uint64_t bytes, std::span<TermTotal> totals,
                   bool forget) {
    Written written;
    Volume unused;
    std::string text;
    std::vector<std::uint32_t> drawn;
    File file(path, O_WRONLY | O_CREAT | O_EXCL, unused);
    for (auto document = first_document; written.bytes < bytes; ++document) {
        const auto part = std::min<std::uint64_t>(bytes - written.bytes, kPart);
        source.make(document, part, text, drawn);
        file.append(std::as_bytes(std::span(text)));
        written.bytes += text.size();
        written.hash += mix(hash_text(text) ^ mix(document));
        add_document(totals, document, drawn);
    }
    if (forget) {
        file.forget_cache();
    }
    return written;
}

}  // namespace aferir::io
