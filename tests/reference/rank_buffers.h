#pragma once

// Elements of all ranks for tests: from values, from random bits, and what to look at where two
// outcomes differ.

#include <cstdint>
#include <string>
#include <vector>

#include "model/number_format.h"
#include "reference/run.h"

namespace tally::test {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  /// In [0, limit).
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(bits() % limit); }

 private:
  std::uint64_t state_;
};

/// The codes of `values`, which the format can hold exactly; stops the program where it cannot.
std::vector<std::byte> codes_of(model::Format, const std::vector<double>& values);
std::uint32_t code_at(model::Format, const std::vector<std::byte>& codes, std::int64_t index);
void append_code(model::Format, std::uint32_t code, std::vector<std::byte>& codes);

/// A code: a third of the time any bits, a third near an edge of the encoding, and a third of
/// moderate size, so that sums and one-byte wires stay in range.
std::uint32_t random_code(model::Format, Random&);
reference::RankBuffers random_inputs(model::Format, int ranks, std::int64_t count,
                                     std::uint64_t seed);

/// Bit for bit, but two NaNs are equal.
bool same_code(model::Format, std::uint32_t a, std::uint32_t b);
/// "rank 1, element 2: got 0x40 want 0x41", or "" where all are the same.
std::string first_difference(model::Format, const reference::RankBuffers& got,
                             const reference::RankBuffers& want);

}  // namespace tally::test
