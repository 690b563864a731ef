// Goal: the comparison of block codecs can fail, and a block codec has the properties that the
// accuracy of a collective rests on.
// Method: codecs with one fault each, which the comparison has to reject; the bounds of the error,
// which random blocks keep and nearly reach; encoding of what was decoded, for all largest values.

#include <bit>
#include <cmath>

#include "reference/block_codec_spec.h"
#include "reference/convert_spec.h"
#include "tests/reference/block_codec_check.h"
#include "tests/reference/block_codec_faults.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::reference {
namespace {

using model::Format;
using model::NumberFormat;
using model::ScaleRule;
using model::Wire;
using test::BlockKind;
using test::Encoded;
using test::first_difference;
using test::kFastCodec;

/// A block whose quotients lie at the middles of two codes, or next to them in f32.
std::vector<float> block_of_ties(const Wire& wire, test::Random& random) {
  const NumberFormat& element = model::format(wire.format);
  std::vector<float> x = test::random_block(BlockKind::around_one, 1, random);
  const double scale = decode_spec(wire.scale, block_scale_spec(wire, x));
  while (std::ssize(x) < wire.length) {
    const std::uint32_t code = random.below(element.max_code());
    const double middle = (decode_spec(wire.format, code) + decode_spec(wire.format, code + 1)) / 2;
    const auto tie = std::bit_cast<std::uint32_t>(static_cast<float>(middle * scale));
    x.push_back(std::bit_cast<float>(tie + random.below(3) - 1));
    if (std::fabs(x.back()) > std::fabs(x[0])) x.pop_back();
  }
  return x;
}

/// What the faults are looked for on: every kind of block, edges and ties.
std::vector<float> telling_blocks(const Wire& wire) {
  test::Random random(5);
  std::vector<float> x;
  const auto add = [&](const std::vector<float>& block) {
    x.insert(x.end(), block.begin(), block.end());
  };
  for (int i = 0; i < 40; ++i) add(block_of_ties(wire, random));
  for (int kind = 0; kind < test::kBlockKinds; ++kind) {
    add(test::random_block(static_cast<BlockKind>(kind), wire.length, random));
  }
  std::vector<float> largest;
  const std::vector<float> edges = test::edge_magnitudes(model::format(wire.format));
  for (std::size_t i = 0; i < edges.size(); i += 7) largest.push_back(edges[i]);
  add(blocks_with_largest(wire, largest, random));
  return x;
}

/// The first value of the block whose error is beyond the bound; the largest ratio of the two is
/// kept in `worst`. Bounds: Higham, Accuracy and Stability, section 2.2, applied to x / s.
/// The conversion errs by u/(1+u) of the value or half the smallest one; division and
/// multiplication by half an f32 place each, unless the scale is a power of two.
std::string beyond_bound(const Wire& wire, const std::vector<float>& x, double& worst) {
  const NumberFormat& element = model::format(wire.format);
  const Encoded codes = encoded(kFastCodec, wire, x);
  const std::vector<float> back = decoded(kFastCodec, wire, codes);
  const double scale = decode_spec(wire.scale, scale_at(wire, codes, 0));
  const double u = element.unit_roundoff();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size = std::fabs(static_cast<double>(x[i]));
    // Where the quotient saturates, the error is what is cut off.
    const bool saturates = size > scale * element.max_finite();
    const double conversion = std::max(u / (1 + u) * size, scale * element.min_positive() / 2);
    const double cut_off = saturates ? size - scale * element.max_finite() : 0;
    const double f32 = wire.scale == Format::e8m0 ? 0 : 4 * 0x1p-24 * size;
    const double bound = std::max(conversion, cut_off) + f32;
    const double error = std::fabs(static_cast<double>(back[i]) - static_cast<double>(x[i]));
    worst = std::max(worst, error / bound);
    if (!(error <= bound)) return wire.name() + ", element " + std::to_string(i);
  }
  return "";
}

/// The largest error that the rule allows, as a fraction of the largest magnitude.
double fraction_of_largest(const Wire& wire) {
  const NumberFormat& element = model::format(wire.format);
  const double top = std::ldexp(1.0, element.max_exponent()), u = element.unit_roundoff();
  switch (wire.rule) {
    case ScaleRule::amax:  // half a step in the topmost power of two: 1/28 for e4m3fn
      return u * top / element.max_finite() * (1 + 0x1p-10);
    case ScaleRule::rceil:  // 1/17 for e4m3fn
      return u / (1 + u);
    case ScaleRule::floor:  // 1/8 for e4m3fn: 512 becomes 448
      return std::max(1 - element.max_finite() / (2 * top), u / (1 + u));
  }
  return 0;
}

/// A block within the range in which neither scale nor products leave the normal numbers.
std::vector<float> ordinary_block(const Wire& wire, test::Random& random) {
  const int range = wire.scale == Format::f16 ? 4 : 60;
  const int shift = static_cast<int>(random.below(2 * range + 1)) - range;
  std::vector<float> x = test::random_block(BlockKind::around_one, wire.length, random);
  for (float& value : x) value = std::ldexp(value, shift);
  return x;
}

}  // namespace

TEST_CASE("the comparison with the definition rejects each faulty block codec", "[reference]") {
  for (const Wire& wire : test::block_wires(32)) {
    const std::vector<float> x = telling_blocks(wire);
    for (const test::FaultyCodec& faulty : test::faulty_codecs()) {
      if (!faulty.applies(wire)) continue;
      INFO(wire.name() << ", a codec that " << faulty.codec.name);
      CHECK(first_difference(faulty.codec, wire, x) != "");
    }
    CHECK(first_difference(test::kCodecWithoutFault, wire, x) == "");
    CHECK(first_difference(kFastCodec, wire, x) == "");
  }
}

TEST_CASE("a difference between block codecs is reported with place, input and both codes",
          "[reference]") {
  const Wire wire = *model::parse_wire("e4m3fn:b16:e8m0:floor");
  std::vector<float> x(20, 1.0f);
  x[18] = 957.0f;
  const test::FaultyCodec& overflows = test::faulty_codecs()[7];
  CHECK(first_difference(overflows.codec, wire, x) ==
        "e4m3fn:b16:e8m0:floor, block 1, element 18: code of 0x446f4000, got 0x7f, want 0x7e");
}

TEST_CASE("quotients next to ties are rounded as the definition has it", "[reference]") {
  test::Random random(6);
  for (const Wire& wire : test::every_block_wire()) {
    std::vector<float> x;
    while (std::ssize(x) < 8 * 256) {
      for (const float value : block_of_ties(wire, random)) x.push_back(value);
    }
    REQUIRE(first_difference(kFastCodec, wire, x) == "");
  }
}

TEST_CASE("the error of a value keeps its bound, which is nearly reached", "[reference]") {
  test::Random random(7);
  for (const Wire& wire : test::block_wires(32)) {
    double worst = 0;
    for (int i = 0; i < 400; ++i) {
      REQUIRE(beyond_bound(wire, ordinary_block(wire, random), worst) == "");
      REQUIRE(beyond_bound(wire, block_of_ties(wire, random), worst) == "");
    }
    CAPTURE(wire.name(), worst);
    CHECK(worst > 0.99);
  }
}

TEST_CASE("the error is at most a known part of the block's largest magnitude", "[reference]") {
  test::Random random(8);
  for (const Wire& wire : test::block_wires(32)) {
    double worst = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::vector<float> x = ordinary_block(wire, random);
      const std::vector<float> back = decoded(kFastCodec, wire, encoded(kFastCodec, wire, x));
      double amax = 0, error = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        amax = std::fmax(amax, std::fabs(static_cast<double>(x[k])));
        error = std::fmax(error, std::fabs(static_cast<double>(back[k]) - x[k]));
      }
      worst = std::max(worst, error / (amax * fraction_of_largest(wire)));
    }
    CAPTURE(wire.name(), worst);
    CHECK(worst <= 1);
    CHECK(worst > 0.9);
  }
  CHECK(1 / fraction_of_largest(*model::parse_wire("e4m3fn:b32:e8m0:floor")) == 8);
  CHECK(1 / fraction_of_largest(*model::parse_wire("e4m3fnuz:b32:e8m0:floor")) == 16);
  CHECK(std::round(1 / fraction_of_largest(*model::parse_wire("e4m3fn:b32:f32"))) == 28);
  CHECK(std::round(1 / fraction_of_largest(*model::parse_wire("e4m3fnuz:b32:f16"))) == 30);
}

TEST_CASE("encoding what was decoded gives the same values, and but for rceil the same codes",
          "[reference]") {
  test::Random random(9);
  for (const Wire& wire : test::every_block_wire()) {
    int other_codes = 0;
    for (int i = 0; i < 100; ++i) {
      const std::vector<float> x =
          i % 2 == 0 ? ordinary_block(wire, random) : block_of_ties(wire, random);
      const Encoded once = encoded(kFastCodec, wire, x);
      const std::vector<float> values = decoded(kFastCodec, wire, once);
      const Encoded twice = encoded(kFastCodec, wire, values);
      CAPTURE(wire.name());
      REQUIRE(decoded(kFastCodec, wire, twice) == values);
      other_codes += once.codes != twice.codes || once.scales != twice.scales;
    }
    if (wire.rule != ScaleRule::rceil) CHECK(other_codes == 0);
  }
}

TEST_CASE("encoding what was decoded gives the same values at the edges of f32 too",
          "[reference]") {
  test::Random random(10);
  for (const Wire& wire : test::block_wires(32)) {
    std::vector<float> largest = test::edge_magnitudes(model::format(wire.format));
    std::erase_if(largest, [](float x) { return x >= 0x1.ep127f; });  // may become infinite
    const std::vector<float> x = blocks_with_largest(wire, largest, random);
    const Encoded once = encoded(kFastCodec, wire, x);
    const std::vector<float> values = decoded(kFastCodec, wire, once);
    const Encoded twice = encoded(kFastCodec, wire, values);
    CAPTURE(wire.name());
    REQUIRE(decoded(kFastCodec, wire, twice) == values);
    if (wire.rule != ScaleRule::rceil) REQUIRE(twice.codes == once.codes);
    if (wire.rule != ScaleRule::rceil) REQUIRE(twice.scales == once.scales);
  }
}

TEST_CASE("under rceil a block may be encoded again with half the scale", "[reference]") {
  const Wire wire = *model::parse_wire("e4m3fn:b16:e8m0:rceil");
  for (const float y : {225.0f, 230.0f, 231.5f}) {  // above 224 = 448 / 2, and rounded to it
    const std::vector<float> x(16, y);
    const Encoded once = encoded(kFastCodec, wire, x);
    const std::vector<float> values = decoded(kFastCodec, wire, once);
    const Encoded twice = encoded(kFastCodec, wire, values);
    CHECK(values == std::vector<float>(16, 224.0f));
    CHECK(scale_at(wire, once, 0) == 127);
    CHECK(scale_at(wire, twice, 0) == 126);
    CHECK(once.codes[0] == std::byte(0x76));
    CHECK(twice.codes[0] == std::byte(0x7E));
    CHECK(decoded(kFastCodec, wire, twice) == values);
  }
}

TEST_CASE("what is finite decodes to infinity only under rceil, next to the largest f32",
          "[reference]") {
  for (const Wire& wire : test::block_wires(16)) {
    const std::uint32_t bits = model::format(wire.format).fraction_bits == 3
                                   ? 0x7F78'0000u   // 1.9375 * 2^127, a tie that goes up
                                   : 0x7F70'0000u;  // 1.875 * 2^127
    const auto decodes_to_infinity = [&](std::uint32_t amax) {
      const std::vector<float> x(16, std::bit_cast<float>(amax));
      return std::isinf(decoded(kFastCodec, wire, encoded(kFastCodec, wire, x))[0]);
    };
    CAPTURE(wire.name());
    CHECK(!decodes_to_infinity(bits - 1));
    for (std::uint32_t amax = bits; amax <= 0x7F7F'FFFF; amax += 0xFFF) {
      CHECK(decodes_to_infinity(amax) == (wire.rule == ScaleRule::rceil));
    }
  }
}

TEST_CASE("an f32 scale is found again in what was decoded, for every significand of amax",
          "[reference]") {
  constexpr std::uint32_t kBlocks = 1 << 14;
  for (const Format element : {Format::e4m3fn, Format::e4m3fnuz}) {  // qmax 7/4 and 15/8
    const Wire wire = model::block_wire(element, 16, Format::f32, ScaleRule::amax);
    std::vector<float> x(kBlocks * 16, 0.0f);
    int differences = 0;
    for (std::uint32_t first = 0; first < 1u << 23; first += kBlocks) {
      for (std::uint32_t i = 0; i < kBlocks; ++i) {
        x[i * 16] = std::bit_cast<float>(0x3F80'0000 | (first + i));
      }
      const Encoded once = encoded(kFastCodec, wire, x);
      differences +=
          encoded(kFastCodec, wire, decoded(kFastCodec, wire, once)).scales != once.scales;
    }
    CAPTURE(wire.name());
    CHECK(differences == 0);
  }
}

}  // namespace tally::reference
