#include "model/collective.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "model/check.h"
#include "model/suggestion.h"

namespace tally::model {
namespace {

constexpr std::string_view kCollectives[] = {"all_reduce", "reduce_scatter", "all_gather",
                                             "all_to_all", "all_to_all_v"};

/// Rounded to nearest, ties to even, and to infinity (or NaN) beyond the largest finite value.
/// Exact in double until it is a float again. NaN and infinities are as they were.
float nearest(Format id, float x) {
  const NumberFormat& f = model::format(id);
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), f.min_exponent());
  const double spacing = power_of_two(exponent - f.fraction_bits);
  const double rounded = std::nearbyint(x / spacing) * spacing;
  if (std::fabs(rounded) <= f.max_finite()) return static_cast<float>(rounded);
  if (!f.has_infinity()) return std::numeric_limits<float>::quiet_NaN();
  return std::copysign(std::numeric_limits<float>::infinity(), x);
}

}  // namespace

std::string_view name(Collective collective) {
  return kCollectives[static_cast<std::size_t>(collective)];
}

Result<Collective> parse_collective(std::string_view name) {
  const auto at = std::find(std::begin(kCollectives), std::end(kCollectives), name);
  if (at != std::end(kCollectives)) return static_cast<Collective>(at - kCollectives);
  return Error{"--collective", "unknown name '" + std::string(name) + "'",
               suggestion(name, {std::begin(kCollectives), std::end(kCollectives)})};
}

std::string_view name(Op op) {
  constexpr std::string_view kNames[] = {"sum", "prod",       "min",       "max",
                                         "avg", "premul_sum", "avg_premul"};
  return kNames[static_cast<std::size_t>(op)];
}

std::vector<Op> all_ops() {
  return {Op::sum, Op::prod, Op::min, Op::max, Op::avg, Op::premul_sum, Op::avg_premul};
}

bool allows_wire(Op op) { return op == Op::sum || op == Op::avg; }

bool premultiplies(Op op) { return op == Op::premul_sum || op == Op::avg_premul; }

bool adds(Op op) { return allows_wire(op) || premultiplies(op); }

std::string_view name(Accumulate accumulate) {
  return accumulate == Accumulate::element ? "element" : "f32";
}

float premultiplier(const Arithmetic& arithmetic, int ranks) {
  if (!premultiplies(arithmetic.op)) return 1;
  const bool is_mean = arithmetic.op == Op::avg_premul;
  return nearest(arithmetic.element,
                 is_mean ? 1.0f / static_cast<float>(ranks) : arithmetic.factor);
}

bool only_moves(Collective collective) {
  return collective != Collective::all_reduce && collective != Collective::reduce_scatter;
}

std::int64_t input_elements(Collective collective, int ranks, std::int64_t count) {
  const bool one_block =
      collective == Collective::all_reduce || collective == Collective::all_gather;
  return one_block ? count : ranks * count;
}

std::int64_t output_elements(Collective collective, int ranks, std::int64_t count) {
  const bool one_block =
      collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  return one_block ? count : ranks * count;
}

std::int64_t in_place_offset(Collective collective, int rank, std::int64_t count) {
  TALLY_CHECK(collective != Collective::all_to_all_v, "all_to_all_v is out of place only");
  const bool is_inside =
      collective == Collective::reduce_scatter || collective == Collective::all_gather;
  return is_inside ? rank * count : 0;
}

Contributions contributions(Collective collective, int ranks, std::int64_t count, int rank,
                            std::int64_t output_element) {
  switch (collective) {
    case Collective::all_reduce:
      return {0, ranks - 1, output_element};
    case Collective::reduce_scatter:
      return {0, ranks - 1, rank * count + output_element};
    case Collective::all_gather: {
      const int source = static_cast<int>(output_element / count);
      return {source, source, output_element % count};
    }
    case Collective::all_to_all: {
      const int source = static_cast<int>(output_element / count);
      return {source, source, rank * count + output_element % count};
    }
    case Collective::all_to_all_v:
      break;
  }
  TALLY_CHECK(false, "contributions depend on more than the count");
}

std::int64_t send_offset(std::span<const std::int64_t> send_counts, int ranks, int from, int to) {
  std::int64_t offset = 0;
  for (int before = 0; before < to; ++before) offset += send_counts[from * ranks + before];
  return offset;
}

std::int64_t receive_offset(std::span<const std::int64_t> send_counts, int ranks, int from,
                            int to) {
  std::int64_t offset = 0;
  for (int before = 0; before < from; ++before) offset += send_counts[before * ranks + to];
  return offset;
}

Contributions contributions_v(std::span<const std::int64_t> send_counts, int ranks, int rank,
                              std::int64_t output_element) {
  int source = 0;
  std::int64_t begin = 0;
  for (; source < ranks; ++source) {
    const std::int64_t length = send_counts[source * ranks + rank];
    if (output_element < begin + length) break;
    begin += length;
  }
  TALLY_CHECK(source < ranks, "an output element after the last block");
  return {source, source, send_offset(send_counts, ranks, source, rank) + output_element - begin};
}

bool same_on_all_ranks(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather;
}

}  // namespace tally::model
