#include "model/builders.h"

#include "model/check.h"

namespace tally::model {
namespace {

constexpr int kInput = 0, kOutput = 1, kScratch = 2;

Schedule all_reduce_frame(std::string algorithm, const Shape& shape) {
  TALLY_CHECK(shape.ranks >= 1 && shape.ranks <= 64, "builders take 1..64 ranks");
  TALLY_CHECK(shape.count >= 0 && shape.lanes >= 1, "builders take count >= 0 and lanes >= 1");
  Schedule schedule;
  schedule.algorithm = std::move(algorithm);
  schedule.arithmetic = shape.arithmetic;
  schedule.ranks = shape.ranks;
  schedule.count = shape.count;
  schedule.in_place = shape.in_place;
  schedule.buffers = {{"input", Role::input, false, shape.count},
                      {"output", Role::output, false, shape.count},
                      {"scratch", Role::scratch, true, shape.count}};
  schedule.lanes.assign(shape.ranks, std::vector<Lane>(shape.lanes));
  return schedule;
}

/// Lane `lane` of `rank` meets the same lane of every other rank.
void barrier(Lane& steps, int ranks, int rank, int lane) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) steps.push_back(Signal{peer, lane});
  }
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) steps.push_back(Wait{peer, lane});
  }
}

/// `range` of the scratch of every rank, in ascending order.
std::vector<Slice> scratch_of_all(int ranks, Range range) {
  std::vector<Slice> slices;
  for (int rank = 0; rank < ranks; ++rank) slices.push_back({rank, kScratch, range});
  return slices;
}

constexpr Builder kBuilders[] = {
    {"flat", Collective::all_reduce, flat_all_reduce},
    {"tree", Collective::all_reduce, tree_all_reduce},
};

}  // namespace

Schedule flat_all_reduce(const Shape& shape) {
  Schedule schedule = all_reduce_frame("flat", shape);
  const std::int64_t unit = shape.arithmetic.wire.unit();
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      Lane& steps = schedule.lanes[rank][lane];
      const Range mine = part({0, shape.count}, lane, shape.lanes, unit);
      steps.push_back(Copy{{rank, kInput, mine}, {rank, kScratch, mine}});
      barrier(steps, shape.ranks, rank, lane);
      steps.push_back(Reduce{scratch_of_all(shape.ranks, mine), {rank, kOutput, mine}});
      barrier(steps, shape.ranks, rank, lane);  // until then peers read this rank's scratch
    }
  }
  return schedule;
}

Schedule tree_all_reduce(const Shape& shape) {
  Schedule schedule = all_reduce_frame("tree", shape);
  const std::int64_t unit = shape.arithmetic.wire.unit();
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      Lane& steps = schedule.lanes[rank][lane];
      // Lanes meet only their own kind, so a lane stages and fetches, in every chunk, the part
      // that the same lane of the chunk's owner sums.
      const auto my_part = [&](int owner) {
        return part(chunk(shape.count, owner, shape.ranks, unit), lane, shape.lanes, unit);
      };
      for (int owner = 0; owner < shape.ranks; ++owner) {
        steps.push_back(Copy{{rank, kInput, my_part(owner)}, {rank, kScratch, my_part(owner)}});
      }
      barrier(steps, shape.ranks, rank, lane);
      steps.push_back(
          Reduce{scratch_of_all(shape.ranks, my_part(rank)), {rank, kScratch, my_part(rank)}});
      barrier(steps, shape.ranks, rank, lane);
      for (int distance = 0; distance < shape.ranks; ++distance) {
        const int owner = (rank + distance) % shape.ranks;  // so that not all ask one rank first
        steps.push_back(Copy{{owner, kScratch, my_part(owner)}, {rank, kOutput, my_part(owner)}});
      }
      barrier(steps, shape.ranks, rank, lane);
    }
  }
  return schedule;
}

std::span<const Builder> builders() { return kBuilders; }

const Builder* find_builder(Collective collective, std::string_view algorithm) {
  for (const Builder& builder : kBuilders) {
    if (builder.collective == collective && builder.algorithm == algorithm) return &builder;
  }
  return nullptr;
}

}  // namespace tally::model
