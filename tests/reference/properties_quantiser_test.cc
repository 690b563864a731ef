// Goal: the conversions to one-byte formats have the properties that follow from the definition of
// rounding to nearest, and the properties can be broken.
// Method: RapidCheck draws f32 bits, half of them any and half next to the edges of the format;
// the encoder is a parameter. Encoders with one fault each have to be rejected.

#include <rapidcheck.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "reference/convert.h"
#include "reference/convert_spec.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::reference {
namespace {

using model::Format;
using model::kAsFormat;
using model::kSaturate;
using model::NumberFormat;
using model::Overflow;
using model::Rounding;

constexpr std::array kOneByte = {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz, Format::e5m2fnuz};

/// The code of x, nearest-even.
using Quantiser = std::function<std::uint32_t(Format, float, Overflow)>;

/// Two inputs, of which some properties need only one.
struct Inputs {
  Format id;
  Overflow overflow;
  float x, y;
};

bool is_finite(Format id, std::uint32_t code) { return std::isfinite(decode_spec(id, code)); }

bool is_idempotent(const Quantiser& q, const Inputs& in) {
  const std::uint32_t code = q(in.id, in.x, in.overflow);
  const auto value = static_cast<float>(decode_spec(in.id, code));
  const std::uint32_t again = q(in.id, value, in.overflow);
  return again == code || (std::isnan(value) && !is_finite(in.id, again));
}

/// Where both results are numbers: overflow to NaN has no place in the order.
bool is_monotone(const Quantiser& q, const Inputs& in) {
  if (std::isnan(in.x) || std::isnan(in.y)) return true;
  const double low = decode_spec(in.id, q(in.id, std::min(in.x, in.y), in.overflow));
  const double high = decode_spec(in.id, q(in.id, std::max(in.x, in.y), in.overflow));
  return std::isnan(low) || std::isnan(high) || low <= high;
}

bool is_symmetric(const Quantiser& q, const Inputs& in) {
  const NumberFormat& f = model::format(in.id);
  const std::uint32_t code = q(in.id, in.x, in.overflow);
  const bool has_no_sign =
      f.minus_zero == model::MinusZero::nan && (code == 0 || code == f.nan_code());
  return q(in.id, -in.x, in.overflow) == (has_no_sign ? code : code ^ f.sign_mask());
}

bool scales_by_two(const Quantiser& q, const Inputs& in) {
  const NumberFormat& f = model::format(in.id);
  const double size = std::fabs(static_cast<double>(in.x));
  if (!(size >= f.min_normal() && 2 * size <= f.max_finite())) return true;
  return decode_spec(in.id, q(in.id, 2 * in.x, in.overflow)) ==
         2 * decode_spec(in.id, q(in.id, in.x, in.overflow));
}

/// Saturating and not agree on the values that round to finite ones, and on no others but NaN.
bool saturates_beyond(const Quantiser& q, const Inputs& in) {
  const NumberFormat& f = model::format(in.id);
  const double above = model::power_of_two(f.max_exponent() - f.fraction_bits - 1);
  const double size = std::fabs(static_cast<double>(in.x)), omega = f.max_finite() + above;
  const bool is_within = size < omega || (size == omega && f.max_code() % 2 == 0);
  const std::uint32_t code = q(in.id, in.x, kAsFormat), saturated = q(in.id, in.x, kSaturate);
  if (std::isnan(in.x)) return !is_finite(in.id, code) && !is_finite(in.id, saturated);
  return (code == saturated) == is_within && is_finite(in.id, saturated);
}

/// No finite code is nearer, and of two equally near ones it is the even one. |v - x| < |c - x| is
/// decided as 2 x being on v's side of v + c, which is exact in double.
bool is_nearest(const Quantiser& q, const Inputs& in) {
  if (std::isnan(in.x)) return true;
  const std::uint32_t code = q(in.id, in.x, kSaturate);
  const double c = decode_spec(in.id, code), twice = 2 * static_cast<double>(in.x);
  for (std::uint32_t other = 0; other < 256; ++other) {
    const double v = decode_spec(in.id, other);
    if (std::isnan(v) || std::isinf(v) || v == c) continue;
    if (v < c ? twice < v + c : twice > v + c) return false;
    if (twice == v + c && code % 2 == 1) return false;
  }
  return true;
}

struct QuantiserProperty {
  const char* claim;
  bool (*holds)(const Quantiser&, const Inputs&);
};
constexpr QuantiserProperty kProperties[] = {
    {"leaves what it rounded as it is", is_idempotent},
    {"keeps order", is_monotone},
    {"does with -x what it does with x", is_symmetric},
    {"commutes with doubling while the numbers are normal", scales_by_two},
    {"saturates just beyond the overflow threshold", saturates_beyond},
    {"takes the nearest of all 256 codes, and the even one of two", is_nearest},
};

/// f32 bits: half any, half within two places of an edge of the format.
rc::Gen<std::uint32_t> f32_bits(Format id) {
  const NumberFormat& f = model::format(id);
  const double step = model::power_of_two(f.max_exponent() - f.fraction_bits - 1);
  std::vector<std::uint32_t> edges = {0, 0x0080'0000, 0x7F80'0000, 0x7FC0'0000};
  for (const double edge : {f.min_positive(), f.min_positive() / 2, f.min_normal(), f.max_finite(),
                            f.max_finite() + step, f.max_finite() + 2 * step, 17.0, 18.0, 1.0}) {
    edges.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(edge)));
  }
  const auto any =
      rc::gen::resize(rc::kNominalSize,
                      rc::gen::map(rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 32),
                                   [](std::uint64_t x) { return static_cast<std::uint32_t>(x); }));
  const auto near = rc::gen::apply(
      [](std::uint32_t edge, int beside, bool is_negative) {
        return (edge + beside) ^ (is_negative ? 1u << 31 : 0);
      },
      rc::gen::elementOf(edges), rc::gen::resize(rc::kNominalSize, rc::gen::inRange(-2, 3)),
      rc::gen::arbitrary<bool>());
  return rc::gen::oneOf(any, near);
}

Inputs any_inputs() {
  Inputs in;
  in.id = *rc::gen::elementOf(kOneByte).as("format");
  in.overflow = *rc::gen::arbitrary<bool>().as("saturates") ? kSaturate : kAsFormat;
  in.x = std::bit_cast<float>(*f32_bits(in.id).as("bits of x"));
  in.y = std::bit_cast<float>(*f32_bits(in.id).as("bits of y"));
  return in;
}

std::uint32_t fast(Format id, float x, Overflow overflow) {
  return encode(id, x, Rounding::nearest_even, overflow);
}
std::uint32_t spec(Format id, float x, Overflow overflow) {
  return encode_spec(id, x, Rounding::nearest_even, overflow);
}

struct Broken {
  const char* fault;
  Quantiser quantiser;
  std::size_t rejected_by;  // the place among kProperties
};

const Broken kBroken[] = {
    {"adds one code each time",
     [](Format id, float x, Overflow o) {
       const std::uint32_t code = fast(id, x, o);
       return std::fabs(x) >= 1 && std::fabs(x) < 2 ? code + 1 : code;
     },
     0},
    {"makes tiny values large (ROCm/rocm-systems#10591)",
     [](Format id, float x, Overflow o) {
       return fast(id, x != 0 && std::fabs(x) < 0x1p-30f ? std::copysign(1.0f, x) : x, o);
     },
     1},
    {"rounds towards +infinity",
     [](Format id, float x, Overflow o) { return encode(id, x, Rounding::toward_positive, o); }, 2},
    {"flushes normal numbers below twice the smallest",
     [](Format id, float x, Overflow o) {
       const bool is_small = std::fabs(x) < 2 * model::format(id).min_normal();
       return fast(id, is_small ? std::copysign(0.0f, x) : x, o);
     },
     3},
    {"overflows above the largest value, not above half a step more",
     [](Format id, float x, Overflow o) {
       return fast(id, std::fabs(x) > model::format(id).max_finite() ? 2 * x : x, o);
     },
     4},
    {"saturates always", [](Format id, float x, Overflow) { return fast(id, x, kSaturate); }, 4},
    {"truncates",
     [](Format id, float x, Overflow o) { return encode(id, x, Rounding::toward_zero, o); }, 5},
    {"rounds ties away from zero",
     [](Format id, float x, Overflow o) { return encode(id, x, Rounding::nearest_up, o); }, 5},
    {"rounds to bf16 first (triton-lang/triton#10846)",
     [](Format id, float x, Overflow o) {
       std::array<float, 1> twice = {x};
       round_array(Format::bf16, twice);
       return fast(id, twice[0], o);
     },
     5},
};

bool holds(const QuantiserProperty& property, const Quantiser& quantiser) {
  rc::detail::TestParams params;
  params.maxSuccess = 20000;
  params.seed = 1;
  params.disableShrinking = true;
  const auto check = [&] { RC_ASSERT(property.holds(quantiser, any_inputs())); };
  return rc::detail::checkTestable(check, rc::detail::TestMetadata(), params)
      .is<rc::detail::SuccessResult>();
}

}  // namespace

TEST_CASE("an encoder", "[reference]") {
  for (const QuantiserProperty& property : kProperties) {
    test::property(property.claim, [&] { RC_ASSERT(property.holds(fast, any_inputs())); });
    test::property(property.claim, [&] { RC_ASSERT(property.holds(spec, any_inputs())); });
  }
}

TEST_CASE("every property of an encoder rejects encoders that break it", "[reference]") {
  std::array<bool, std::size(kProperties)> has_rejected{};
  for (const Broken& broken : kBroken) {
    INFO(broken.fault << " | " << kProperties[broken.rejected_by].claim);
    CHECK_FALSE(holds(kProperties[broken.rejected_by], broken.quantiser));
    has_rejected[broken.rejected_by] = true;
  }
  for (const bool one : has_rejected) CHECK(one);
}

TEST_CASE("the generator of f32 bits reaches every class", "[reference]") {
  std::array<int, 5> reached{};
  const auto count = [&] {
    const std::uint32_t bits = *f32_bits(Format::e4m3fn);
    ++reached[static_cast<std::size_t>(model::format(Format::f32).classify(bits))];
  };
  rc::detail::TestParams params;
  params.maxSuccess = 5000;
  params.seed = 1;
  rc::detail::checkTestable(count, rc::detail::TestMetadata(), params);
  for (const int times : reached) CHECK(times >= 20);
}

}  // namespace tally::reference
