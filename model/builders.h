#pragma once

// The built-in algorithms: pure functions from a shape to a schedule.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/schedule.h"

namespace tally::model {

/// What a builder is asked for: 1..64 ranks, any count >= 0, any number of lanes >= 1.
struct Shape {
  int ranks = 1;
  std::int64_t count = 0;
  int lanes = 1;
  bool in_place = false;
  Arithmetic arithmetic;
  /// Flat algorithms, but flat_ll and all_to_all_v: pieces in which a lane stages and works, one
  /// piece being staged while the one before it is worked on. At least 1.
  int rounds = 1;
  /// all_to_all_v only: what rank `from` sends to rank `to`, [from * ranks + to], each 0..count.
  std::vector<std::int64_t> send_counts = {};
  /// hierarchical only: ranks of a node, which divide `ranks`.
  int ranks_per_node = 1;
};

/// Direct Data Access, one shot: every rank stages its input where peers can read it, and sums
/// all of them. RCCLX: ddaAllReduceFlatIpc (meta-pytorch/torchcomms).
Schedule flat_all_reduce(const Shape& shape);

/// Flat in the low latency protocol: every rank pushes its input, in packets of 4 bytes of codes
/// and 4 of flag, into a slot of its own in every rank's scratch, and sums its own scratch. As in
/// NCCL's LL the flags take the place of barriers: a lane waits for each peer's packets, and nobody
/// waits for the readers, since a communicator has two such scratches, of which calls take turns.
Schedule flat_ll_all_reduce(const Shape& shape);

/// Direct Data Access, two shots: every rank sums its own chunk, in place in its staging buffer,
/// and then fetches the other chunks. RCCLX: ddaAllReduceTreeIpc, which is no tree.
Schedule tree_all_reduce(const Shape& shape);

/// The ring. Chunk c starts with the value of rank c + 1, passes up the ring while each rank
/// adds its own, is complete at rank c, and passes on to all. Every hop is a store into the next
/// rank's scratch, where each chunk has one place; a rank lets its neighbour below begin another
/// call when it has read what that one sent.
Schedule ring_all_reduce(const Shape& shape);

/// The other collectives, flat: every rank stages its blocks, each in a slot of its scratch that
/// begins a block of the wire, and reads its own of all ranks. The shape's count is the
/// collective's (model/collective.h), and a lane works on its part of every block.
Schedule flat_reduce_scatter(const Shape& shape);
Schedule flat_all_gather(const Shape& shape);
Schedule flat_all_to_all(const Shape& shape);
/// As all_to_all, with blocks of shape.send_counts; out of place only.
Schedule flat_all_to_all_v(const Shape& shape);

/// Three levels. In a node every rank sums its own chunk of all its node's ranks, as in tree; the
/// ranks that own the same chunk, one of each node, complete it by recursive halving and doubling;
/// and in a node all fetch all chunks. Ranks read from each other's scratch. Where the nodes are no
/// power of two, the first few pairs are folded: the odd node of a pair adds what the even one has,
/// and hands it the result at the end. Thakur, Rabenseifner and Gropp, "Optimization of Collective
/// Communication Operations in MPICH", 2005, section 4.5.
Schedule hierarchical_all_reduce(const Shape& shape);

/// Recursive halving and doubling between all ranks: the same with one rank in each node.
Schedule halving_doubling_all_reduce(const Shape& shape);

/// What a collective's algorithm does not allow of an arithmetic, as an error that names the flag;
/// nothing where all is well. A wire carries sums and averages, and accumulates in f32; without one
/// what hands on unfinished sums, as the ring does, carries elements, and so accumulates in them.
/// Packets of flat_ll have no place for scales. What only moves, elements or a collective, has
/// nothing to compute.
std::optional<Error> disallowed(Collective collective, std::string_view algorithm,
                                const Arithmetic& arithmetic);

struct Builder {
  std::string_view algorithm;
  Collective collective;
  Schedule (*build)(const Shape&);
};
std::span<const Builder> builders();
/// Those that no kernel carries out: for sim and check alone.
std::span<const Builder> unlaunched_builders();
/// Null where builders() has none of that name.
const Builder* find_builder(Collective collective, std::string_view algorithm);

}  // namespace tally::model
