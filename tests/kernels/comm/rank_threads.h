#pragma once

// Ranks as threads of a test.

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tally::comm {

/// What each rank's thread says.
inline std::vector<std::string> on_threads(int size,
                                           const std::function<std::string(int)>& of_rank) {
  std::vector<std::string> said(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { said[rank] = of_rank(rank); });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

inline double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tally::comm
