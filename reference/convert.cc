#include "reference/convert.h"

#include <algorithm>
#include <bit>

#include "model/check.h"

namespace tally::reference {

using model::BottomCodes;
using model::Format;
using model::MinusZero;
using model::NumberFormat;
using model::Rounding;

namespace {

// The layout of f32, the carrier of all values here.
constexpr const NumberFormat& kF32 = model::format(Format::f32);
constexpr int kF32Fraction = kF32.fraction_bits;
constexpr std::uint32_t kF32Infinity = kF32.infinity_code();

std::uint32_t with_sign(const NumberFormat& f, std::uint32_t magnitude, bool negative) {
  if (magnitude == 0 && f.minus_zero == MinusZero::nan) return 0;
  return negative ? magnitude | f.sign_mask() : magnitude;
}

std::uint32_t encode_nan(const NumberFormat& f, bool negative) {
  if (!f.has_nan()) return f.max_code();
  return f.minus_zero == MinusZero::nan ? f.nan_code() : with_sign(f, f.nan_code(), negative);
}

std::uint32_t encode_beyond(const NumberFormat& f, model::Beyond beyond, bool negative) {
  if (beyond == model::Beyond::special) {
    if (f.has_infinity()) return with_sign(f, f.infinity_code(), negative);
    if (f.has_nan()) return encode_nan(f, negative);
  }
  return with_sign(f, f.max_code(), negative);
}

/// Whether to add one to a position: `discarded` is the discarded fraction times 2^64.
bool carries(std::uint64_t discarded, bool odd, bool negative, Rounding rounding,
             std::uint32_t random_bits) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  switch (rounding) {
    case Rounding::nearest_even:
      return discarded > kHalf || (discarded == kHalf && odd);
    case Rounding::nearest_up:
      return discarded >= kHalf;
    case Rounding::toward_zero:
      return false;
    case Rounding::toward_positive:
      return discarded != 0 && !negative;
    case Rounding::stochastic:
      return discarded > std::uint64_t{random_bits} << 32;
  }
  model::check_failed(__FILE__, __LINE__, "not a rounding mode");
}

/// The code, still without sign and with the exponent unbounded, of a finite f32 magnitude.
std::uint32_t round_magnitude(const NumberFormat& f, std::uint32_t magnitude, bool negative,
                              Rounding rounding, std::uint32_t random_bits) {
  if (magnitude == 0) return 0;
  // The magnitude is significand * 2^(leading - 23), the significand in [2^23, 2^24).
  std::uint32_t significand = kF32.fraction_field(magnitude);
  int leading = static_cast<int>(kF32.exponent_field(magnitude)) - kF32.bias;
  if (leading < kF32.min_exponent()) {
    const int up = std::countl_zero(significand) - (31 - kF32Fraction);
    significand <<= up;
    leading += 1 - up;
  } else {
    significand |= std::uint32_t{1} << kF32Fraction;
  }
  const int exponent = std::max(leading, f.min_exponent());
  if (f.bottom == BottomCodes::normal && leading < exponent) return 0;
  // Past 60 dropped bits nothing is kept, and all that counts is that 0 < fraction < 2^-32.
  const int drop = std::min(kF32Fraction - f.fraction_bits + (exponent - leading), 60);
  const std::uint32_t kept = static_cast<std::uint32_t>(std::uint64_t{significand} >> drop);
  const std::uint64_t discarded = drop == 0 ? 0 : std::uint64_t{significand} << (64 - drop);
  std::uint32_t position =
      (static_cast<std::uint32_t>(exponent - f.min_exponent()) << f.fraction_bits) + kept;
  if (f.bottom == BottomCodes::normal) --position;  // no code for zero
  return position + carries(discarded, position % 2 == 1, negative, rounding, random_bits);
}

}  // namespace

float decode(Format id, std::uint32_t code) {
  const NumberFormat& f = model::format(id);
  code &= f.code_mask();
  const std::uint32_t sign = f.sign_field(code) << 31;
  const std::uint32_t magnitude = code & ~f.sign_mask();
  if (f.is_nan(code)) {
    const bool signed_nan = f.minus_zero != MinusZero::nan;
    return std::bit_cast<float>(kF32.nan_code() | (signed_nan ? sign : 0));
  }
  if (f.has_infinity() && magnitude == f.infinity_code()) {
    return std::bit_cast<float>(kF32Infinity | sign);
  }
  const int up = kF32Fraction - f.fraction_bits;
  const int field = static_cast<int>(magnitude >> f.fraction_bits) + kF32.bias - f.bias;
  const bool hidden_bit = magnitude >> f.fraction_bits != 0 || f.bottom == BottomCodes::normal;
  if (hidden_bit && field > 0) {
    return std::bit_cast<float>(sign | static_cast<std::uint32_t>(field) << kF32Fraction |
                                f.fraction_field(magnitude) << up);
  }
  if (hidden_bit) {  // 2^-127 of e8m0, which is a subnormal of f32
    return std::bit_cast<float>(sign | std::uint32_t{1} << (kF32Fraction - 1));
  }
  if (f.bias == kF32.bias) return std::bit_cast<float>(sign | magnitude << up);
  if (magnitude == 0) return std::bit_cast<float>(sign);
  // A subnormal: its leading bit becomes the hidden one.
  const int top = std::bit_width(magnitude) - 1;
  const int exponent = f.min_exponent() - f.fraction_bits + top + kF32.bias;
  const std::uint32_t fraction = (magnitude << (kF32Fraction - top)) & kF32.fraction_mask();
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(exponent) << kF32Fraction |
                              fraction);
}

std::uint32_t encode(Format id, float x, Rounding rounding, model::Overflow overflow,
                     std::uint32_t random_bits) {
  const NumberFormat& f = model::format(id);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & ~kF32.sign_mask();
  const bool negative = magnitude != bits;
  if (magnitude > kF32Infinity) return encode_nan(f, negative);
  if (f.sign_bits == 0 && negative && magnitude != 0) return encode_nan(f, negative);
  if (magnitude == kF32Infinity) return encode_beyond(f, overflow.infinity, negative);
  const std::uint32_t rounded = round_magnitude(f, magnitude, negative, rounding, random_bits);
  if (rounded > f.max_code()) return encode_beyond(f, overflow.finite, negative);
  return with_sign(f, rounded, negative);
}

}  // namespace tally::reference
