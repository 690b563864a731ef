#include "model/builder_parts.h"

#include "model/check.h"

namespace tally::model {
namespace {

/// Where DDA sums start.
Reduce::Start start_of(Op op) {
  switch (op) {
    case Op::sum:
    case Op::avg:
    case Op::premul_sum:
    case Op::avg_premul:
      return Reduce::Start::plus_zero;
    case Op::prod:
      return Reduce::Start::one;
    case Op::min:
    case Op::max:
      return Reduce::Start::first_source;
  }
  TALLY_CHECK(false, "no such operation");
}

}  // namespace

Schedule frame(std::string algorithm, Collective collective, const Shape& shape) {
  TALLY_CHECK(shape.ranks >= 1 && shape.ranks <= 64, "builders take 1..64 ranks");
  TALLY_CHECK(shape.count >= 0 && shape.lanes >= 1, "builders take count >= 0 and lanes >= 1");
  TALLY_CHECK(shape.rounds >= 1, "builders take rounds >= 1");
  Schedule schedule;
  schedule.algorithm = std::move(algorithm);
  schedule.collective = collective;
  schedule.arithmetic = shape.arithmetic;
  schedule.ranks = shape.ranks;
  schedule.count = shape.count;
  schedule.in_place = shape.in_place;
  const std::int64_t inputs = input_elements(collective, shape.ranks, shape.count);
  const std::int64_t outputs = output_elements(collective, shape.ranks, shape.count);
  schedule.buffers = {{"input", Role::input, false, inputs},
                      {"output", Role::output, false, outputs},
                      {"scratch", Role::scratch, true, inputs}};
  schedule.lanes.assign(shape.ranks, std::vector<Lane>(shape.lanes));
  return schedule;
}

Range part_in_round(const Shape& shape, std::int64_t count, int lane, int round) {
  const std::int64_t unit = shape.arithmetic.wire.unit();
  return part(part({0, count}, lane, shape.lanes, unit), round, shape.rounds, unit);
}

void signal_all(Lane& steps, int ranks, int rank, int lane) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) steps.push_back(Signal{peer, lane});
  }
}

void wait_for_all(Lane& steps, int ranks, int rank, int lane) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) steps.push_back(Wait{peer, lane});
  }
}

void barrier(Lane& steps, int ranks, int rank, int lane) {
  signal_all(steps, ranks, rank, lane);
  wait_for_all(steps, ranks, rank, lane);
}

std::int64_t slot_length(const Shape& shape) {
  const std::int64_t unit = shape.arithmetic.wire.unit();
  return ceil_divide(shape.count, unit) * unit;
}

Reduce reduce_all(const Shape& shape, std::vector<Slice> staged, Slice destination) {
  const Op op = shape.arithmetic.op;
  return {std::move(staged), destination, start_of(op), op == Op::avg ? shape.ranks : 1};
}

}  // namespace tally::model
