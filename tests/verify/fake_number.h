#pragma once

// f32, f16 and bf16 for the fake library: on its own, so that it shares no fault with what judges
// it.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tally::test {

struct FakeFormat {
  int bytes, exponent_bits, fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t top() const { return (1u << exponent_bits) - 1; }
  double unit_roundoff() const { return std::ldexp(1.0, -fraction_bits - 1); }

  float decode(std::uint32_t code) const {
    const bool is_negative = (code >> (exponent_bits + fraction_bits) & 1) != 0;
    const std::uint32_t exponent = code >> fraction_bits & top();
    const std::uint32_t fraction = code & ((1u << fraction_bits) - 1);
    double x = 0;
    if (exponent == top()) {
      x = fraction != 0 ? std::nan("") : HUGE_VAL;
    } else {
      const std::uint32_t significand = exponent == 0 ? fraction : fraction | 1u << fraction_bits;
      const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - bias() - fraction_bits;
      x = std::ldexp(significand, power);
    }
    return static_cast<float>(is_negative ? -x : x);
  }

  /// To nearest, ties to even: nearbyint's way.
  std::uint32_t encode(float x) const {
    const std::uint32_t sign = std::signbit(x) ? 1u << (exponent_bits + fraction_bits) : 0;
    if (std::isnan(x)) return sign | top() << fraction_bits | 1u << (fraction_bits - 1);
    if (std::isinf(x)) return sign | top() << fraction_bits;
    if (x == 0) return sign;
    const int exponent = std::max(std::ilogb(x), 1 - bias());
    const double scaled =
        std::nearbyint(std::ldexp(std::fabs(double{x}), fraction_bits - exponent));
    // A carry out of the fraction goes into the exponent, and so to infinity.
    const auto significand = static_cast<std::uint32_t>(scaled);
    const auto field = static_cast<std::uint32_t>(exponent + bias() - 1);
    const std::uint32_t code = (field << fraction_bits) + significand;
    return sign | std::min(code, top() << fraction_bits);
  }

  float load(const std::byte* from) const {
    std::uint32_t code = 0;
    std::memcpy(&code, from, bytes);
    return decode(code);
  }
  void store(float x, std::byte* to) const {
    const std::uint32_t code = encode(x);
    std::memcpy(to, &code, bytes);
  }
  float round(float x) const { return decode(encode(x)); }
};

inline constexpr FakeFormat kFakeF32{4, 8, 23}, kFakeF16{2, 5, 10}, kFakeBf16{2, 8, 7};

}  // namespace tally::test
