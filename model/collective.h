#pragma once

// The collectives' contracts: sizes, and what every output element must be made of.

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/number_format.h"
#include "model/wire.h"

namespace tally::model {

enum class Collective : std::uint8_t { all_reduce, reduce_scatter, all_gather, all_to_all };
enum class Op : std::uint8_t { sum, prod, min, max, avg };
/// Where a sum is rounded to the element type: after every addition, or once at the end (until
/// then it is an f32).
enum class Accumulate : std::uint8_t { element, f32 };

std::string_view name(Collective collective);
std::string_view name(Op op);
std::string_view name(Accumulate accumulate);

/// Every operation, in the order of Op.
std::vector<Op> all_ops();
/// Wires carry sums: sum and avg.
bool allows_wire(Op op);

/// What decides the bits beside the algorithm's order.
struct Arithmetic {
  Format element = Format::f32;
  Wire wire = kNoWire;
  Op op = Op::sum;
  Accumulate accumulate = Accumulate::element;  // f32 wherever the wire is not none
};

/// Elements of the input and the output of one rank. `count` is the collective's own: what
/// all_reduce reduces, what reduce_scatter leaves on a rank, the block of all_gather and
/// all_to_all.
std::int64_t input_elements(Collective collective, int ranks, std::int64_t count);
std::int64_t output_elements(Collective collective, int ranks, std::int64_t count);

/// The post-condition of one output element: it is the reduction, each exactly once, of input
/// element `element` of the ranks [first_rank, last_rank].
struct Contributions {
  int first_rank, last_rank;
  std::int64_t element;
};
Contributions contributions(Collective collective, int ranks, std::int64_t count, int rank,
                            std::int64_t output_element);

/// Whether all ranks must end with the same bits.
bool same_on_all_ranks(Collective collective);

}  // namespace tally::model
