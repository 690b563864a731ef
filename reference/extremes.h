#pragma once

// Minimum and maximum, decided on bits: a NaN gives a NaN whichever side it is on, and -0 is below
// +0. (fmin and fmax drop NaN, and compilers differ on zeros.)

#include <bit>
#include <cstdint>

namespace tally::reference {

/// A number's place in the order from -infinity to +infinity; NaN has none.
inline std::int32_t place(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits >= 0 ? bits
                   : static_cast<std::int32_t>(0x8000'0000u - static_cast<std::uint32_t>(bits)) - 1;
}

inline float minimum(float a, float b) {
  if (a != a || b != b) return std::bit_cast<float>(0x7FC0'0000u);
  return place(b) < place(a) ? b : a;
}

inline float maximum(float a, float b) {
  if (a != a || b != b) return std::bit_cast<float>(0x7FC0'0000u);
  return place(b) > place(a) ? b : a;
}

}  // namespace tally::reference
