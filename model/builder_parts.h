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

/// Lane `lane` of `rank` meets the same lane of every other rank.
void barrier(Lane& steps, int ranks, int rank, int lane);

/// Elements from one slot of `count` elements to the next: no block of a wire is cut.
std::int64_t slot_length(const Shape& shape);

/// What all ranks staged, reduced in their order: complete, so an average is divided here.
Reduce reduce_all(const Shape& shape, std::vector<Slice> staged, Slice destination);

}  // namespace tally::model
