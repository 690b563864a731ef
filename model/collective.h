#pragma once

// The collectives' contracts: sizes, and what every output element must be made of.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/element_type.h"
#include "model/result.h"
#include "model/wire.h"

namespace tally::model {

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  all_to_all_v,
};
/// The last two multiply every contribution by a factor, round the product to the element type, and
/// then sum. NCCL: ncclRedOpCreatePreMulSum, and ncclAvg of floats (NVIDIA/nccl, src/enqueue.cc).
enum class Op : std::uint8_t { sum, prod, min, max, avg, premul_sum, avg_premul };
/// Where a sum is rounded to the element type: after every addition, or once at the end (until
/// then it is an f32).
enum class Accumulate : std::uint8_t { element, f32 };

std::string_view name(Collective collective);
Result<Collective> parse_collective(std::string_view name);
std::string_view name(Op op);
std::string_view name(Accumulate accumulate);

/// Every operation, in the order of Op.
std::vector<Op> all_ops();
/// Wires carry sums: sum and avg.
bool allows_wire(Op op);
/// premul_sum and avg_premul.
bool premultiplies(Op op);
/// Whether terms are added up: sum, avg and those that premultiply.
bool adds(Op op);

/// What decides the bits beside the algorithm's order. A collective that only moves has the op sum,
/// and accumulates in elements, or in f32 with a wire.
struct Arithmetic {
  ElementType element = Format::f32;
  Wire wire = kNoWire;
  Op op = Op::sum;
  Accumulate accumulate = Accumulate::element;  // f32 wherever the wire is not none
  float factor = 1;                             // premul_sum: before it is rounded
};

/// Sums, or where nothing is computed moves, as a wire accumulates them.
inline Arithmetic arithmetic_of_sums(ElementType element, const Wire& wire) {
  return {element, wire, Op::sum, wire.is_none() ? Accumulate::element : Accumulate::f32};
}

/// What contributions are multiplied by, a value of the element type: the factor of premul_sum or
/// 1 / ranks for avg_premul, in f32 and then rounded once to nearest, ties to even; 1 for all else.
float premultiplier(const Arithmetic& arithmetic, int ranks);

/// Whether outputs are inputs, and nothing is reduced.
bool only_moves(Collective collective);

/// Elements of the input and the output of one rank. `count` is the collective's own: what
/// all_reduce reduces, what reduce_scatter leaves on a rank, the block of all_gather and
/// all_to_all, the longest block that all_to_all_v may have.
std::int64_t input_elements(Collective collective, int ranks, std::int64_t count);
std::int64_t output_elements(Collective collective, int ranks, std::int64_t count);

/// In place, the smaller of input and output lies inside the larger; how many elements after its
/// beginning. all_to_all_v has no such form. Source: NVIDIA/nccl, docs, "In-place Operations".
std::int64_t in_place_offset(Collective collective, int rank, std::int64_t count);

/// The post-condition of one output element: it is the reduction, each exactly once, of input
/// element `element` of the ranks [first_rank, last_rank]. Not of all_to_all_v.
struct Contributions {
  int first_rank, last_rank;
  std::int64_t element;
};
Contributions contributions(Collective collective, int ranks, std::int64_t count, int rank,
                            std::int64_t output_element);

/// The blocks of all_to_all_v. send_counts [from * ranks + to] are their lengths; a rank's input
/// holds those for ranks 0, 1, ... one behind the other, its output those from ranks 0, 1, ...
/// likewise. (deviceAllToAllv in meta-pytorch/torchcomms: displacements are prefix sums.)
/// Where in the input of `from` the block for `to` begins; of `to` == ranks, where the last ends.
std::int64_t send_offset(std::span<const std::int64_t> send_counts, int ranks, int from, int to);
/// Where in the output of `to` the block from `from` begins; of `from` == ranks, where the last
/// ends.
std::int64_t receive_offset(std::span<const std::int64_t> send_counts, int ranks, int from, int to);
/// The post-condition of one output element of all_to_all_v, before the end of the last block.
Contributions contributions_v(std::span<const std::int64_t> send_counts, int ranks, int rank,
                              std::int64_t output_element);

/// Whether all ranks must end with the same bits.
bool same_on_all_ranks(Collective collective);

}  // namespace tally::model
