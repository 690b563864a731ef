// Goal: the comparison of encoders can fail, and rounding has the properties that it must have
// whatever the definition says.
// Method: encoders with one fault each, which the comparison has to reject; loops over all f32
// upper halves for order, symmetry and idempotence; for stochastic rounding all values of as many
// leading random bits as the mean depends on, so that it must come out exact.

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "reference/convert.h"
#include "reference/convert_spec.h"
#include "tests/reference/encoder_check.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Format;
using model::kAsFormat;
using model::kSaturate;
using model::NumberFormat;
using model::Overflow;
using model::Rounding;

constexpr Format kEightBits[] = {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz, Format::e5m2fnuz};

std::uint32_t nearest(Format id, float x, Overflow overflow = kAsFormat) {
  return encode(id, x, Rounding::nearest_even, overflow);
}

struct Fault {
  const char* name;
  std::uint32_t (*encode)(Format, float, Rounding, Overflow, std::uint32_t);
};

bool is_finite(Format id, std::uint32_t code) { return std::isfinite(decode(id, code)); }

const Fault kFaults[] = {
    {"truncates", [](Format id, float x, Rounding, Overflow overflow,
                     std::uint32_t) { return encode(id, x, Rounding::toward_zero, overflow); }},
    {"rounds ties away from zero",
     [](Format id, float x, Rounding, Overflow overflow, std::uint32_t) {
       return encode(id, x, Rounding::nearest_up, overflow);
     }},
    {"overflows above the largest finite value, not above half a step more",
     [](Format id, float x, Rounding, Overflow overflow, std::uint32_t) {
       const bool over = std::isfinite(x) && std::fabs(x) > model::format(id).max_finite();
       return nearest(id, over ? x * 2 : x, overflow);
     }},
    {"overflows one bf16 value late",
     [](Format id, float x, Rounding, Overflow overflow, std::uint32_t) {
       const std::uint32_t code = nearest(id, x, overflow);
       const std::uint32_t one_less =
           nearest(id, std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) - 0x10000), overflow);
       const bool late = std::isfinite(x) && !is_finite(id, code) && is_finite(id, one_less);
       return late ? one_less : code;
     }},
    {"flushes subnormals",
     [](Format id, float x, Rounding, Overflow overflow, std::uint32_t) {
       const bool small = std::fabs(x) < model::format(id).min_normal();
       return nearest(id, small ? std::copysign(0.0f, x) : x, overflow);
     }},
    {"loses NaN",
     [](Format id, float x, Rounding, Overflow overflow, std::uint32_t) {
       return std::isnan(x) ? model::format(id).max_code() : nearest(id, x, overflow);
     }},
    {"saturates infinity only",
     [](Format id, float x, Rounding, Overflow overflow, std::uint32_t) {
       return nearest(id, x, {model::Beyond::special, overflow.infinity});
     }},
    {"ignores the sign of what rounds to zero, or invents one",
     [](Format id, float x, Rounding, Overflow overflow, std::uint32_t) {
       const std::uint32_t code = nearest(id, x, overflow);
       const std::uint32_t sign = model::format(id).sign_mask();
       return (code & ~sign) == 0 && std::signbit(x) ? code ^ sign : code;
     }},
};

/// Calls the function with all bf16 values that are not NaN, in rising order; -0 before +0.
template <class Function>
void for_each_in_order(Function function) {
  constexpr std::uint32_t kInfinity = model::format(Format::bf16).infinity_code();
  for (std::uint32_t code = kInfinity + 1; code-- > 0;)
    function(decode(Format::bf16, code | 0x8000));
  for (std::uint32_t code = 0; code <= kInfinity; ++code) function(decode(Format::bf16, code));
}

/// How many of the 2^bits random words that differ in their leading bits give an upper code.
std::uint32_t count_up(Format id, float x, int bits, std::uint32_t lower) {
  std::uint32_t up = 0;
  for (std::uint32_t i = 0; i < std::uint32_t{1} << bits; ++i) {
    const std::uint32_t code = encode(id, x, Rounding::stochastic, kAsFormat, i << (32 - bits));
    up += code != lower;
  }
  return up;
}

}  // namespace

TEST_CASE("the comparison with the definition rejects each faulty encoder", "[reference]") {
  const std::vector<float> inputs = test::values_of(Format::bf16);
  for (const Format id : kEightBits) {
    for (const Fault& fault : kFaults) {
      INFO(model::format(id).name << ", an encoder that " << fault.name);
      CHECK(test::first_difference(fault.encode, id, inputs, Rounding::nearest_even) != "");
    }
    CHECK(test::first_difference(encode, id, inputs, Rounding::nearest_even) == "");
  }
}

TEST_CASE("a difference is reported with format, input and the fields of both codes",
          "[reference]") {
  const std::string report =
      test::first_difference(kFaults[0].encode, Format::e4m3fn, {1.1875f}, Rounding::nearest_even);
  CHECK(report ==
        "nearest_even, random bits 0x00000000, e4m3fn of 0x3F980000: "
        "got 0.0111.001 (0x39), want 0.0111.010 (0x3a)");
}

TEST_CASE("rounding keeps order", "[reference]") {
  for (const NumberFormat& f : model::kNumberFormats) {
    if (f.sign_bits == 0) continue;  // negative values are NaN there
    for (const model::RoundingName& rounding : model::kRoundings) {
      float last = -INFINITY;
      int disorders = 0;
      for_each_in_order([&](float x) {
        const float rounded = decode(f.id, encode(f.id, x, rounding.id, kSaturate, 0x12345678));
        // Stochastic rounding keeps order too, where the random bits are the same.
        disorders += !(last <= rounded);
        last = rounded;
      });
      INFO(f.name << " " << rounding.name);
      CHECK(disorders == 0);
    }
  }
}

TEST_CASE("rounding a rounded value changes nothing", "[reference]") {
  for (const NumberFormat& f : model::kNumberFormats) {
    std::vector<float> once = test::systematic_f32();
    round_array(f.id, once);
    std::vector<float> twice = once;
    round_array(f.id, twice);
    int changes = 0;
    for (std::size_t i = 0; i < once.size(); ++i) {
      changes += std::bit_cast<std::uint32_t>(once[i]) != std::bit_cast<std::uint32_t>(twice[i]);
    }
    INFO(f.name);
    CHECK(changes == 0);
  }
}

TEST_CASE("negating a value negates its code, except where a zero or a NaN has no sign",
          "[reference]") {
  for (const NumberFormat& f : model::kNumberFormats) {
    if (f.sign_bits == 0) continue;
    for (const Rounding rounding :
         {Rounding::nearest_even, Rounding::nearest_up, Rounding::toward_zero}) {
      int differences = 0;
      for (const float x : test::systematic_f32()) {
        const std::uint32_t code = encode(f.id, x, rounding, kAsFormat);
        const std::uint32_t negated = encode(f.id, -x, rounding, kAsFormat);
        const bool signless = f.minus_zero == model::MinusZero::nan
                                  ? code == 0 || code == f.nan_code()
                                  : std::isnan(x) && !f.has_nan();
        differences += negated != (signless ? code : code ^ f.sign_mask());
      }
      INFO(f.name << " " << model::name_of(rounding));
      CHECK(differences == 0);
    }
  }
}

TEST_CASE("doubling a normal value doubles what it rounds to", "[reference]") {
  for (const NumberFormat& f : model::kNumberFormats) {
    if (f.sign_bits == 0 || f.id == Format::f32) continue;
    int differences = 0;
    for (const float x : test::systematic_f32()) {
      const double size = std::fabs(static_cast<double>(x));
      if (!(size >= f.min_normal() && 2 * size <= f.max_finite())) continue;
      differences += decode(f.id, nearest(f.id, 2 * x)) != 2 * decode(f.id, nearest(f.id, x));
    }
    INFO(f.name);
    CHECK(differences == 0);
  }
}

TEST_CASE("saturating and not agree where the rounded value is finite", "[reference]") {
  for (const NumberFormat& f : model::kNumberFormats) {
    int differences = 0;
    for (const float x : test::systematic_f32()) {
      const std::uint32_t code = nearest(f.id, x);
      if (!is_finite(f.id, code)) continue;
      differences += nearest(f.id, x, kSaturate) != code;
    }
    INFO(f.name);
    CHECK(differences == 0);
  }
}

// uxlfoundation/oneDNN#2903: stochastic rounding that always went down.
TEST_CASE("stochastic rounding takes either neighbour of a middle equally often", "[reference]") {
  const float middle = std::bit_cast<float>(0x38900000);  // between codes 04 and 05 of e5m2
  CHECK(count_up(Format::e5m2, middle, 16, 0x04) == 0x8000);
  CHECK(count_up(Format::e5m2, -middle, 16, 0x84) == 0x8000);
  CHECK(encode(Format::e5m2, middle, Rounding::stochastic, kAsFormat, 0x7FFFFFFF) == 0x05);
  CHECK(encode(Format::e5m2, middle, Rounding::stochastic, kAsFormat, 0x80000000) == 0x04);
}

// AMD-AGI/Primus-Turbo#365, #430: random bits that were constant, or one place off.
TEST_CASE("the mean of stochastic rounding over the random bits is the value itself",
          "[reference]") {
  CHECK(count_up(Format::e4m3fn, 1.0625f, 20, 0x38) == 1u << 19);
  // All f16 values: they have 7 bits more than e4m3fn and its kin, and 8 more than e5m2, in the
  // normal range, and all random words that differ in their leading 8 bits.
  for (const Format id : kEightBits) {
    const NumberFormat& f = model::format(id);
    int differences = 0;
    for (const float x : test::values_of(Format::f16)) {
      const double size = std::fabs(static_cast<double>(x));
      if (!(size >= f.min_normal() && size <= f.max_finite())) continue;
      double sum = 0;  // of multiples of the smallest value, few enough to be exact
      for (std::uint32_t i = 0; i < 256; ++i) {
        sum += decode(id, encode(id, x, Rounding::stochastic, kAsFormat, i << 24));
      }
      differences += sum / 256 != static_cast<double>(x);
    }
    INFO(f.name);
    CHECK(differences == 0);
  }
}

TEST_CASE("stochastic rounding never moves an exact value and goes up by one code at most",
          "[reference]") {
  for (const Format id : kEightBits) {
    int differences = 0;
    for (const float x : test::systematic_f32()) {
      const std::uint32_t down = encode(id, x, Rounding::toward_zero, kSaturate);
      const std::uint32_t least = encode(id, x, Rounding::stochastic, kSaturate, 0xFFFFFFFF);
      const std::uint32_t most = encode(id, x, Rounding::stochastic, kSaturate, 0);
      const bool exact = std::isnan(x) || decode(id, down) == x || std::isinf(x);
      // A negative value that rounds to a zero without sign has its neighbour in the negatives.
      const std::uint32_t up =
          (down == 0 && std::signbit(x) ? model::format(id).sign_mask() : down) + 1;
      const bool saturated =
          (down & ~model::format(id).sign_mask()) == model::format(id).max_code();
      differences += most != (exact || saturated ? down : up);
      // With the largest word only a fraction above 1 - 2^-32 goes up; f32 has none that close.
      differences += least != down;
    }
    INFO(model::format(id).name);
    CHECK(differences == 0);
  }
}

}  // namespace tally::reference
