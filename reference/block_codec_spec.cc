#include "reference/block_codec_spec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/check.h"
#include "reference/convert_spec.h"

namespace tally::reference {

using model::Format;
using model::NumberFormat;
using model::Rounding;
using model::Wire;

namespace {

constexpr int kMinScaleExponent = -127, kMaxScaleExponent = 127;  // OCP MX 1.0, 5.4.1

/// A double that any rounding to at most 24 bits takes where it would take the exact a / b: the
/// quotient's first 39 bits or more, and a last one that says whether anything follows.
double quotient(float a, float b) {
  int a_exponent = 0, b_exponent = 0;
  const double a_fraction = std::frexp(std::fabs(a), &a_exponent);  // 0, or in [1/2, 1)
  const double b_fraction = std::frexp(std::fabs(b), &b_exponent);
  const auto dividend = static_cast<std::uint64_t>(std::ldexp(a_fraction, 24)) << 39;
  const auto divisor = static_cast<std::uint64_t>(std::ldexp(b_fraction, 24));
  const std::uint64_t anything_follows = dividend % divisor != 0 ? 1 : 0;
  const auto bits = static_cast<double>(dividend / divisor * 2 + anything_follows);
  const double magnitude = std::ldexp(bits, a_exponent - b_exponent - 40);
  return std::signbit(a) != std::signbit(b) ? -magnitude : magnitude;
}

/// amax / qmax, to the nearest value of the scale's format, at ties the even one; then within the
/// format's normal and finite range.
std::uint32_t amax_scale(const NumberFormat& scale, float amax, float qmax) {
  const std::uint32_t code =
      encode_spec(scale.id, quotient(amax, qmax), Rounding::nearest_even, model::kAsFormat);
  const double value = decode_spec(scale.id, code);
  const double clamped = std::clamp(value, scale.min_normal(), scale.max_finite());
  return encode_spec(scale.id, clamped, Rounding::nearest_even, model::kAsFormat);
}

/// OCP MX 1.0, section 6.3: the largest power of two not above the largest magnitude, divided by
/// the largest power of two of the element format.
int floor_exponent(double amax, const NumberFormat& element) {
  int exponent = kMinScaleExponent;
  while (exponent < kMaxScaleExponent &&
         std::ldexp(1.0, exponent + 1 + element.max_exponent()) <= amax) {
    ++exponent;
  }
  return exponent;
}

/// The smallest power of two X with amax <= qmax * X. (PTX ISA, cvt.rp.satfinite.ue8m0x2: rounding
/// up, here of amax / qmax.)
int rceil_exponent(double amax, const NumberFormat& element) {
  int exponent = kMinScaleExponent;
  while (exponent < kMaxScaleExponent && !(amax <= std::ldexp(element.max_finite(), exponent))) {
    ++exponent;
  }
  return exponent;
}

std::uint32_t load(const Wire& wire, std::span<const std::byte> scales, std::size_t block) {
  const int bytes = model::format(wire.scale).bytes();
  std::uint32_t code = 0;
  for (int i = bytes - 1; i >= 0; --i) {
    code = code << 8 | std::to_integer<std::uint32_t>(scales[block * bytes + i]);
  }
  return code;
}

void store(const Wire& wire, std::uint32_t code, std::span<std::byte> scales, std::size_t block) {
  const int bytes = model::format(wire.scale).bytes();
  for (int i = 0; i < bytes; ++i, code >>= 8) scales[block * bytes + i] = std::byte(code);
}

}  // namespace

std::uint32_t block_scale_spec(const Wire& wire, std::span<const float> block) {
  const NumberFormat &element = model::format(wire.format), &scale = model::format(wire.scale);
  float amax = 0;
  for (const float x : block) {
    // OCP MX 1.0, section 5: where the scale is NaN, all values of the block are NaN. What input
    // makes it NaN is left open there; here it is any NaN or infinity.
    if (!std::isfinite(x)) return scale.nan_code();
    amax = std::max(amax, std::fabs(x));
  }
  switch (wire.rule) {
    case model::ScaleRule::amax:
      return amax_scale(scale, amax, static_cast<float>(element.max_finite()));
    case model::ScaleRule::floor:
      return static_cast<std::uint32_t>(floor_exponent(amax, element) + scale.bias);
    case model::ScaleRule::rceil:
      return static_cast<std::uint32_t>(rceil_exponent(amax, element) + scale.bias);
  }
  model::check_failed(__FILE__, __LINE__, "not a scale rule");
}

std::uint32_t block_element_spec(const Wire& wire, float x, std::uint32_t scale) {
  if (model::format(wire.scale).is_nan(scale)) return 0;
  const double s = decode_spec(wire.scale, scale);
  // IEEE 754-2019, section 5.4.1: division is rounded once, from the exact quotient.
  const double y =
      decode_spec(Format::f32, encode_spec(Format::f32, quotient(x, static_cast<float>(s)),
                                           Rounding::nearest_even, model::kAsFormat));
  // OCP MX 1.0, section 6.3: what exceeds the largest normal value becomes that, sign kept.
  return encode_spec(wire.format, y, Rounding::nearest_even, model::kSaturate);
}

float block_value_spec(const Wire& wire, std::uint32_t code, std::uint32_t scale) {
  const NumberFormat& f32 = model::format(Format::f32);
  if (model::format(wire.scale).is_nan(scale)) return std::bit_cast<float>(f32.nan_code());
  // OCP MX 1.0, section 5: v = X * P. 24 bits times 4 are exact in double.
  const double product = decode_spec(wire.scale, scale) * decode_spec(wire.format, code);
  return std::bit_cast<float>(
      encode_spec(Format::f32, product, Rounding::nearest_even, model::kAsFormat));
}

void encode_blocks_spec(const Wire& wire, std::span<const float> x, std::span<std::byte> codes,
                        std::span<std::byte> scales) {
  const auto length = static_cast<std::size_t>(wire.length);
  for (std::size_t begin = 0; begin < x.size(); begin += length) {
    const auto block = x.subspan(begin, std::min(length, x.size() - begin));
    const std::uint32_t scale = block_scale_spec(wire, block);
    store(wire, scale, scales, begin / length);
    for (std::size_t i = 0; i < block.size(); ++i) {
      codes[begin + i] = std::byte(block_element_spec(wire, block[i], scale));
    }
  }
}

void decode_blocks_spec(const Wire& wire, std::span<const std::byte> codes,
                        std::span<const std::byte> scales, std::span<float> x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t scale = load(wire, scales, i / static_cast<std::size_t>(wire.length));
    x[i] = block_value_spec(wire, std::to_integer<std::uint32_t>(codes[i]), scale);
  }
}

}  // namespace tally::reference
