#pragma once

// Sums of f32 values without any rounding, and what they round to.

#include <array>
#include <bit>
#include <compare>
#include <cstdint>

#include "model/conversion.h"

namespace tally::reference {

/// The exact sum of any terms: a two's complement fixed-point number of 640 bits, from 2^-320 up,
/// so that it holds 2^62 terms, each an f32 or a product of two (a superaccumulator: Kulisch,
/// Computer Arithmetic and Validity, 2013). NaN and the infinities are remembered beside the
/// number, for good: the value is NaN once a NaN or infinities of both signs were added, else an
/// infinity if one was, else the number. Subtracting is adding the negative. A zero has no sign.
class ExactSum {
 public:
  void add(float x) { accumulate(x, false); }
  void subtract(float x) { accumulate(x, true); }
  void add(const ExactSum& other);
  void subtract(const ExactSum& other);
  /// x must be NaN, infinite, or a multiple of 2^-320 below 2^318 (as every f32 is, and every
  /// product of two): another one
  /// stops the program.
  void add(double x);
  void negate();

  bool is_nan() const { return has_nan_ || (has_plus_infinity_ && has_minus_infinity_); }
  bool is_finite() const { return !has_nan_ && !has_plus_infinity_ && !has_minus_infinity_; }
  /// -1, 0, 1 as the number is negative, zero or positive. Of finite sums only.
  int sign() const;

  /// Of values: NaN is unordered.
  std::partial_ordering operator<=>(const ExactSum& other) const;
  bool operator==(const ExactSum& other) const { return (*this <=> other) == 0; }

  /// The value divided by `divisor`, 1..2^16, to the nearest double, ties to even: rounded once.
  double rounded(int divisor = 1) const;
  /// The value divided by `divisor`, in a format, rounded once to nearest, ties to even.
  std::uint32_t code(model::Format format, model::Overflow overflow, int divisor = 1) const;
  /// x - value / divisor, exact, to the nearest double. Equal infinities differ by 0; NaN where
  /// else one of the two is not finite. x as in add.
  double difference_from(double x, int divisor = 1) const;

 private:
  static constexpr int kLimbs = 10;
  static constexpr int kBitsBelowOne = 320;
  using Limbs = std::array<std::uint64_t, kLimbs>;  // the lowest first

  /// A magnitude as 2^exponent * significand, the significand's top bit set; `inexact`: there is
  /// more below it. Zero has the significand 0.
  struct Top {
    std::uint64_t significand;
    int exponent;
    bool inexact;
  };

  void accumulate(float x, bool is_subtracted);
  void add_shifted(std::uint64_t significand, int position, bool is_negative);
  void add_special(double x);
  Top top_of_quotient(int divisor) const;
  double special() const;

  Limbs limbs_{};
  bool has_nan_ = false, has_plus_infinity_ = false, has_minus_infinity_ = false;
};

inline void ExactSum::add_shifted(std::uint64_t significand, int position, bool is_negative) {
  int limb = position >> 6;
  const int shift = position & 63;
  const std::uint64_t low = significand << shift;
  const std::uint64_t high = shift == 0 ? 0 : significand >> (64 - shift);
  if (is_negative) {
    std::uint64_t borrow = limbs_[limb] < low;
    limbs_[limb] -= low;
    if ((high | borrow) == 0 || ++limb == kLimbs) return;
    const std::uint64_t next = limbs_[limb] - high;
    const std::uint64_t borrowed = (limbs_[limb] < high) | (next < borrow);
    limbs_[limb] = next - borrow;
    for (borrow = borrowed; borrow != 0 && ++limb < kLimbs;) borrow = limbs_[limb]-- == 0;
    return;
  }
  limbs_[limb] += low;
  std::uint64_t carry = limbs_[limb] < low;
  if ((high | carry) == 0 || ++limb == kLimbs) return;
  const std::uint64_t next = limbs_[limb] + high;
  const std::uint64_t carried = next < high;
  limbs_[limb] = next + carry;
  carry = carried | (limbs_[limb] < next);
  while (carry != 0 && ++limb < kLimbs) carry = ++limbs_[limb] == 0;
}

inline void ExactSum::accumulate(float x, bool is_subtracted) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t field = (bits >> 23) & 0xFF, fraction = bits & 0x7F'FFFF;
  if (field == 0xFF) return add_special(is_subtracted ? -x : x);
  // The lowest bit of a significand with the exponent field 1 is worth 2^-149.
  const std::uint32_t significand = field == 0 ? fraction : fraction | 0x80'0000;
  const int position = kBitsBelowOne - 149 + (field == 0 ? 0 : static_cast<int>(field) - 1);
  add_shifted(significand, position, (bits >> 31 != 0) != is_subtracted);
}

}  // namespace tally::reference
