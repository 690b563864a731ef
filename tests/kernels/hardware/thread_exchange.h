#pragma once

// An Exchange among threads that play processes.

#include <condition_variable>
#include <mutex>

#include "kernels/hardware/exchange.h"

namespace tally::test {

class ThreadExchange {
 public:
  explicit ThreadExchange(int processes) : gathered_(processes) {}

  /// The end of process `number`; it outlives this object's use, not this object.
  class End : public kernels::hardware::Exchange {
   public:
    End(ThreadExchange& all, int number) : all_(all), number_(number) {}
    std::vector<std::vector<std::byte>> all_gather(std::vector<std::byte> mine) override {
      return all_.all_gather(number_, std::move(mine));
    }

   private:
    ThreadExchange& all_;
    const int number_;
  };

  /// From now on a process is lost.
  void lose() {
    const std::lock_guard lock(mutex_);
    is_lost_ = true;
    changed_.notify_all();
  }

 private:
  std::vector<std::vector<std::byte>> all_gather(int number, std::vector<std::byte> mine) {
    std::unique_lock lock(mutex_);
    gathered_[number] = std::move(mine);
    const int round = round_;
    if (++arrived_ == static_cast<int>(gathered_.size())) {
      result_ = gathered_;
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || is_lost_; });
    if (is_lost_) return {};
    return result_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::byte>> gathered_, result_;
  int arrived_ = 0, round_ = 0;
  bool is_lost_ = false;
};

}  // namespace tally::test
