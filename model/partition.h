#pragma once

// How elements are divided among ranks (chunks) and among the lanes of one rank (parts).

#include <algorithm>
#include <cstdint>

namespace tally::model {

/// The elements [begin, end); empty where end == begin.
struct Range {
  std::int64_t begin = 0, end = 0;

  constexpr std::int64_t size() const { return end - begin; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Part `index` of `range` cut into `parts` pieces, each but the last a multiple of `unit`
/// elements long; the last ones may be short or empty.
constexpr Range part(Range range, int index, int parts, std::int64_t unit) {
  const std::int64_t length = unit * ceil_divide(range.size(), parts * unit);
  return {std::min(range.end, range.begin + index * length),
          std::min(range.end, range.begin + (index + 1) * length)};
}

/// The chunk of [0, count) that `rank` owns in an all-reduce.
constexpr Range chunk(std::int64_t count, int rank, int ranks, std::int64_t unit) {
  return part({0, count}, rank, ranks, unit);
}

}  // namespace tally::model
