#pragma once

// Conversions between f32 and narrower formats in integer arithmetic: what devices without the
// instruction use, and the emulator. Written apart from reference/convert.h on purpose.

#include "kernels/device.h"
#include "model/conversion.h"
#include "model/number_format.h"

namespace tally::kernels {

/// The numbers of a format that device code needs, as compile-time integers.
template <model::Format F>
struct FormatFacts {
  static constexpr model::NumberFormat kFormat = model::format(F);
  static constexpr int kFractionBits = kFormat.fraction_bits;
  static constexpr int kExponentBits = kFormat.exponent_bits;
  static constexpr int kShift = 23 - kFractionBits;  // f32 fraction bits that do not fit
  static constexpr std::uint32_t kRebias = std::uint32_t(127 - kFormat.bias) << 23;
  // 1.5 subnormal spacings below this power of two an f32 has the format's subnormal spacing.
  static constexpr std::uint32_t kSubnormalMagic =
      std::uint32_t(127 + kFormat.min_exponent() - kFractionBits + 23) << 23;
  static constexpr std::uint32_t kMinNormalBits = std::uint32_t(127 + kFormat.min_exponent()) << 23;
  static constexpr std::uint32_t kMaxCode = kFormat.max_code();
  static constexpr std::uint32_t kNanCode = kFormat.nan_code();
  static constexpr std::uint32_t kSignMask = kFormat.sign_mask();
  static constexpr bool kHasInfinity = kFormat.has_infinity();
  static constexpr bool kMinusZeroIsNan = kFormat.minus_zero == model::MinusZero::nan;
  static constexpr bool kOneNan = kFormat.top == model::TopCodes::one_nan;
  static constexpr float kMinPositive = static_cast<float>(kFormat.min_positive());
  static_assert(kFormat.sign_bits == 1 && kFormat.has_nan());
};

/// The code of x: nearest-even, `beyond` above the largest finite value and for infinity.
/// NaN gives the format's NaN with the sign kept, where the format has signed NaNs.
template <model::Format F, model::Beyond beyond>
TALLY_DEVICE std::uint32_t software_encode(float x) {
  using Facts = FormatFacts<F>;
  const std::uint32_t magnitude = bits_of(x) & 0x7FFF'FFFFu;
  const std::uint32_t sign = (bits_of(x) >> 31) != 0 ? Facts::kSignMask : 0;
  if (magnitude > 0x7F80'0000u) {
    return Facts::kMinusZeroIsNan ? Facts::kNanCode : sign | Facts::kNanCode;
  }

  std::uint32_t code;
  if (magnitude < Facts::kMinNormalBits) {
    // Adding a power of two whose spacing is the subnormals' lets the adder round.
    const float rounded = float_of(magnitude) + float_of(Facts::kSubnormalMagic);
    code = bits_of(rounded) - Facts::kSubnormalMagic;
  } else {
    const std::uint32_t half_less_one = (1u << (Facts::kShift - 1)) - 1;
    const std::uint32_t odd = (magnitude >> Facts::kShift) & 1;
    code = (magnitude - Facts::kRebias + half_less_one + odd) >> Facts::kShift;
    if (code > Facts::kMaxCode) {
      if (beyond == model::Beyond::max_finite) {
        code = Facts::kMaxCode;
      } else if (Facts::kHasInfinity) {
        code = Facts::kMaxCode + 1;
      } else {
        return Facts::kMinusZeroIsNan ? Facts::kNanCode : sign | Facts::kNanCode;
      }
    }
  }
  if (Facts::kMinusZeroIsNan && code == 0) return 0;
  return sign | code;
}

/// The exact value of a code; NaN codes give a quiet NaN.
template <model::Format F>
TALLY_DEVICE float software_decode(std::uint32_t code) {
  using Facts = FormatFacts<F>;
  const std::uint32_t magnitude = code & (Facts::kSignMask - 1);
  const std::uint32_t sign = (code & Facts::kSignMask) != 0 ? 0x8000'0000u : 0;
  if (Facts::kMinusZeroIsNan && code == Facts::kSignMask) return float_of(0x7FC0'0000u);
  if (Facts::kOneNan && magnitude > Facts::kMaxCode) return float_of(sign | 0x7FC0'0000u);
  if (Facts::kHasInfinity && magnitude > Facts::kMaxCode) {
    const std::uint32_t quiet = magnitude > Facts::kMaxCode + 1 ? 0x0040'0000u : 0;
    return float_of(sign | 0x7F80'0000u | quiet);
  }
  const std::uint32_t normal = (magnitude << Facts::kShift) + Facts::kRebias;
  if (Facts::kRebias == 0 || (magnitude >> Facts::kFractionBits) != 0) {
    return float_of(sign | normal);
  }
  return float_of(sign | bits_of(static_cast<float>(magnitude) * Facts::kMinPositive));
}

/// Four codes of a one-byte format in one 32-bit word, lowest byte first.
template <model::Format F, model::Beyond beyond>
struct SoftwareConvert {
  TALLY_DEVICE static std::uint32_t encode4(const float (&x)[4]) {
    std::uint32_t codes = 0;
    for (int i = 0; i < 4; ++i) codes |= software_encode<F, beyond>(x[i]) << (8 * i);
    return codes;
  }
  TALLY_DEVICE static void decode4(std::uint32_t codes, float (&x)[4]) {
    for (int i = 0; i < 4; ++i) x[i] = software_decode<F>((codes >> (8 * i)) & 0xFF);
  }
};

}  // namespace tally::kernels
