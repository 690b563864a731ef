// Goal: the kernels' block arithmetic is the contract's: each scale rule, rounded once, and every
// code and value of a block.
// Method: the scales of f16 against exact integer arithmetic, for all 2^23 significands; the powers
// of two against their definition, about every power of two; whole blocks against the reference.

#include "kernels/block_scale.h"

#include <cmath>
#include <cstring>

#include "kernels/emulator/emulated_gpu.h"
#include "reference/block_codec.h"
#include "reference/convert.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::kernels {
namespace {

using emulator::EmulatedGpu;
using model::Format;
using model::ScaleRule;

template <Format F>
std::uint32_t scale_of(Format scale, ScaleRule rule, float largest) {
  return ScaledBlocks<F>::template scale<EmulatedGpu>({5, scale, rule}, bits_of(largest));
}

/// Calls visit<F>() for the formats of elements.
template <class Visit>
void for_each_format(Visit visit) {
  visit.template operator()<Format::e4m3fn>();
  visit.template operator()<Format::e5m2>();
  visit.template operator()<Format::e4m3fnuz>();
  visit.template operator()<Format::e5m2fnuz>();
}

/// Whether `code` is the f16 nearest to significand * 2^exponent / qmax, ties to even: by comparing
/// with the midpoints to its neighbours, in integers.
bool is_nearest_half(std::uint32_t code, std::int64_t significand, int exponent, std::int64_t d) {
  // value = (1024 + f) * 2^(e - 25), against significand * 2^exponent / d: in units of 2^(e - 26).
  const int e = static_cast<int>(code >> 10);
  const std::int64_t twice = 2 * (1024 + static_cast<std::int64_t>(code & 0x3FF));
  const int shift = exponent - (e - 26);
  const std::int64_t left = shift >= 0 ? significand << shift : significand;
  const std::int64_t unit = shift >= 0 ? d : d << -shift;
  const std::int64_t below = (code & 0x3FF) == 0 ? 2 * twice - 1 : 2 * (twice - 1);  // in halves
  const std::int64_t above = 2 * (twice + 1);
  const bool is_even = (code & 1) == 0;
  const std::int64_t x = 2 * left;
  return (x > below * unit || (is_even && x == below * unit)) &&
         (x < above * unit || (is_even && x == above * unit));
}

}  // namespace

TEST_CASE("an f16 scale is rounded once, for every significand of the largest magnitude",
          "[kernels]") {
  for_each_format([]<Format F>() {
    const auto qmax = static_cast<std::int64_t>(model::format(F).max_finite());
    std::int64_t wrong = 0;
    for (std::int64_t significand = 1 << 23; significand < 1 << 24; ++significand) {
      const auto largest = static_cast<float>(significand) * 0x1p-8f;  // exact; in f16's range
      const std::uint32_t code = scale_of<F>(Format::f16, ScaleRule::amax, largest);
      wrong += is_nearest_half(code, significand, -8, qmax) ? 0 : 1;
    }
    CAPTURE(std::string(model::format(F).name));
    REQUIRE(wrong == 0);
  });
  // The check sees a neighbour.
  const std::uint32_t code = scale_of<Format::e4m3fn>(Format::f16, ScaleRule::amax, 0x1p23f);
  REQUIRE(is_nearest_half(code, 1 << 23, 0, 448));
  REQUIRE(!is_nearest_half(code + 1, 1 << 23, 0, 448));
  REQUIRE(!is_nearest_half(code - 1, 1 << 23, 0, 448));
}

TEST_CASE("scales stay within the normal numbers of their format", "[kernels]") {
  for_each_format([]<Format F>() {
    for (const float tiny : {0.0f, 0x1p-149f, 0x1p-126f}) {
      REQUIRE(scale_of<F>(Format::f32, ScaleRule::amax, tiny) == 0x0080'0000);
      REQUIRE(scale_of<F>(Format::f16, ScaleRule::amax, tiny) == 0x0400);
      REQUIRE(scale_of<F>(Format::e8m0, ScaleRule::floor, tiny) == 0);
      REQUIRE(scale_of<F>(Format::e8m0, ScaleRule::rceil, tiny) == 0);
    }
    REQUIRE(scale_of<F>(Format::f16, ScaleRule::amax, 0x1.fffffep127f) == 0x7BFF);
    for (const float special : {INFINITY, NAN}) {
      REQUIRE(scale_of<F>(Format::f32, ScaleRule::amax, special) == 0x7FC0'0000);
      REQUIRE(scale_of<F>(Format::f16, ScaleRule::amax, special) == 0x7E00);
      REQUIRE(scale_of<F>(Format::e8m0, ScaleRule::floor, special) == 0xFF);
      REQUIRE(scale_of<F>(Format::e8m0, ScaleRule::rceil, special) == 0xFF);
    }
  });
}

TEST_CASE("powers of two are the rules' about every power of two", "[kernels]") {
  for_each_format([]<Format F>() {
    const double qmax = model::format(F).max_finite();
    for (int exponent = -126; exponent <= 127; ++exponent) {
      for (const double at : {1.0, qmax / std::exp2(std::ilogb(qmax))}) {
        const auto middle = static_cast<float>(std::ldexp(at, exponent));
        for (const float x :
             {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1e38f)}) {
          const int floor = std::max(std::ilogb(x) - std::ilogb(qmax), -127);
          int rceil = -127;
          while (x > qmax * std::exp2(rceil)) ++rceil;
          CAPTURE(std::string(model::format(F).name), exponent, x);
          REQUIRE(static_cast<int>(scale_of<F>(Format::e8m0, ScaleRule::floor, x)) == floor + 127);
          REQUIRE(static_cast<int>(scale_of<F>(Format::e8m0, ScaleRule::rceil, x)) == rceil + 127);
        }
      }
    }
  });
}

TEST_CASE("whole blocks are the reference's, codes and scales and values", "[kernels]") {
  struct Scale {
    Format format;
    ScaleRule rule;
  };
  constexpr int kBlocks = 2000;
  test::Random random(5);
  for_each_format([&]<Format F>() {
    for (const auto& [format, rule] :
         {Scale{Format::f32, ScaleRule::amax}, Scale{Format::f16, ScaleRule::amax},
          Scale{Format::e8m0, ScaleRule::floor}, Scale{Format::e8m0, ScaleRule::rceil}}) {
      const model::Wire wire = model::block_wire(F, 16, format, rule);
      const BlockParameters p = BlockParameters::of(wire);
      for (int block = 0; block < kBlocks; ++block) {
        float x[16], got[16], want[16];
        // Blocks of all sizes, from subnormal to huge; some of the edges of the formats.
        const std::uint32_t exponent = random.below(260);
        for (float& one : x) {
          const std::uint32_t bits = test::random_code(Format::f32, random);
          const std::uint32_t near = exponent - random.below(exponent < 8 ? exponent + 1 : 8);
          one =
              float_of(block % 4 == 0 ? bits : (bits & 0x807F'FFFFu) | std::min(near, 254u) << 23);
        }
        std::byte codes[16], scale[4] = {};
        reference::encode_blocks(wire, x, codes, std::span(scale, model::format(format).bytes()));
        std::uint32_t wanted_scale;
        std::memcpy(&wanted_scale, scale, 4);
        const std::uint32_t code =
            ScaledBlocks<F>::template scale<EmulatedGpu>(p, ScaledBlocks<F>::summary(x, 16));
        const Word word = ScaledBlocks<F>::template encode<EmulatedGpu>(p, code, x);
        CAPTURE(wire.name(), block, code);
        REQUIRE(code == wanted_scale);
        REQUIRE(std::memcmp(&word, codes, 16) == 0);
        reference::decode_blocks(wire, codes, std::span(scale, model::format(format).bytes()),
                                 want);
        ScaledBlocks<F>::template decode<EmulatedGpu>(p, code, word, got);
        for (int i = 0; i < 16; ++i) {
          if (!test::same_code(Format::f32, bits_of(got[i]), bits_of(want[i]))) FAIL(got[i]);
        }
      }
    }
  });
}

}  // namespace tally::kernels
