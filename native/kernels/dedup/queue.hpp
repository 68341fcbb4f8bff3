#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace aferir::dedup {

/// What one stage of a pipeline hands to the next.
template <typename T>
class Queue {
  public:
    void push(T item) {
        {
            const std::scoped_lock held(guard_);
            items_.push_back(std::move(item));
        }
        changed_.notify_one();
    }

    /// Waits for the next; none when all are taken and no more will come.
    std::optional<T> pop() {
        std::unique_lock held(guard_);
        changed_.wait(held, [&] { return closed_ || !items_.empty(); });
        if (items_.empty()) {
            return std::nullopt;
        }
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        return item;
    }

    /// No more will come.
    void close() {
        {
            const std::scoped_lock held(guard_);
            closed_ = true;
        }
        changed_.notify_all();
    }

    /// As `close`, and what is in it is thrown away.
    void abandon() {
        {
            const std::scoped_lock held(guard_);
            items_.clear();
        }
        close();
    }

  private:
    std::mutex guard_;
    std::condition_variable changed_;
    std::deque<T> items_;
    bool closed_ = false;
};

}  // namespace aferir::dedup
