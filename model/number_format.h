#pragma once

// The table of number formats. Everything about a format that is not in its row is derived here.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tally::model {

/// Names a row of kNumberFormats; the order is the table's.
enum class Format : std::uint8_t {
  f32,
  f16,
  bf16,
  e4m3fn,
  e5m2,
  e4m3fnuz,
  e5m2fnuz,
  e3m2,
  e2m3,
  e2m1,
  e8m0,
};

/// What the codes with an all-ones exponent mean.
enum class TopCodes : std::uint8_t {
  ieee,        // fraction 0 is infinity, the others NaN
  one_nan,     // all fraction bits set is NaN, the others are finite
  all_finite,  // ordinary numbers
};

/// What the code with only the sign bit set means.
enum class MinusZero : std::uint8_t { zero, nan };

/// What an all-zeros exponent means: zero and subnormals, or one more power of two (scales).
enum class BottomCodes : std::uint8_t { subnormal, normal };

enum class CodeClass : std::uint8_t { zero, subnormal, normal, infinity, nan };

constexpr double power_of_two(int exponent) {
  double value = 1.0;
  for (; exponent > 0; --exponent) value *= 2.0;
  for (; exponent < 0; ++exponent) value *= 0.5;
  return value;
}

/// One number format: sign, exponent and fraction fields from the highest bit down.
/// A finite code stands for (-1)^sign * significand * 2^exponent, exactly.
struct NumberFormat {
  Format id;
  std::string_view name;    // the same in flags, JSON, documents and tests
  std::string_view source;  // the public document that defines it
  int sign_bits, exponent_bits, fraction_bits, bias;
  TopCodes top;
  MinusZero minus_zero;
  BottomCodes bottom;

  constexpr int width() const { return sign_bits + exponent_bits + fraction_bits; }
  constexpr int bytes() const { return (width() + 7) / 8; }
  constexpr std::uint64_t code_count() const { return std::uint64_t{1} << width(); }
  constexpr std::uint32_t code_mask() const { return static_cast<std::uint32_t>(code_count() - 1); }
  constexpr std::uint32_t sign_mask() const {
    return sign_bits == 0 ? 0 : std::uint32_t{1} << (exponent_bits + fraction_bits);
  }
  constexpr std::uint32_t fraction_mask() const { return (std::uint32_t{1} << fraction_bits) - 1; }
  constexpr std::uint32_t exponent_mask() const { return (std::uint32_t{1} << exponent_bits) - 1; }

  constexpr std::uint32_t sign_field(std::uint32_t code) const {
    return (code & sign_mask()) != 0 ? 1 : 0;
  }
  constexpr std::uint32_t exponent_field(std::uint32_t code) const {
    return (code >> fraction_bits) & exponent_mask();
  }
  constexpr std::uint32_t fraction_field(std::uint32_t code) const {
    return code & fraction_mask();
  }

  constexpr CodeClass classify(std::uint32_t code) const {
    if (minus_zero == MinusZero::nan && code == sign_mask()) return CodeClass::nan;
    const std::uint32_t exponent = exponent_field(code), fraction = fraction_field(code);
    if (exponent == exponent_mask()) {
      if (top == TopCodes::ieee) return fraction == 0 ? CodeClass::infinity : CodeClass::nan;
      if (top == TopCodes::one_nan && fraction == fraction_mask()) return CodeClass::nan;
    }
    if (exponent != 0 || bottom == BottomCodes::normal) return CodeClass::normal;
    return fraction == 0 ? CodeClass::zero : CodeClass::subnormal;
  }
  constexpr bool is_nan(std::uint32_t code) const { return classify(code) == CodeClass::nan; }
  constexpr bool has_infinity() const { return top == TopCodes::ieee; }
  constexpr bool has_nan() const {
    return top != TopCodes::all_finite || minus_zero == MinusZero::nan;
  }

  /// Only where has_infinity().
  constexpr std::uint32_t infinity_code() const { return exponent_mask() << fraction_bits; }
  /// The largest positive finite code.
  constexpr std::uint32_t max_code() const {
    if (top == TopCodes::ieee) return infinity_code() - 1;
    const std::uint32_t all_ones = code_mask() & ~sign_mask();
    return top == TopCodes::one_nan ? all_ones - 1 : all_ones;
  }
  /// The NaN that conversions here produce for a positive NaN; only where has_nan().
  constexpr std::uint32_t nan_code() const {
    if (minus_zero == MinusZero::nan) return sign_mask();
    if (top == TopCodes::ieee && fraction_bits > 3) {
      return infinity_code() | (std::uint32_t{1} << (fraction_bits - 1));
    }
    return code_mask() & ~sign_mask();
  }

  /// The exponent e of a normal code's value 1.f * 2^e.
  constexpr int min_exponent() const { return (bottom == BottomCodes::normal ? 0 : 1) - bias; }
  constexpr int max_exponent() const { return static_cast<int>(exponent_field(max_code())) - bias; }
  constexpr double min_normal() const { return power_of_two(min_exponent()); }
  /// The spacing of the subnormals, which is the smallest positive value.
  constexpr double min_positive() const {
    return bottom == BottomCodes::normal ? min_normal()
                                         : power_of_two(min_exponent() - fraction_bits);
  }
  constexpr double max_finite() const {
    const double significand =
        1.0 + static_cast<double>(fraction_field(max_code())) * power_of_two(-fraction_bits);
    return significand * power_of_two(max_exponent());
  }
  /// Largest relative error of rounding to nearest in the normal range, as a fraction of the
  /// power of two below.
  constexpr double unit_roundoff() const { return power_of_two(-fraction_bits - 1); }
};

// clang-format off
inline constexpr NumberFormat kNumberFormats[] = {
    {Format::f32,      "f32",      "IEEE 754-2019, binary32",          1, 8, 23, 127, TopCodes::ieee,       MinusZero::zero, BottomCodes::subnormal},
    {Format::f16,      "f16",      "IEEE 754-2019, binary16",          1, 5, 10,  15, TopCodes::ieee,       MinusZero::zero, BottomCodes::subnormal},
    {Format::bf16,     "bf16",     "Intel BFLOAT16 definition, 2018",  1, 8,  7, 127, TopCodes::ieee,       MinusZero::zero, BottomCodes::subnormal},
    {Format::e4m3fn,   "e4m3fn",   "OCP OFP8 1.0, table 1 (E4M3)",     1, 4,  3,   7, TopCodes::one_nan,    MinusZero::zero, BottomCodes::subnormal},
    {Format::e5m2,     "e5m2",     "OCP OFP8 1.0, table 1 (E5M2)",     1, 5,  2,  15, TopCodes::ieee,       MinusZero::zero, BottomCodes::subnormal},
    {Format::e4m3fnuz, "e4m3fnuz", "AMD CDNA3 ISA, FP8 data format",   1, 4,  3,   8, TopCodes::all_finite, MinusZero::nan,  BottomCodes::subnormal},
    {Format::e5m2fnuz, "e5m2fnuz", "AMD CDNA3 ISA, BF8 data format",   1, 5,  2,  16, TopCodes::all_finite, MinusZero::nan,  BottomCodes::subnormal},
    {Format::e3m2,     "e3m2",     "OCP MX 1.0, 5.3.2 (FP6)",          1, 3,  2,   3, TopCodes::all_finite, MinusZero::zero, BottomCodes::subnormal},
    {Format::e2m3,     "e2m3",     "OCP MX 1.0, 5.3.2 (FP6)",          1, 2,  3,   1, TopCodes::all_finite, MinusZero::zero, BottomCodes::subnormal},
    {Format::e2m1,     "e2m1",     "OCP MX 1.0, 5.3.3 (FP4)",          1, 2,  1,   1, TopCodes::all_finite, MinusZero::zero, BottomCodes::subnormal},
    {Format::e8m0,     "e8m0",     "OCP MX 1.0, 5.4.1 (scale)",        0, 8,  0, 127, TopCodes::one_nan,    MinusZero::zero, BottomCodes::normal},
};
// clang-format on

constexpr const NumberFormat& format(Format id) {
  return kNumberFormats[static_cast<std::size_t>(id)];
}

/// The format of that name; nothing where there is none. Accepts no aliases.
std::optional<Format> find_format(std::string_view name);

// The published extremes: a mistyped row does not compile.
static_assert(format(Format::f32).max_finite() == 0x1.fffffep127);
static_assert(format(Format::f32).min_positive() == 0x1p-149);
static_assert(format(Format::f16).max_finite() == 65504 &&
              format(Format::f16).min_positive() == 0x1p-24);
static_assert(format(Format::f16).infinity_code() == 0x7C00 &&
              format(Format::f16).nan_code() == 0x7E00);
static_assert(format(Format::bf16).max_finite() == 0x1.fep127);
static_assert(format(Format::bf16).min_positive() == 0x1p-133 &&
              format(Format::bf16).nan_code() == 0x7FC0);
static_assert(format(Format::e4m3fn).max_finite() == 448 &&
              format(Format::e4m3fn).max_code() == 0x7E);
static_assert(format(Format::e4m3fn).min_normal() == 0x1p-6 &&
              format(Format::e4m3fn).min_positive() == 0x1p-9);
static_assert(format(Format::e4m3fn).nan_code() == 0x7F && !format(Format::e4m3fn).has_infinity());
static_assert(format(Format::e5m2).max_finite() == 57344 &&
              format(Format::e5m2).max_code() == 0x7B);
static_assert(format(Format::e5m2).min_normal() == 0x1p-14 &&
              format(Format::e5m2).min_positive() == 0x1p-16);
static_assert(format(Format::e5m2).infinity_code() == 0x7C &&
              format(Format::e5m2).nan_code() == 0x7F);
static_assert(format(Format::e4m3fnuz).max_finite() == 240 &&
              format(Format::e4m3fnuz).max_code() == 0x7F);
static_assert(format(Format::e4m3fnuz).min_normal() == 0x1p-7 &&
              format(Format::e4m3fnuz).min_positive() == 0x1p-10);
static_assert(format(Format::e4m3fnuz).nan_code() == 0x80);
static_assert(format(Format::e5m2fnuz).max_finite() == 57344 &&
              format(Format::e5m2fnuz).max_code() == 0x7F);
static_assert(format(Format::e5m2fnuz).min_normal() == 0x1p-15 &&
              format(Format::e5m2fnuz).min_positive() == 0x1p-17);
static_assert(format(Format::e3m2).max_finite() == 28 &&
              format(Format::e3m2).min_positive() == 0.0625);
static_assert(format(Format::e2m3).max_finite() == 7.5 &&
              format(Format::e2m3).min_positive() == 0.125);
static_assert(format(Format::e2m1).max_finite() == 6 && format(Format::e2m1).min_positive() == 0.5);
static_assert(format(Format::e8m0).max_finite() == 0x1p127 &&
              format(Format::e8m0).max_code() == 0xFE);
static_assert(format(Format::e8m0).min_positive() == 0x1p-127 &&
              format(Format::e8m0).nan_code() == 0xFF);

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < std::size(kNumberFormats); ++i) {
    if (kNumberFormats[i].id != static_cast<Format>(i)) return false;
  }
  return true;
}
static_assert(table_is_in_order(), "Format names the rows of kNumberFormats by position");

}  // namespace tally::model
