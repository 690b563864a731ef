#pragma once

// Inputs that come close to the error bounds, and how close they come.

#include <cstdint>
#include <string>
#include <vector>

#include "model/builders.h"
#include "reference/error_bound.h"

namespace tally::test {

/// One all-reduce.
struct BoundCase {
  std::string algorithm;
  model::Arithmetic arithmetic;
  int ranks = 1;
  std::int64_t count = 0;

  model::Schedule schedule() const;
  /// flat/bf16/e4m3fn:sat/avg/f32/ranks=3
  std::string text() const;
  /// What has a bound of its own: algorithm, kind of wire and accumulator.
  std::string kind() const;
};

/// How inputs are made. In blocks whose scale is known, where the wire has blocks.
enum class Style : std::uint8_t {
  bell,    // sums of four uniform numbers, times a power of two
  wide,    // exponents from -20 to 20
  ties,    // halfway between two values of the wire, or one f32 beside; equal on all ranks
  chain,   // each rank's number takes the running sum to such a place, in the algorithm's order
  corner,  // random_code
};
inline constexpr int kStyles = 5;

/// The same seed gives the same inputs.
reference::RankBuffers make_inputs(const BoundCase&, Style, std::uint64_t seed);

struct BoundOutcome {
  std::int64_t elements = 0;  // output elements; the ranks' equal ones count once
  std::int64_t bounded = 0;   // of these, with a finite bound
  /// Of error to bound, where every rank gives at least 2^-10 of what the largest one gives: the
  /// bound is reached by all terms together, not by one of them while the others are zero.
  double largest_ratio = 0;
  std::string violation;  // the first, to look at; "" where there is none
};

/// Runs the case and compares its errors with the bounds. A violation is: an error above its bound,
/// a bound for what is NaN or infinite, no bound for what is finite though no saturation hides an
/// infinity, values that are not run()'s, and ranks that differ.
BoundOutcome check_bounds(const BoundCase&, const reference::RankBuffers& inputs,
                          reference::ErrorTerms = reference::kAllErrorTerms);

/// Every algorithm with every wire, element type, accumulator and mean or sum that they allow.
std::vector<BoundCase> all_bound_cases(const std::vector<int>& ranks, std::int64_t count);

}  // namespace tally::test
