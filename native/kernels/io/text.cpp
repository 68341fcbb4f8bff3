#include "io/text.hpp"

#include "io/hash.hpp"

namespace aferir::io {
namespace {

// A term is its number in these digits, followed by letters that are no digits: so no term is the
// beginning of another.
constexpr std::string_view kDigits = "etaoinshrdlcu";
constexpr std::string_view kEndings = "mwfgypbvkjxqz";
constexpr std::size_t kMostEndings = 5;
constexpr std::size_t kLineBytes = 72;
constexpr std::uint32_t kLeastSentence = 6;
constexpr std::uint32_t kMoreSentence = 16;
constexpr double kTwoTo32 = 4294967296.0;

void spell(std::uint32_t number, std::string& letters) {
    auto left = std::uint64_t{number} + 1;  // bijective: no leading zeros, no empty term
    while (left > 0) {
        left -= 1;
        letters += kDigits[left % kDigits.size()];
        left /= kDigits.size();
    }
    auto ending = mix(number);
    for (auto more = ending % (kMostEndings + 1); more > 0; --more) {
        ending = mix(ending);
        letters += kEndings[ending % kEndings.size()];
    }
}

}  // namespace

Vocabulary::Vocabulary(std::uint32_t terms) {
    starts_.reserve(std::size_t{terms} + 1);
    for (std::uint32_t number = 0; number < terms; ++number) {
        starts_.push_back(letters_.size());
        spell(number, letters_);
    }
    starts_.push_back(letters_.size());
}

Zipf::Zipf(std::uint32_t n) : columns_(n) {
    std::vector<double> share(n);
    double sum = 0;
    for (std::uint32_t k = 0; k < n; ++k) {
        share[k] = 1.0 / (k + 1.0);
        sum += share[k];
    }
    std::vector<std::uint32_t> small;
    std::vector<std::uint32_t> large;
    for (std::uint32_t k = 0; k < n; ++k) {
        share[k] *= n / sum;  // 1 is the mean
        (share[k] < 1.0 ? small : large).push_back(k);
    }
    while (!small.empty() && !large.empty()) {
        const auto giver = large.back();
        const auto taker = small.back();
        small.pop_back();
        columns_[taker] = {static_cast<std::uint32_t>(share[taker] * kTwoTo32), giver};
        share[giver] -= 1.0 - share[taker];
        if (share[giver] < 1.0) {
            large.pop_back();
            small.push_back(giver);
        }
    }
    for (const auto& rest : {small, large}) {  // 1, but for rounding
        for (const auto k : rest) {
            columns_[k] = {~std::uint32_t{0}, k};
        }
    }
}

TextSource::TextSource(std::uint64_t seed, std::uint32_t terms)
    : seed_(seed), vocabulary_(terms), zipf_(terms) {}

void TextSource::make(std::uint64_t number, std::size_t bytes, std::string& text,
                      std::vector<std::uint32_t>& drawn) const {
    text.clear();
    drawn.clear();
    Random random(seed_, number);
    std::size_t line = 0;
    while (text.size() < bytes) {
        auto words = kLeastSentence + random.below(kMoreSentence);
        for (bool first = true; words > 0; --words, first = false) {
            const auto term = zipf_.draw(random.next());
            const auto start = text.size();
            text += vocabulary_.term(term);
            if (first) {
                text[start] = static_cast<char>(text[start] - 'a' + 'A');
            }
            drawn.push_back(term);
            text += words == 1 ? "." : "";
            const bool ends = text.size() - line > kLineBytes;
            text += ends ? '\n' : ' ';
            line = ends ? text.size() : line;
        }
    }
    text.back() = '\n';
}

}  // namespace aferir::io
