#pragma once

// Work on all cores, and its results handed on in the order of their numbers.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace tally::verify {

/// Not thread-safe. Items are numbered from 0.
template <class Item>
class InOrder {
 public:
  /// take(item) for this one and those that waited for it, if no earlier one is missing.
  template <class Take>
  void put(std::size_t number, Item item, Take take) {
    waiting_.emplace(number, std::move(item));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.erase(first), ++next_) {
      take(std::move(first->second));
    }
  }

 private:
  std::map<std::size_t, Item> waiting_;  // finished, but an earlier one is not
  std::size_t next_ = 0;
};

/// Calls work() once on each core, and returns when all have returned.
template <class Work>
void on_all_cores(Work& work) {
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    workers.emplace_back(std::ref(work));
  }
}

}  // namespace tally::verify
