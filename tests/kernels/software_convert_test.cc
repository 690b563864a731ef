// Goal: the kernels' conversions in integer arithmetic are the reference's definitions.
// Method: decode every code; encode every upper half of an f32 with a few lower halves, and the
// neighbours of every code and of every midpoint. Two NaNs are equal.

#include "kernels/software_convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/convert_spec.h"
#include "tests/support/catch.h"

namespace tally::kernels {
namespace {

using model::Beyond;
using model::Format;

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// All upper halves, with the lower halves at which a rounding can change.
std::vector<float> upper_halves() {
  std::vector<float> all;
  for (std::uint32_t upper = 0; upper <= 0xFFFF; ++upper) {
    for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      all.push_back(as_float(upper << 16 | lower));
    }
  }
  return all;
}

/// x and the f32 next to it on either side, with both signs.
void add_neighbourhood(float x, std::vector<float>& all) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float y : {std::nextafter(x, -kInfinity), x, std::nextafter(x, kInfinity)}) {
    all.push_back(y);
    all.push_back(-y);
  }
}

/// The neighbourhoods of every value of the format, of every midpoint, and of the overflow.
std::vector<float> boundaries(Format id) {
  const model::NumberFormat& f = model::format(id);
  std::vector<float> all;
  for (std::uint32_t code = 0; code <= f.max_code(); ++code) {
    const double value = reference::decode_spec(id, code);
    const double next = code < f.max_code()
                            ? reference::decode_spec(id, code + 1)
                            : value + (value - reference::decode_spec(id, code - 1));
    add_neighbourhood(static_cast<float>(value), all);
    add_neighbourhood(static_cast<float>((value + next) / 2), all);
  }
  return all;
}

/// Every input, smallest magnitude first, which the definition's search likes.
std::vector<float> inputs_for(Format id) {
  std::vector<float> all = upper_halves();
  for (const float x : boundaries(id)) all.push_back(x);
  std::sort(all.begin(), all.end(), [](float a, float b) {
    return (bits_of(a) & 0x7FFF'FFFF) < (bits_of(b) & 0x7FFF'FFFF);
  });
  return all;
}

bool same_code(const model::NumberFormat& f, std::uint32_t a, std::uint32_t b) {
  return a == b || (f.is_nan(a) && f.is_nan(b));
}

template <Format F, Beyond beyond>
void require_encodes_as_defined() {
  const model::NumberFormat& f = model::format(F);
  reference::SpecEncoder encoder(F);
  for (const float x : inputs_for(F)) {
    const std::uint32_t got = software_encode<F, beyond>(x);
    const std::uint32_t want =
        encoder.code(encoder.round(x, model::Rounding::nearest_even), {beyond, beyond});
    if (same_code(f, got, want)) continue;
    CAPTURE(std::string(f.name), beyond == Beyond::special, bits_of(x));
    REQUIRE(got == want);
  }
}

template <Format F>
void require_decodes_as_defined() {
  for (std::uint32_t code = 0; code <= model::format(F).code_mask(); ++code) {
    const float got = software_decode<F>(code);
    const double want = reference::decode_spec(F, code);
    const bool same = std::isnan(got) ? std::isnan(want)
                                      : static_cast<double>(got) == want &&
                                            std::signbit(got) == std::signbit(want);
    if (same) continue;
    CAPTURE(std::string(model::format(F).name), code);
    REQUIRE(static_cast<double>(got) == want);
  }
}

template <Format F>
void require_converts_as_defined() {
  require_decodes_as_defined<F>();
  require_encodes_as_defined<F, Beyond::special>();
  require_encodes_as_defined<F, Beyond::max_finite>();
}

}  // namespace

TEST_CASE("one-byte formats are converted as they are defined", "[kernels]") {
  require_converts_as_defined<Format::e4m3fn>();
  require_converts_as_defined<Format::e5m2>();
  require_converts_as_defined<Format::e4m3fnuz>();
  require_converts_as_defined<Format::e5m2fnuz>();
}

TEST_CASE("f16 and bf16 are converted as they are defined", "[kernels]") {
  require_converts_as_defined<Format::f16>();
  require_converts_as_defined<Format::bf16>();
}

TEST_CASE("the inputs reach every class of f32, and every code", "[kernels]") {
  for (const Format id : {Format::e4m3fn, Format::e5m2fnuz, Format::f16, Format::bf16}) {
    std::vector<bool> reached(model::format(id).code_count(), false);
    int classes = 0;
    for (const float x : inputs_for(id)) {
      classes |= 1 << static_cast<int>(model::format(Format::f32).classify(bits_of(x)));
      reached[reference::encode_spec(id, x, model::Rounding::nearest_even, model::kAsFormat)] =
          true;
    }
    REQUIRE(classes == 0b11111);
    for (std::uint32_t code = 0; code < reached.size(); ++code) {
      if (!reached[code] && !model::format(id).is_nan(code)) REQUIRE(code == 0xFFFFFFFF);
    }
  }
}

TEST_CASE("four codes stand in a word, the first in the lowest byte", "[kernels]") {
  using Convert = SoftwareConvert<Format::e4m3fn, Beyond::special>;
  const float four[4] = {1.0f, -2.0f, 0.0f, 448.0f};
  REQUIRE(Convert::encode4(four) == 0x7E'00'C0'38);
  float back[4];
  Convert::decode4(0x7E'00'C0'38, back);
  for (int i = 0; i < 4; ++i) REQUIRE(back[i] == four[i]);
}

TEST_CASE("signs of NaN and zero", "[kernels]") {
  const float negative_nan = as_float(0xFFC0'0000);
  REQUIRE(software_encode<Format::e4m3fn, Beyond::special>(negative_nan) == 0xFF);
  REQUIRE(software_encode<Format::e4m3fnuz, Beyond::special>(negative_nan) == 0x80);
  REQUIRE(software_encode<Format::e4m3fn, Beyond::special>(-0.0f) == 0x80);
  REQUIRE(software_encode<Format::e4m3fnuz, Beyond::special>(-0.0f) == 0x00);
  REQUIRE(software_encode<Format::e4m3fnuz, Beyond::special>(-0x1p-12f) == 0x00);
  REQUIRE(software_encode<Format::bf16, Beyond::special>(as_float(0x7F80'0001)) == 0x7FC0);
}

}  // namespace tally::kernels
