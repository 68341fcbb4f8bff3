#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aferir::io {

/// Distinct terms of lower-case letters. The first, which are the most frequent, are the shortest,
/// as in a natural language.
class Vocabulary {
  public:
    explicit Vocabulary(std::uint32_t terms);

    [[nodiscard]] std::string_view term(std::uint32_t number) const {
        return std::string_view(letters_).substr(starts_[number],
                                                 starts_[number + 1] - starts_[number]);
    }
    [[nodiscard]] std::uint32_t size() const {
        return static_cast<std::uint32_t>(starts_.size() - 1);
    }

  private:
    std::string letters_;
    std::vector<std::size_t> starts_;
};

/// Draws k of n with a probability in proportion to 1 / (k + 1) (Zipf 1949), in constant time
/// (alias method: Walker 1977, Vose 1991).
class Zipf {
  public:
    explicit Zipf(std::uint32_t n);

    /// Draws from 64 random bits.
    [[nodiscard]] std::uint32_t draw(std::uint64_t random) const {
        const auto column = static_cast<std::uint32_t>(((random >> 32U) * columns_.size()) >> 32U);
        const auto& [threshold, other] = columns_[column];
        return static_cast<std::uint32_t>(random) < threshold ? column : other;
    }

  private:
    struct Column {
        std::uint32_t threshold;
        std::uint32_t other;
    };
    std::vector<Column> columns_;
};

/// Text in sentences and lines, of terms with Zipf's frequencies. Each document can be made on its
/// own, and is the same every time.
class TextSource {
  public:
    TextSource(std::uint64_t seed, std::uint32_t terms);

    /// Makes document `number`: at least `bytes` of whole terms, with a line's end, in `text`; the
    /// numbers of its terms, in order, in `drawn`.
    void make(std::uint64_t number, std::size_t bytes, std::string& text,
              std::vector<std::uint32_t>& drawn) const;

    [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

  private:
    std::uint64_t seed_;
    Vocabulary vocabulary_;
    Zipf zipf_;
};

/// Lower-case letter for a byte that is part of a term; 0 for a byte between terms.
constexpr char term_letter(char byte) {
    if (byte >= 'A' && byte <= 'Z') {
        return static_cast<char>(byte - 'A' + 'a');
    }
    return byte >= 'a' && byte <= 'z' ? byte : '\0';
}

/// Longer terms are cut.
constexpr std::size_t kLongestTerm = 64;

/// Calls `take(term)` for every term, in lower case, in a text of arbitrary bytes.
template <typename Take>
void for_each_term(std::string_view text, Take&& take) {
    std::array<char, kLongestTerm> term{};
    std::size_t length = 0;
    for (const char byte : text) {
        const char letter = term_letter(byte);
        if (letter != '\0') {
            if (length < term.size()) {
                term[length++] = letter;
            }
        } else if (length > 0) {
            take(std::string_view(term.data(), length));
            length = 0;
        }
    }
    if (length > 0) {
        take(std::string_view(term.data(), length));
    }
}

}  // namespace aferir::io
