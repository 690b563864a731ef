#pragma once

// How the processes of a communicator tell each other what they allocated.

#include <cstddef>
#include <vector>

namespace tally::kernels::hardware {

struct Exchange {
  virtual ~Exchange() = default;
  /// What each process contributed, in their order; also a barrier among them. Empty where one of
  /// them was lost.
  virtual std::vector<std::vector<std::byte>> all_gather(std::vector<std::byte> mine) = 0;
};

/// Of a process that is alone.
struct NoExchange : Exchange {
  std::vector<std::vector<std::byte>> all_gather(std::vector<std::byte> mine) override {
    return {std::move(mine)};
  }
};

}  // namespace tally::kernels::hardware
