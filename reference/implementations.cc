#include "reference/implementations.h"

#include <bit>
#include <cmath>
#include <limits>

#include "model/check.h"
#include "reference/convert.h"

namespace tally::reference {

using model::Beyond;
using model::Format;
using model::kAsFormat;
using model::kSaturate;
using model::NumberFormat;
using model::Overflow;
using model::Rounding;

namespace {

constexpr FormatSet kOcp8 = formats(Format::e4m3fn, Format::e5m2);
constexpr FormatSet kFnuz8 = formats(Format::e4m3fnuz, Format::e5m2fnuz);
constexpr FormatSet kFloat8 = kOcp8 | kFnuz8;
constexpr FormatSet kSmall = formats(Format::e3m2, Format::e2m3, Format::e2m1);
constexpr FormatSet kScale = formats(Format::e8m0);

/// Finite values saturate, infinity stays what the format has for it.
constexpr Overflow kSaturateFinite{Beyond::max_finite, Beyond::special};

constexpr Implementation kImplementations[] = {
    {.name = "ofp8_sat",
     .source = "OCP OFP8 1.0, section 5.2, table 3, SAT",
     .evidence = Evidence::defined,
     .covers = kOcp8,
     .rounding = Rounding::nearest_even,
     .overflow = kSaturate},
    {.name = "ofp8_nonsat",
     .source = "OCP OFP8 1.0, section 5.2, table 3, NONSAT",
     .evidence = Evidence::defined,
     .covers = kOcp8,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat},
    // Infinity under OVFL=1 is as the ISA's table has it; a third party's note contradicts it.
    {.name = "gfx950_ovfl1",
     .source = "AMD CDNA4 ISA, section 7.3, MODE.FP16_OVFL = 1",
     .evidence = Evidence::read,
     .covers = kOcp8,
     .rounding = Rounding::nearest_even,
     .overflow = kSaturate},
    {.name = "gfx950_ovfl0",
     .source = "AMD CDNA4 ISA, section 7.3, MODE.FP16_OVFL = 0",
     .evidence = Evidence::read,
     .covers = kOcp8,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat},
    {.name = "gfx942_ovfl1",
     .source = "AMD CDNA3 ISA, section 12.11, MODE.FP16_OVFL = 1",
     .evidence = Evidence::read,
     .covers = kFnuz8,
     .rounding = Rounding::nearest_even,
     .overflow = kSaturate},
    {.name = "gfx942_ovfl0",
     .source = "AMD CDNA3 ISA, section 12.11, MODE.FP16_OVFL = 0",
     .evidence = Evidence::read,
     .covers = kFnuz8,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat},
    // Clamps with a median of three before the hardware conversion, but not infinity and NaN.
    {.name = "hip_device_satfinite",
     .source = "ROCm/clr, amd_hip_fp8.h, device path, __HIP_SATFINITE",
     .evidence = Evidence::read,
     .covers = kFloat8,
     .rounding = Rounding::nearest_even,
     .overflow = kSaturateFinite},
    {.name = "hip_device_nosat",
     .source = "ROCm/clr, amd_hip_fp8.h, device path, __HIP_NOSAT",
     .evidence = Evidence::read,
     .covers = kFloat8,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat},
    {.name = "hip_host_satfinite",
     .source = "ROCm/clr, amd_hip_fp8.h, cast_to_f8 with clip; ROCm/rocm-systems#10591",
     .evidence = Evidence::measured,
     .covers = kFloat8,
     .rounding = Rounding::nearest_even,
     .overflow = kSaturateFinite,
     .overflow_test = OverflowTest::before_rounding,
     .tiny_shift = TinyShift::modulo_64},
    {.name = "hip_host_nosat",
     .source = "ROCm/clr, amd_hip_fp8.h, cast_to_f8 without clip; ROCm/rocm-systems#10591",
     .evidence = Evidence::measured,
     .covers = kFloat8,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat,
     .overflow_test = OverflowTest::before_rounding,
     .tiny_shift = TinyShift::modulo_64},
    {.name = "nvidia_cvt_satfinite",
     .source = "NVIDIA PTX ISA, cvt.rn.satfinite; FP6 and FP4 NaN: NVIDIA/cccl, overflow_cast",
     .evidence = Evidence::read,
     .covers = kOcp8 | kSmall,
     .rounding = Rounding::nearest_even,
     .overflow = kSaturate,
     .nan = NanCode::positive},
    {.name = "nvidia_host_nosat",
     .source = "NVIDIA cuda_fp8.hpp, host path, __NV_NOSAT",
     .evidence = Evidence::read,
     .covers = kOcp8,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat},
    {.name = "nvidia_ue8m0_rp",
     .source = "NVIDIA PTX ISA, cvt.rp.satfinite.ue8m0x2.f32",
     .evidence = Evidence::read,
     .covers = kScale,
     .rounding = Rounding::toward_positive,
     .overflow = kSaturate},
    {.name = "nvidia_ue8m0_rz",
     .source = "NVIDIA PTX ISA, cvt.rz.satfinite.ue8m0x2.f32",
     .evidence = Evidence::read,
     .covers = kScale,
     .rounding = Rounding::toward_zero,
     .overflow = kSaturate},
    {.name = "ml_dtypes",
     .source = "jax-ml/ml_dtypes, float8.h and mxfloat.h",
     .evidence = Evidence::measured,
     .covers = kFloat8 | kSmall,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat,
     .nan = NanCode::top_fraction,
     .no_nan = NoNan::minus_zero},
    {.name = "ml_dtypes_saturate",
     .source = "jax-ml/ml_dtypes, float8.h and mxfloat.h, kSaturate",
     .evidence = Evidence::measured,
     .covers = kFloat8 | kSmall,
     .rounding = Rounding::nearest_even,
     .overflow = kSaturateFinite,
     .nan = NanCode::top_fraction,
     .no_nan = NoNan::minus_zero},
    // Version 0.6.0 gives 2^-126 for everything between 2^-127 and that.
    {.name = "ml_dtypes_e8m0",
     .source = "jax-ml/ml_dtypes, float8.h, float8_e8m0fnu",
     .evidence = Evidence::measured,
     .covers = kScale,
     .rounding = Rounding::nearest_up,
     .overflow = kAsFormat,
     .scale_zero = ScaleZero::nan,
     .scale_bottom = ScaleBottom::up},
    {.name = "ml_dtypes_saturate_e8m0",
     .source = "jax-ml/ml_dtypes, float8.h, float8_e8m0fnu, kSaturate",
     .evidence = Evidence::read,
     .covers = kScale,
     .rounding = Rounding::nearest_up,
     .overflow = kSaturate,
     .scale_bottom = ScaleBottom::up},
    {.name = "torch_2_11",
     .source = "pytorch/pytorch 2.11, torch/headeronly/util/Float8_*.h",
     .evidence = Evidence::read,
     .covers = kFloat8,
     .rounding = Rounding::nearest_even,
     .overflow = kAsFormat},
    // That infinity is still NaN here is believed; that finite values saturate was read.
    {.name = "torch_2_13",
     .source = "pytorch/pytorch#178817",
     .evidence = Evidence::believed,
     .covers = formats(Format::e4m3fn),
     .rounding = Rounding::nearest_even,
     .overflow = kSaturateFinite},
    {.name = "torch_e8m0",
     .source = "pytorch/pytorch, torch/headeronly/util/Float8_e8m0fnu.h",
     .evidence = Evidence::read,
     .covers = kScale,
     .rounding = Rounding::nearest_up,
     .overflow = kAsFormat,
     .scale_sign = ScaleSign::ignored},
};

std::uint32_t nan_as(const Implementation& as, const NumberFormat& f, bool negative) {
  if (!f.has_nan()) {
    if (as.no_nan == NoNan::max_finite) return f.max_code();
    return negative ? 0 : f.sign_mask();
  }
  if (f.minus_zero == model::MinusZero::nan) return f.nan_code();
  const std::uint32_t sign = negative ? f.sign_mask() : 0;
  if (as.nan == NanCode::positive) return f.nan_code();
  if (as.nan == NanCode::top_fraction && f.top == model::TopCodes::ieee) {
    return f.infinity_code() | (std::uint32_t{1} << (f.fraction_bits - 1)) | sign;
  }
  return f.nan_code() | sign;
}

/// What a shift by `distance` modulo 64 makes of a value that should come out zero, as g++ 12 -O2
/// compiles cast_to_f8 for x86 (the C++ standard leaves it undefined): the significand, which
/// should have gone, is rounded as if it had moved by the rest only. A carry out of it is lost.
std::uint32_t shifted_modulo_64(const NumberFormat& f, std::uint32_t significand, int distance) {
  const int drop = model::format(Format::f32).fraction_bits - f.fraction_bits + distance % 64;
  if (drop > 30) return 0;
  const std::uint32_t kept = significand >> drop;
  const std::uint32_t rest = significand & ((std::uint32_t{1} << drop) - 1);
  const std::uint32_t half = std::uint32_t{1} << (drop - 1);
  const bool up = rest > half || (rest == half && kept % 2 == 1);
  return (kept + up) & (2 * f.fraction_mask() + 1);
}

}  // namespace

std::span<const Implementation> implementations() { return kImplementations; }

const Implementation* find_implementation(std::string_view name) {
  for (const Implementation& row : kImplementations) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::uint32_t encode_as(const Implementation& as, Format id, float x) {
  TALLY_CHECK(covers(as, id), "an implementation without that format");
  const NumberFormat& f = model::format(id);
  const bool negative = std::signbit(x);
  if (std::isnan(x)) return nan_as(as, f, negative);
  if (f.sign_bits == 0) {
    if (x == 0 && as.scale_zero == ScaleZero::nan) return f.nan_code();
    if (as.scale_sign == ScaleSign::ignored) x = std::fabs(x);
    if (as.scale_bottom == ScaleBottom::up && x > f.min_positive() && x < 2 * f.min_positive()) {
      return 1;
    }
  }
  if (as.overflow_test == OverflowTest::before_rounding && !std::isinf(x) &&
      std::fabs(x) > f.max_finite()) {
    // Beyond every covered format's range.
    x = std::copysign(std::numeric_limits<float>::max(), x);
  }
  if (as.tiny_shift == TinyShift::modulo_64) {
    constexpr const NumberFormat& kF32 = model::format(Format::f32);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    const int field = static_cast<int>(kF32.exponent_field(bits));
    const int distance = f.min_exponent() - (field - kF32.bias);
    if (field > 0 && distance >= 64) {
      const std::uint32_t hidden_bit = std::uint32_t{1} << kF32.fraction_bits;
      const std::uint32_t code =
          shifted_modulo_64(f, kF32.fraction_field(bits) | hidden_bit, distance);
      // Zero has its sign where the format has a minus zero; other codes keep theirs.
      const bool signless = code == 0 && f.minus_zero == model::MinusZero::nan;
      return negative && !signless ? code | f.sign_mask() : code;
    }
  }
  return encode(id, x, as.rounding, as.overflow);
}

}  // namespace tally::reference
