#pragma once

// How a real number becomes a code: rounding and overflow, as arguments.

#include <cstdint>
#include <iterator>
#include <string_view>

#include "model/number_format.h"

namespace tally::model {

enum class Rounding : std::uint8_t {
  nearest_even,  // ties to the even code
  nearest_up,    // ties away from zero
  toward_zero,
  toward_positive,
  stochastic,  // away from zero where the discarded fraction, times 2^32, is above 32 given bits
};

struct RoundingName {
  Rounding id;
  std::string_view name;  // the same in flags, JSON, documents and tests
};

inline constexpr RoundingName kRoundings[] = {
    {Rounding::nearest_even, "nearest_even"}, {Rounding::nearest_up, "nearest_up"},
    {Rounding::toward_zero, "toward_zero"},   {Rounding::toward_positive, "toward_positive"},
    {Rounding::stochastic, "stochastic"},
};

constexpr std::string_view name_of(Rounding rounding) {
  return kRoundings[static_cast<std::size_t>(rounding)].name;
}

/// Where a value beyond the largest finite one goes.
enum class Beyond : std::uint8_t {
  special,     // infinity where the format has one, else NaN, else the largest finite value
  max_finite,  // saturates, with the sign kept
};

/// What a conversion does beyond the finite range. Overflow is decided on the rounded value, as
/// OCP OFP8 1.0 section 5.2 has it.
struct Overflow {
  Beyond finite = Beyond::special;
  Beyond infinity = Beyond::special;
};

inline constexpr Overflow kAsFormat{Beyond::special, Beyond::special};
inline constexpr Overflow kSaturate{Beyond::max_finite, Beyond::max_finite};

constexpr bool roundings_are_in_order() {
  for (std::size_t i = 0; i < std::size(kRoundings); ++i) {
    if (kRoundings[i].id != static_cast<Rounding>(i)) return false;
  }
  return true;
}
static_assert(roundings_are_in_order(), "Rounding names the rows of kRoundings by position");

}  // namespace tally::model
