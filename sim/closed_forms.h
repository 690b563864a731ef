#pragma once

// The time of an algorithm as a formula: what the simulation gives where ranks share no link and a
// step is bound by its link all along. Integer picoseconds, each step rounded up like a transfer.

#include <cstdint>

#include "sim/units.h"

namespace tally::sim {

/// A full mesh of ranks, or of the ranks of a node. Rates of 0 are unknown, and bind nothing.
struct Terms {
  int ranks = 8;
  std::int64_t bytes = 0;       // of the collective's count (model/collective.h), as elements
  std::int64_t wire_bytes = 0;  // the same as it travels; `bytes` where there is no wire
  Picos launch, copy_launch;    // copy_launch: only of what begins with a copy by the host
  Picos alpha;                  // from a signal until its wait has seen it
  double link_bytes_per_s = 0;  // between two ranks, in each direction
  double memory_bytes_per_s = 0, codec_bytes_per_s = 0;
  /// Hierarchical: what joins ranks of different nodes.
  int ranks_per_node = 1;
  Picos network_alpha;
  double network_bytes_per_s = 0;
};

/// One step: everybody moves `link` bytes over each of its links, and `memory` and `codec` bytes in
/// all go through each memory and each codec, at the same time.
struct StepBytes {
  std::int64_t link = 0, memory = 0, codec = 0;
};
Picos step_time(const Terms& terms, const StepBytes& bytes);

// Derived from the kernels' schedules (model/builders.h), with n bytes on p ranks. Chunks are n /
// p, rounded up to whole bytes; a schedule's are the same where its lanes' units divide them.

/// launch + stage + alpha + n / link + alpha. One shot: every rank reads all of every other's.
Picos flat_time(const Terms& terms);
/// launch + encode + 2 n / link + alpha + sum: half of what is pushed is flags.
Picos flat_ll_time(const Terms& terms);
/// launch + stage + 2 (alpha + n / p / link) + alpha. Two shots.
Picos tree_time(const Terms& terms);
/// launch + 2 (p - 1) (alpha + n / p / link), an own sum and a last copy, and alpha. Thakur,
/// Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.
Picos ring_time(const Terms& terms);
/// The ring with each chunk in pieces of x seconds on the link, one behind the other, as
/// sim::ring_program has it: 2 (p - 1) - 1 turns of the longer of all pieces and x + alpha, all
/// pieces once more, and 2 alpha. Memories and codecs bind nothing. At least 2 ranks.
Picos pipelined_ring_time(const Terms& terms, int pieces);
/// launch + stage + 2 log2 p alpha + 2 (p - 1) / p n / link + copy + alpha: the same paper, section
/// 4.5. Where p is no power of two, ranks beyond it are folded: 2 (alpha + n / link) more.
Picos halving_doubling_time(const Terms& terms);
/// launch + log2 p (alpha + n / link), folded likewise: the same paper, section 4.5. Of no
/// schedule.
Picos recursive_doubling_time(const Terms& terms);
/// As tree in the nodes, and between its two shots as halving and doubling of a node's chunk over
/// the network.
Picos hierarchical_time(const Terms& terms);

/// The flat ones, of n bytes for each rank (reduce_scatter, all_to_all: for each pair).
Picos all_gather_time(const Terms& terms);
Picos reduce_scatter_time(const Terms& terms);
Picos all_to_all_time(const Terms& terms);

}  // namespace tally::sim
