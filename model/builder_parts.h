#pragma once

// What the files of builders share; nobody else includes it.

#include <string>
#include <vector>

#include "model/builders.h"

namespace tally::model {

/// The buffers of frame(), by number.
inline constexpr int kInput = 0, kOutput = 1, kScratch = 2;

/// A schedule without steps; its scratch is encoded and as long as the input.
Schedule frame(std::string algorithm, Collective collective, const Shape& shape);

/// Lane `lane` of `rank` tells the same lane of every other rank, or waits for them.
void signal_all(Lane& steps, int ranks, int rank, int lane);
void wait_for_all(Lane& steps, int ranks, int rank, int lane);

/// What a lane works on of every block of `count` elements, in one of the shape's rounds.
Range part_in_round(const Shape& shape, std::int64_t count, int lane, int round);

/// stage(round) and work(round) add steps for each of the shape's rounds, the work of one behind
/// the staging of the next.
template <class Stage, class Work>
void in_rounds(Lane& steps, const Shape& shape, int rank, int lane, Stage stage, Work work) {
  stage(0);
  signal_all(steps, shape.ranks, rank, lane);
  for (int round = 0; round < shape.rounds; ++round) {
    if (round + 1 < shape.rounds) {
      stage(round + 1);
      signal_all(steps, shape.ranks, rank, lane);
    }
    wait_for_all(steps, shape.ranks, rank, lane);
    work(round);
  }
}

/// Lane `lane` of `rank` meets the same lane of every other rank.
void barrier(Lane& steps, int ranks, int rank, int lane);

/// Elements from one slot of `count` elements to the next: no block of a wire is cut.
std::int64_t slot_length(const Shape& shape);

/// What all ranks staged, reduced in their order: complete, so an average is divided here.
Reduce reduce_all(const Shape& shape, std::vector<Slice> staged, Slice destination);

}  // namespace tally::model
