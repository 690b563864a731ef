#pragma once

// How a real number becomes a code: rounding and overflow, as arguments.

#include <cstdint>
#include <string_view>

#include "model/number_format.h"

namespace tally::model {

enum class Rounding : std::uint8_t {
  nearest_even,     // ties to the even code
  nearest_up,       // ties away from zero
  toward_zero,
  toward_positive,
  stochastic,       // up with probability equal to the discarded fraction; the bits are given
};

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

}  // namespace tally::model
