#include <algorithm>

#include "model/builder_parts.h"
#include "model/builders.h"
#include "model/check.h"

namespace tally::model {
namespace {

/// `range` of the block that begins at element `block` of a rank's buffer.
Slice in_block(int rank, int buffer, std::int64_t block, Range range) {
  return {rank, buffer, {block + range.begin, block + range.end}};
}

/// Every rank stages its blocks, each in the slot of its receiver, and fetches its own of everyone.
void exchange(Schedule& schedule, const Shape& shape, std::span<const std::int64_t> send_counts) {
  const int ranks = shape.ranks;
  const std::int64_t slot = slot_length(shape);
  schedule.buffers[kScratch].elements = ranks * slot;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      Lane& steps = schedule.lanes[rank][lane];
      const auto mine = [&](int from, int to, int round) {
        return part_in_round(shape, send_counts[from * ranks + to], lane, round);
      };
      const auto stage = [&](int round) {
        for (int to = 0; to < ranks; ++to) {
          const std::int64_t block = send_offset(send_counts, ranks, rank, to);
          steps.push_back(Copy{in_block(rank, kInput, block, mine(rank, to, round)),
                               in_block(rank, kScratch, to * slot, mine(rank, to, round))});
        }
      };
      const auto fetch = [&](int round) {
        for (int distance = 0; distance < ranks; ++distance) {
          const int from = (rank + distance) % ranks;  // so that not all ask one rank first
          const std::int64_t block = receive_offset(send_counts, ranks, from, rank);
          steps.push_back(Copy{in_block(from, kScratch, rank * slot, mine(from, rank, round)),
                               in_block(rank, kOutput, block, mine(from, rank, round))});
        }
      };
      in_rounds(steps, shape, rank, lane, stage, fetch);
      barrier(steps, ranks, rank, lane);  // until then peers read this rank's scratch
    }
  }
}

}  // namespace

Schedule flat_reduce_scatter(const Shape& shape) {
  Schedule schedule = frame("flat", Collective::reduce_scatter, shape);
  const int ranks = shape.ranks;
  const std::int64_t slot = slot_length(shape);
  schedule.buffers[kScratch].elements = ranks * slot;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      Lane& steps = schedule.lanes[rank][lane];
      const auto stage = [&](int round) {
        const Range range = part_in_round(shape, shape.count, lane, round);
        for (int to = 0; to < ranks; ++to) {
          steps.push_back(Copy{in_block(rank, kInput, to * shape.count, range),
                               in_block(rank, kScratch, to * slot, range)});
        }
      };
      const auto sum = [&](int round) {
        const Range range = part_in_round(shape, shape.count, lane, round);
        std::vector<Slice> staged;
        for (int from = 0; from < ranks; ++from) {
          staged.push_back(in_block(from, kScratch, rank * slot, range));
        }
        steps.push_back(reduce_all(shape, std::move(staged), {rank, kOutput, range}));
      };
      in_rounds(steps, shape, rank, lane, stage, sum);
      barrier(steps, ranks, rank, lane);  // until then peers read this rank's scratch
    }
  }
  return schedule;
}

Schedule flat_all_gather(const Shape& shape) {
  Schedule schedule = frame("flat", Collective::all_gather, shape);
  const int ranks = shape.ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      Lane& steps = schedule.lanes[rank][lane];
      const auto stage = [&](int round) {
        const Range range = part_in_round(shape, shape.count, lane, round);
        steps.push_back(Copy{{rank, kInput, range}, {rank, kScratch, range}});
      };
      const auto fetch = [&](int round) {
        const Range range = part_in_round(shape, shape.count, lane, round);
        for (int distance = 0; distance < ranks; ++distance) {
          const int from = (rank + distance) % ranks;  // so that not all ask one rank first
          steps.push_back(
              Copy{{from, kScratch, range}, in_block(rank, kOutput, from * shape.count, range)});
        }
      };
      in_rounds(steps, shape, rank, lane, stage, fetch);
      barrier(steps, ranks, rank, lane);  // until then peers read this rank's scratch
    }
  }
  return schedule;
}

Schedule flat_all_to_all(const Shape& shape) {
  Schedule schedule = frame("flat", Collective::all_to_all, shape);
  exchange(schedule, shape, std::vector<std::int64_t>(shape.ranks * shape.ranks, shape.count));
  return schedule;
}

Schedule flat_all_to_all_v(const Shape& shape) {
  Schedule schedule = frame("flat", Collective::all_to_all_v, shape);
  TALLY_CHECK(!shape.in_place, "all_to_all_v is out of place only");
  TALLY_CHECK(std::ssize(shape.send_counts) == shape.ranks * shape.ranks,
              "all_to_all_v has a count for each pair of ranks");
  TALLY_CHECK(std::ranges::all_of(shape.send_counts,
                                  [&](std::int64_t c) { return c >= 0 && c <= shape.count; }),
              "counts of all_to_all_v are from 0 to their bound");
  schedule.send_counts = shape.send_counts;
  Shape at_once = shape;
  at_once.rounds = 1;  // counts are known only when all ranks have staged
  exchange(schedule, at_once, shape.send_counts);
  return schedule;
}

}  // namespace tally::model
