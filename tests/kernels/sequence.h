#pragma once

// A program of calls of all collectives on a few virtual GPUs, drawn by RapidCheck, shrunk to the
// fewest and plainest calls that still fail, and printed as a list of them.

#include <rapidcheck.h>

#include <iosfwd>
#include <optional>
#include <vector>

#include "kernels/emulator/kernel_table.h"

namespace tally::test {

/// A block that goes on only when nobody else can.
struct Delay {
  int rank = 0, block = 0;
};

/// One call of all ranks.
struct Step {
  kernels::emulator::KernelKey kernel;
  std::int64_t count = 0;
  bool is_in_place = false;
  int stream = 0;   // the first or the second of each rank
  int replays = 0;  // 0: launched as it is; else captured, and replayed with other inputs each time
  std::optional<Delay> delay;

  int launches() const { return replays == 0 ? 1 : replays; }
};
/// "flat bf16 sum none count=129 stream 1, in place, replay x2, delay rank 0 block 1"; other
/// collectives than all_reduce are named before the algorithm.
std::ostream& operator<<(std::ostream&, const Step&);

struct Sequence {
  int ranks = 2;
  kernels::emulator::Geometry geometry{1, 1, 64};
  std::uint64_t seed = 1;  // of the inputs, and of what is chosen in the runs
  std::vector<Step> steps;
};
/// A line for all, and one for each call.
std::ostream& operator<<(std::ostream&, const Sequence&);

/// The kernels that there are, of all collectives, with one of these arithmetics and that fault. A
/// flat all_reduce is first.
std::vector<kernels::emulator::KernelKey> kernels_with(
    const std::vector<model::Arithmetic>& arithmetics, std::string_view fault = "");

/// 1 to 8 calls of 0 to 2000 elements on 2 to 4 ranks with 1 or 2 blocks of 1 to 4 threads, which
/// work in 1 to 3 rounds; half of
/// the counts are next to a multiple of a word's elements, or of 128 for each rank, where
/// algorithms change what they do. The first kernel is the plainest.
rc::Gen<Sequence> any_sequence(std::vector<kernels::emulator::KernelKey> kernels);

}  // namespace tally::test
