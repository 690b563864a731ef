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

/// Elements from one sender's slot to the next: no block of a wire is cut.
std::int64_t slot_length(const Shape& shape) {
  const std::int64_t unit = shape.arithmetic.wire.unit();
  return ceil_divide(shape.count, unit) * unit;
}

/// Where DDA sums start.
Reduce::Start start_of(Op op) {
  switch (op) {
    case Op::sum:
    case Op::avg:
      return Reduce::Start::plus_zero;
    case Op::prod:
      return Reduce::Start::one;
    case Op::min:
    case Op::max:
      return Reduce::Start::first_source;
  }
  TALLY_CHECK(false, "no such operation");
}

/// What all ranks staged, reduced in their order: complete, so an average is divided here.
Reduce reduce_all(const Shape& shape, std::vector<Slice> staged, Slice destination) {
  const Op op = shape.arithmetic.op;
  return {std::move(staged), destination, start_of(op), op == Op::avg ? shape.ranks : 1};
}

constexpr Builder kBuilders[] = {
    {"ring", Collective::all_reduce, ring_all_reduce},
    {"flat", Collective::all_reduce, flat_all_reduce},
    {"flat_ll", Collective::all_reduce, flat_ll_all_reduce},
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
      steps.push_back(reduce_all(shape, scratch_of_all(shape.ranks, mine), {rank, kOutput, mine}));
      barrier(steps, shape.ranks, rank, lane);  // until then peers read this rank's scratch
    }
  }
  return schedule;
}

Schedule flat_ll_all_reduce(const Shape& shape) {
  Schedule schedule = all_reduce_frame("flat_ll", shape);
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
  Schedule schedule = all_reduce_frame("ring", shape);
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

std::optional<Error> disallowed(std::string_view algorithm, const Arithmetic& arithmetic) {
  const auto& [element, wire, op, accumulate] = arithmetic;
  if (!wire.is_none() && !allows_wire(op)) {
    return Error{"--op", std::string(name(op)) + " does not go with wire " + wire.name(),
                 "wires carry sum and avg: --wire none"};
  }
  if (!wire.is_none() && accumulate == Accumulate::element) {
    return Error{"--accumulate", "element does not go with wire " + wire.name(),
                 "a wire accumulates in f32: leave --accumulate out, or give f32"};
  }
  if (algorithm == "ring" && wire.is_none() && accumulate == Accumulate::f32) {
    return Error{"--accumulate", "f32 does not go with the ring without a wire",
                 "its hops carry elements: --algorithm flat,tree, or --accumulate element"};
  }
  if (algorithm == "flat_ll" && wire.is_block()) {
    return Error{"--wire", wire.name() + " does not go with flat_ll",
                 "its packets carry no scales: --wire none or a cast, or --algorithm flat"};
  }
  return std::nullopt;
}

std::span<const Builder> builders() { return kBuilders; }

const Builder* find_builder(Collective collective, std::string_view algorithm) {
  for (const Builder& builder : kBuilders) {
    if (builder.collective == collective && builder.algorithm == algorithm) return &builder;
  }
  return nullptr;
}

}  // namespace tally::model
