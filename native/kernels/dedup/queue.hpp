#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace aferir::dedup {

/// Queue between two stages of a pipeline.
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

    /// Waits for the next item; nothing once the queue is closed and empty.
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

    /// Announces that no more items will come.
    void close() {
        {
            const std::scoped_lock held(guard_);
            closed_ = true;
        }
        changed_.notify_all();
    }

    /// Closes the queue and discards its items.
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
