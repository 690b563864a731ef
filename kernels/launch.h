#pragma once

// One launch, as plain data: what a kernel is given on every Gpu. It holds all ranks that the
// launch plays, so that one GPU may play several in one grid; place p of the launch is rank
// first_rank + p.

#include <cstdint>

#include "kernels/block_scale.h"
#include "kernels/gpu.h"

namespace tally::kernels {

/// The largest block that a kernel may be launched with. can_launch() says what else a block must
/// be.
inline constexpr int kMaxThreads = 512;

/// What all ranks reach, by rank, as mapped into the launching process. All of it is memory that a
/// communicator owns.
struct Peers {
  void* scratch[kMaxRanks];           // the wire's words, behind them the scales
  std::uint32_t* flags[kMaxRanks];    // [blocks][kMaxRanks]
  std::uint64_t* packets[kMaxRanks];  // low_latency.h
  std::int64_t* counts[kMaxRanks];    // [blocks][kMaxRanks]: all_to_all_v.h
};

/// What a communicator has for the ranks of a launch alone, place after place.
struct Own {
  std::uint32_t* epochs;          // [place][max_blocks]: meetings that a block has passed
  std::uint32_t* packet_epochs;   // [place][max_blocks]: calls with elements so far
  Stuck* stuck;                   // [place]
  std::int32_t max_blocks;        // of the largest launch
  std::int64_t words_of_packets;  // of the largest call that sends any
};

/// A rank's buffers of one call. The counts are all_to_all_v's alone.
struct RankCall {
  const void* input;
  void* output;
  const std::int64_t* send_counts;  // [ranks], elements for each rank
  std::int64_t* received_counts;    // [ranks], elements from each rank; all_to_all_v.h says more
};

struct Launch {
  Peers peers;
  Own own;
  RankCall calls[kMaxRanks];  // by place
  std::int64_t count;         // the collective's own; of all_to_all_v, the bound of every count
  std::int32_t ranks, first_rank;
  std::int32_t rounds;   // that flat algorithms work in, 1 or more
  float factor;          // of premul_sum, a value of the element type
  BlockParameters wire;  // of block wires
  std::uint32_t number;  // of the call, as the host counts; faithful kernels do not look at it
};

}  // namespace tally::kernels
