#pragma once

// Measures the numerical error of collectives, cell by cell.

#include <functional>
#include <span>

#include "reference/error_statistics.h"
#include "study/study_plan.h"

namespace tally::study {

/// A cell is cut into calls of at most this many elements, each with its own chunks and, but for a
/// file, its own draw (Draw::call counts up): what a collective does whose staging buffer holds
/// that much.
inline constexpr std::int64_t kCallElements = std::int64_t{1} << 16;

struct Measurement {
  const Cell& cell;
  /// Of rank 0's output (the other ranks hold the same bits) against the exact sums of the inputs
  /// in the cell's element type.
  const reference::ErrorStatistics& errors;
};

/// Whether every error is within its bound; errors that no bound covers, because a NaN or an
/// infinity came up on the way, do not count against it.
bool is_within_bounds(const reference::ErrorStatistics& errors);

/// Measures every cell on `threads` threads, and tells `report` in the order of the cells, from any
/// of the threads but from one at a time. The numbers depend on the cells and the seed only.
void measure(std::span<const Cell> cells, std::uint64_t seed, int threads,
             const std::function<void(const Measurement&)>& report);

}  // namespace tally::study
