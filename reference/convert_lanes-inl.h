// The conversions of a vector's lanes, for the sources that are compiled once for each instruction
// set that Highway knows. One template serves all formats; what it needs of a format is constant
// in it. Include after hwy/foreach_target.h.

#if defined(TALLY_CONVERT_LANES) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef TALLY_CONVERT_LANES
#undef TALLY_CONVERT_LANES
#else
#define TALLY_CONVERT_LANES
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "model/number_format.h"

HWY_BEFORE_NAMESPACE();
namespace tally::reference::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using model::BottomCodes;
using model::Format;
using model::MinusZero;
using model::NumberFormat;
using model::TopCodes;

using Floats = hn::ScalableTag<float>;
using Words = hn::ScalableTag<std::uint32_t>;
using SignedWords = hn::ScalableTag<std::int32_t>;
using FloatLanes = hn::Vec<Floats>;
using WordLanes = hn::Vec<Words>;

inline constexpr const NumberFormat& kF32 = model::format(Format::f32);

/// The codes that stand for values beyond the largest finite one, without sign.
struct BeyondCodes {
  std::uint32_t finite, infinity;
};

/// What conversion between f32 and a format needs to know of it.
template <Format kId>
struct Constants {
  static constexpr const NumberFormat& f = model::format(kId);
  /// How many fraction bits f32 has more.
  static constexpr int kDrop = kF32.fraction_bits - f.fraction_bits;
  /// From the exponent field of the format to that of f32, in place.
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(kF32.bias - f.bias);
  /// Subnormals of the format are subnormals of f32, and need no care of their own.
  static constexpr bool kSameExponents = f.bias == kF32.bias;
  static constexpr bool kIsScale = f.bottom == BottomCodes::normal;
  static constexpr int kSignShift = f.sign_bits == 0 ? 0 : 32 - f.width();
  /// The f32 whose last place is the spacing of the format's subnormals: adding it to a subnormal
  /// rounds that, and the sum's last bits then count such spacings.
  static constexpr float kAligner =
      kSameExponents ? 0.0f : static_cast<float>(model::power_of_two(kDrop + f.min_exponent()));
  static constexpr std::uint32_t kAlignerBits = std::bit_cast<std::uint32_t>(kAligner);
  static constexpr std::uint32_t kMinNormalBits =
      std::bit_cast<std::uint32_t>(static_cast<float>(f.min_normal()));
  /// What storage holds: the smallest unsigned integer of that many bytes.
  using Code = std::conditional_t<f.bytes() == 1, std::uint8_t,
                                  std::conditional_t<f.bytes() == 2, std::uint16_t, std::uint32_t>>;
};

/// a > b as integers; both are below 2^31.
HWY_INLINE hn::Mask<Words> is_above(WordLanes a, WordLanes b) {
  const SignedWords ds;
  return hn::RebindMask(Words(), hn::Gt(hn::BitCast(ds, a), hn::BitCast(ds, b)));
}

/// Round to nearest even of f32 bits without sign, to a code whose exponent is unbounded above.
template <Format kId>
HWY_INLINE WordLanes round_lanes(WordLanes magnitude) {
  using C = Constants<kId>;
  const Words d;
  if constexpr (C::kDrop == 0) {
    return magnitude;
  } else {
    // Adding all but one half of the last place, and one more where the kept part is odd.
    const auto odd = hn::And(hn::ShiftRight<C::kDrop>(magnitude), hn::Set(d, 1));
    const auto half = hn::Set(d, (std::uint32_t{1} << (C::kDrop - 1)) - 1);
    const auto rounded = hn::ShiftRight<C::kDrop>(hn::Add(magnitude, hn::Add(half, odd)));
    if constexpr (C::kIsScale) {
      // Below 2^-126, where f32 is linear: code 1 from above the middle of 2^-127 and 2^-126.
      const auto is_linear = is_above(hn::Set(d, kF32.fraction_mask() + 1), magnitude);
      const auto middle = hn::Set(d, std::uint32_t{3} << (kF32.fraction_bits - 2));
      const auto one = hn::IfThenElseZero(is_above(magnitude, middle), hn::Set(d, 1));
      return hn::IfThenElse(is_linear, one, rounded);
    } else if constexpr (C::kSameExponents) {
      return rounded;
    } else {
      const auto normal = hn::Sub(rounded, hn::Set(d, C::kRebias << C::f.fraction_bits));
      const auto sum = hn::Add(hn::BitCast(Floats(), magnitude), hn::Set(Floats(), C::kAligner));
      const auto subnormal = hn::Sub(hn::BitCast(d, sum), hn::Set(d, C::kAlignerBits));
      const auto is_small = is_above(hn::Set(d, C::kMinNormalBits), magnitude);
      return hn::IfThenElse(is_small, subnormal, normal);
    }
  }
}

template <Format kId>
HWY_INLINE WordLanes encode_lanes(FloatLanes x, BeyondCodes beyond) {
  using C = Constants<kId>;
  constexpr const NumberFormat& f = C::f;
  const Words d;
  const auto bits = hn::BitCast(d, x);
  const auto magnitude = hn::And(bits, hn::Set(d, ~kF32.sign_mask()));
  auto sign = hn::And(hn::ShiftRight<C::kSignShift>(bits), hn::Set(d, f.sign_mask()));

  auto code = round_lanes<kId>(magnitude);
  code = hn::IfThenElse(is_above(code, hn::Set(d, f.max_code())), hn::Set(d, beyond.finite), code);
  code = hn::IfThenElse(is_above(magnitude, hn::Set(d, kF32.max_code())),
                        hn::Set(d, beyond.infinity), code);
  const auto is_nan = is_above(magnitude, hn::Set(d, kF32.infinity_code()));
  if constexpr (f.has_nan()) {
    code = hn::IfThenElse(is_nan, hn::Set(d, f.nan_code()), code);
  } else {
    code = hn::IfThenElse(is_nan, hn::Set(d, f.max_code()), code);
    sign = hn::IfThenZeroElse(is_nan, sign);
  }
  if constexpr (f.minus_zero == MinusZero::nan) {
    sign = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(d)), sign);
  }
  if constexpr (f.sign_bits == 0) {
    const auto is_negative = hn::Gt(bits, hn::Set(d, kF32.sign_mask()));
    return hn::IfThenElse(is_negative, hn::Set(d, f.nan_code()), code);
  }
  return hn::Or(code, sign);
}

template <Format kId>
HWY_INLINE FloatLanes decode_lanes(WordLanes code) {
  using C = Constants<kId>;
  constexpr const NumberFormat& f = C::f;
  const Words d;
  const auto magnitude = hn::And(code, hn::Set(d, f.code_mask() & ~f.sign_mask()));
  const auto sign = hn::ShiftLeft<C::kSignShift>(hn::And(code, hn::Set(d, f.sign_mask())));

  auto bits = hn::ShiftLeft<C::kDrop>(magnitude);
  if constexpr (C::kIsScale) {
    const auto smallest = hn::Set(d, std::uint32_t{1} << (kF32.fraction_bits - 1));  // 2^-127
    bits = hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), smallest, bits);
  } else if constexpr (!C::kSameExponents) {
    bits = hn::Add(bits, hn::Set(d, C::kRebias << kF32.fraction_bits));
    const auto aligned = hn::BitCast(Floats(), hn::Or(magnitude, hn::Set(d, C::kAlignerBits)));
    const auto subnormal = hn::BitCast(d, hn::Sub(aligned, hn::Set(Floats(), C::kAligner)));
    const auto is_small = is_above(hn::Set(d, f.fraction_mask() + 1), magnitude);
    bits = hn::IfThenElse(is_small, subnormal, bits);
  }
  const auto nan = hn::Set(d, kF32.nan_code());
  if constexpr (f.top == TopCodes::ieee) {
    if constexpr (!C::kSameExponents) {
      bits = hn::IfThenElse(is_above(magnitude, hn::Set(d, f.max_code())),
                            hn::Set(d, kF32.infinity_code()), bits);
    }
    bits = hn::IfThenElse(is_above(magnitude, hn::Set(d, f.infinity_code())), nan, bits);
  }
  if constexpr (f.top == TopCodes::one_nan) {
    bits = hn::IfThenElse(hn::Eq(magnitude, hn::Set(d, f.nan_code())), nan, bits);
  }
  bits = hn::Or(bits, sign);
  if constexpr (f.minus_zero == MinusZero::nan) {
    bits = hn::IfThenElse(hn::Eq(code, hn::Set(d, f.sign_mask())), nan, bits);
  }
  return hn::BitCast(Floats(), bits);
}

template <class Code>
HWY_INLINE void store_codes(WordLanes codes, Code* to) {
  const hn::Rebind<Code, Words> d;
  if constexpr (sizeof(Code) == 4) {
    hn::StoreU(codes, Words(), to);
  } else {
    hn::StoreU(hn::DemoteTo(d, hn::BitCast(SignedWords(), codes)), d, to);
  }
}

template <class Code>
HWY_INLINE WordLanes load_codes(const Code* from) {
  const hn::Rebind<Code, Words> d;
  if constexpr (sizeof(Code) == 4) {
    return hn::LoadU(Words(), from);
  } else {
    return hn::PromoteTo(Words(), hn::LoadU(d, from));
  }
}

}  // namespace tally::reference::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
