#pragma once

// One GPU that plays all ranks of a collective, as host code sees it. Implemented once, in
// virtual_ranks.cuh, for whichever GPU a program is compiled for.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/collective.h"

namespace tally::kernels::test {

/// The elements of one buffer of each rank, as little-endian codes.
using RankBuffers = std::vector<std::vector<std::byte>>;

struct Device {
  std::string name;         // empty where there is no GPU
  std::string unavailable;  // then: the call that says so
  int driver = 0, processors = 0;
};
Device find_device();

/// All ranks share one grid of ranks * blocks blocks, which must fit on the GPU at once.
struct Grid {
  int ranks = 8, blocks = 4, threads = 256;
};

struct Call {
  std::string_view algorithm;
  model::Arithmetic arithmetic;
  std::int64_t count = 0;
  bool in_place = false;
  int shift = 0;  // elements by which inputs and outputs are off their alignment of 256 bytes
};

/// The buffers of calls that follow one another on the same scratch, flags and epochs.
class VirtualRanks {
 public:
  /// Room for `calls` calls of at most `largest_bytes` of elements each.
  VirtualRanks(const Grid& grid, int calls, std::size_t largest_bytes);
  ~VirtualRanks();
  VirtualRanks(const VirtualRanks&) = delete;
  VirtualRanks& operator=(const VirtualRanks&) = delete;

  /// Poisons call number `slot`'s buffers, guard zones included, and fills in its inputs.
  void prepare(int slot, const Call& call, const RankBuffers& inputs);
  /// Launches calls 0 to `calls` - 1, one behind the other, and waits for all.
  void launch(const std::vector<Call>& calls);
  /// Median and least duration of `times` launches of call 0, in microseconds.
  struct Duration {
    double median, least;
  };
  Duration time(const Call& call, int times);

  RankBuffers outputs(int slot, const Call& call);
  /// What was harmed beside the outputs: a guard zone, an input, a wait that gave up; else empty.
  std::string harm(int slot, const Call& call, const RankBuffers& inputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The hardware's conversion against the software's, for all inputs: 2^32 values to encode, all
/// codes to decode. Two NaNs are equal.
struct Difference {
  std::string conversion;
  std::uint64_t inputs, different;
  std::uint32_t first;  // the least input that differs
};
std::vector<Difference> compare_conversions();

}  // namespace tally::kernels::test
