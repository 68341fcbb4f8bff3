#pragma once

#include <span>
#include <string>
#include <variant>

#include "loadgen/answer.hpp"
#include "loadgen/cache.hpp"
#include "loadgen/redis.hpp"
#include "loadgen/requests.hpp"

namespace aferir::loadgen {

/// A response of any protocol.
class Reply {
  public:
    Reply() = default;
    explicit Reply(const Weighted& asked) {
        if (asked.protocol == Protocol::kMemcached) {
            answer_ = CacheAnswer(keys_of(asked.target));
        } else if (asked.protocol == Protocol::kRedis) {
            answer_ = RedisAnswer(keys_of(asked.target));
        }
    }

    void feed(std::span<const char> bytes) {
        std::visit([bytes](auto& it) { it.feed(bytes); }, answer_);
    }
    void end() {
        std::visit([](auto& it) { it.end(); }, answer_);
    }
    [[nodiscard]] Answer::State state() const {
        return std::visit([](const auto& it) { return it.state(); }, answer_);
    }
    [[nodiscard]] int status() const {
        return std::visit([](const auto& it) { return it.status(); }, answer_);
    }
    /// Target of a redirection; empty if the response is none.
    [[nodiscard]] std::string location() const {
        const auto* answer = std::get_if<Answer>(&answer_);
        return answer != nullptr ? answer->location() : std::string();
    }
    [[nodiscard]] bool keeps() const {
        return std::visit([](const auto& it) { return it.keeps(); }, answer_);
    }
    [[nodiscard]] bool begun() const {
        return std::visit([](const auto& it) { return it.begun(); }, answer_);
    }

  private:
    std::variant<Answer, CacheAnswer, RedisAnswer> answer_;
};

}  // namespace aferir::loadgen
