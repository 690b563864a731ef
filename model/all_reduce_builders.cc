#include "model/builder_parts.h"
#include "model/builders.h"

namespace tally::model {
namespace {

/// `range` of the scratch of every rank, in ascending order.
std::vector<Slice> scratch_of_all(int ranks, Range range) {
  std::vector<Slice> slices;
  for (int rank = 0; rank < ranks; ++rank) slices.push_back({rank, kScratch, range});
  return slices;
}

}  // namespace

Schedule flat_all_reduce(const Shape& shape) {
  Schedule schedule = frame("flat", Collective::all_reduce, shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      Lane& steps = schedule.lanes[rank][lane];
      const auto stage = [&](int round) {
        const Range range = part_in_round(shape, shape.count, lane, round);
        steps.push_back(Copy{{rank, kInput, range}, {rank, kScratch, range}});
      };
      const auto sum = [&](int round) {
        const Range range = part_in_round(shape, shape.count, lane, round);
        steps.push_back(
            reduce_all(shape, scratch_of_all(shape.ranks, range), {rank, kOutput, range}));
      };
      in_rounds(steps, shape, rank, lane, stage, sum);
      barrier(steps, shape.ranks, rank, lane);  // until then peers read this rank's scratch
    }
  }
  return schedule;
}

Schedule flat_ll_all_reduce(const Shape& shape) {
  Schedule schedule = frame("flat_ll", Collective::all_reduce, shape);
  const std::int64_t slot = slot_length(shape);
  schedule.buffers[kScratch].elements = slot * shape.ranks;
  schedule.buffers[kScratch].bytes_per_word = 2 * kWordBytes;  // as many of flags as of codes
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      const Range mine = part({0, shape.count}, lane, shape.lanes, shape.arithmetic.wire.unit());
      if (mine.size() == 0) continue;  // there is no packet to wait for
      const auto in_slot = [&](int sender, int owner) {
        return Slice{owner, kScratch, {sender * slot + mine.begin, sender * slot + mine.end}};
      };
      Lane& steps = schedule.lanes[rank][lane];
      steps.push_back(Copy{{rank, kInput, mine}, in_slot(rank, rank)});  // encoded once
      for (int distance = 1; distance < shape.ranks; ++distance) {
        const int peer =
            (rank + distance) % shape.ranks;  // so that not all write to one rank first
        steps.push_back(Copy{in_slot(rank, rank), in_slot(rank, peer)});
      }
      barrier(steps, shape.ranks, rank, lane);
      std::vector<Slice> received;
      for (int sender = 0; sender < shape.ranks; ++sender) {
        received.push_back(in_slot(sender, rank));
      }
      steps.push_back(reduce_all(shape, std::move(received), {rank, kOutput, mine}));
    }
  }
  return schedule;
}

Schedule tree_all_reduce(const Shape& shape) {
  Schedule schedule = frame("tree", Collective::all_reduce, shape);
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
      steps.push_back(reduce_all(shape, scratch_of_all(shape.ranks, my_part(rank)),
                                 {rank, kScratch, my_part(rank)}));
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

Schedule ring_all_reduce(const Shape& shape) {
  Schedule schedule = frame("ring", Collective::all_reduce, shape);
  const std::int64_t unit = shape.arithmetic.wire.unit();
  const int ranks = shape.ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    for (int lane = 0; lane < shape.lanes; ++lane) {
      Lane& steps = schedule.lanes[rank][lane];
      const auto in = [&](int owner, int buffer, int owner_of_buffer) {
        const Range range = chunk(shape.count, (owner + 2 * ranks) % ranks, ranks, unit);
        return Slice{owner_of_buffer, buffer, part(range, lane, shape.lanes, unit)};
      };
      const auto hop = [&] {
        steps.push_back(Signal{next, lane});
        steps.push_back(Wait{previous, lane});
      };
      // Sums pass up: before hop h this rank holds the sum of h ranks of chunk rank - 1 - h.
      for (int h = 0; h < ranks - 1; ++h) {
        const Slice input = in(rank - 1 - h, kInput, rank), to = in(rank - 1 - h, kScratch, next);
        if (h == 0) {
          steps.push_back(Copy{input, to});
        } else {
          steps.push_back(
              Reduce{{in(rank - 1 - h, kScratch, rank), input}, to, Reduce::Start::first_source});
        }
        hop();
      }
      const Slice own = in(rank, kScratch, rank);
      if (ranks == 1) {
        steps.push_back(Copy{in(rank, kInput, rank), own});
      } else {
        steps.push_back(Reduce{{own, in(rank, kInput, rank)},
                               own,
                               Reduce::Start::first_source,
                               shape.arithmetic.op == Op::avg ? ranks : 1});
      }
      // Complete chunks pass up: hop h sends on chunk rank - h, as it was encoded once.
      for (int h = 0; h < ranks; ++h) {
        const Slice held = in(rank - h, kScratch, rank);
        if (h < ranks - 1) steps.push_back(Copy{held, in(rank - h, kScratch, next)});
        steps.push_back(Copy{held, in(rank - h, kOutput, rank)});
        if (h < ranks - 1) hop();
      }
      if (ranks > 1) {
        steps.push_back(Signal{previous, lane});  // may begin another call
        steps.push_back(Wait{next, lane});
      }
    }
  }
  return schedule;
}

}  // namespace tally::model
