#include "model/collective.h"

#include "model/check.h"

namespace tally::model {

std::string_view name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_gather:
      return "all_gather";
    case Collective::all_to_all:
      return "all_to_all";
  }
  TALLY_CHECK(false, "no such collective");
}

std::string_view name(Op op) {
  constexpr std::string_view kNames[] = {"sum", "prod", "min", "max", "avg"};
  return kNames[static_cast<std::size_t>(op)];
}

std::vector<Op> all_ops() { return {Op::sum, Op::prod, Op::min, Op::max, Op::avg}; }

bool allows_wire(Op op) { return op == Op::sum || op == Op::avg; }

std::string_view name(Accumulate accumulate) {
  return accumulate == Accumulate::element ? "element" : "f32";
}

std::int64_t input_elements(Collective collective, int ranks, std::int64_t count) {
  const bool one_block_per_rank =
      collective == Collective::reduce_scatter || collective == Collective::all_to_all;
  return one_block_per_rank ? ranks * count : count;
}

std::int64_t output_elements(Collective collective, int ranks, std::int64_t count) {
  const bool one_block_per_rank =
      collective == Collective::all_gather || collective == Collective::all_to_all;
  return one_block_per_rank ? ranks * count : count;
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
  }
  TALLY_CHECK(false, "no such collective");
}

bool same_on_all_ranks(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather;
}

}  // namespace tally::model
