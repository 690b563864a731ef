// Goal: the fast block codec gives the bits of the definition, whatever is in a block.
// Method: all 80 block wires on blocks of random bits, of every kind of content, and around every
// power of two at which a scale may change; all scales from all exponents; all codes under all
// scales; and the public faults in block_codec.cases.

#include "reference/block_codec.h"

#include <bit>
#include <cmath>

#include "reference/block_codec_spec.h"
#include "reference/convert_spec.h"
#include "tests/reference/block_codec_check.h"
#include "tests/reference/cases_file.h"
#include "tests/reference/instruction_sets.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::reference {
namespace {

using model::Format;
using model::ScaleRule;
using model::Wire;
using test::BlockKind;
using test::Encoded;
using test::first_difference;
using test::kFastCodec;

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// The largest magnitudes whose f16 scale is near a tie: qmax times the middle of two neighbours
/// of f16, and what is around that.
std::vector<float> f16_ties(const model::NumberFormat& element) {
  std::vector<float> magnitudes;
  for (std::uint32_t code = 0; code < 0x7C00; ++code) {
    const double low = decode_spec(Format::f16, code);
    const double high = code == 0x7BFF ? 0x1p16 : decode_spec(Format::f16, code + 1);
    const auto tie = static_cast<float>((low + high) / 2 * element.max_finite());
    const auto bits = std::bit_cast<std::uint32_t>(tie);
    for (const std::uint32_t near : {bits - 1, bits, bits + 1}) {
      magnitudes.push_back(from_bits(near));
    }
  }
  return magnitudes;
}

/// The first of these magnitudes from which codec and definition make different scales.
std::string first_scale_difference(const Wire& wire, const std::vector<float>& magnitudes) {
  std::vector<float> x(magnitudes.size() * wire.length, 0.0f);
  for (std::size_t i = 0; i < magnitudes.size(); ++i) x[i * wire.length + i % 16] = magnitudes[i];
  const Encoded got = encoded(kFastCodec, wire, x);
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    const std::uint32_t want = block_scale_spec(wire, std::span(&magnitudes[i], 1));
    const std::uint32_t scale = scale_at(wire, got, static_cast<std::int64_t>(i));
    if (scale == want) continue;
    char input[32];
    std::snprintf(input, sizeof input, "amax %a", static_cast<double>(magnitudes[i]));
    return wire.name() + ": " + test::difference(wire.scale, input, scale, want);
  }
  return "";
}

}  // namespace

TEST_CASE("the fast codec equals the definition on blocks of every kind", "[reference]") {
  test::Random random(1);
  for (const Wire& wire : test::every_block_wire()) {
    std::vector<float> x;
    for (int i = 0; i < 6 * test::kBlockKinds; ++i) {
      const auto kind = static_cast<BlockKind>(i % test::kBlockKinds);
      for (const float value : test::random_block(kind, wire.length, random)) x.push_back(value);
    }
    REQUIRE(first_difference(kFastCodec, wire, x) == "");
  }
}

TEST_CASE("the fast codec equals the definition around every power of two, and at qmax times it",
          "[reference]") {
  test::Random random(2);
  for (const Wire& wire : test::every_block_wire()) {
    std::vector<float> largest = test::edge_magnitudes(model::format(wire.format));
    if (wire.length > 16) {  // all of them at the shortest length, a few at the others
      std::vector<float> some;
      for (std::size_t i = random.below(49); i < largest.size(); i += 49)
        some.push_back(largest[i]);
      largest = some;
    }
    REQUIRE(first_difference(kFastCodec, wire, test::blocks_with_largest(wire, largest, random)) ==
            "");
  }
}

TEST_CASE("a short last block uses only its own elements, at every length", "[reference]") {
  test::Random random(3);
  for (const Wire& wire : test::every_block_wire()) {
    for (int extra = 1; extra < wire.length; extra += wire.length / 16) {
      std::vector<float> x = test::random_block(BlockKind::huge, wire.length, random);
      for (const float value : test::random_block(BlockKind::around_one, extra, random)) {
        x.push_back(value);
      }
      REQUIRE(first_difference(kFastCodec, wire, x) == "");
    }
    REQUIRE(first_difference(kFastCodec, wire, std::vector<float>()) == "");
  }
}

TEST_CASE("the fast codec equals the definition on every instruction set", "[reference]") {
  test::for_each_instruction_set([] {
    test::Random random(11);
    for (const Wire& wire : test::every_block_wire()) {
      std::vector<float> x;
      for (int kind = 0; kind < test::kBlockKinds; ++kind) {
        const int length = kind < test::kBlockKinds - 1 ? wire.length : 13;
        const auto block = test::random_block(static_cast<BlockKind>(kind), length, random);
        x.insert(x.end(), block.begin(), block.end());
      }
      REQUIRE(first_difference(kFastCodec, wire, x) == "");
    }
  });
}

TEST_CASE("a block in any place", "[reference]") {
  test::property("is encoded and decoded as the definition has it", [] {
    const Wire wire = *rc::gen::elementOf(test::every_block_wire()).as("wire");
    const auto seed = *rc::gen::arbitrary<std::uint64_t>().as("seed");
    const auto blocks = *rc::gen::inRange(0, 20).as("whole blocks");
    const auto rest = *rc::gen::inRange(0, wire.length).as("elements of the last block");
    test::Random random(seed);
    std::vector<float> x;
    for (int block = 0; block <= blocks; ++block) {
      const int length = block < blocks ? wire.length : rest;
      if (length == 0) continue;
      const auto kind = static_cast<BlockKind>(random.below(test::kBlockKinds));
      for (const float value : test::random_block(kind, length, random)) x.push_back(value);
    }
    RC_ASSERT(first_difference(kFastCodec, wire, x) == "");
  });
}

TEST_CASE("every scale is right: all exponents, and fractions around those that matter",
          "[reference]") {
  for (const Wire& wire : test::block_wires(16)) {
    const auto qmax = static_cast<float>(model::format(wire.format).max_finite());
    const std::uint32_t own = std::bit_cast<std::uint32_t>(qmax) & 0x7F'FFFF;
    std::vector<float> magnitudes;
    for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
      for (const std::uint32_t fraction :
           {0u, 1u, 2u, 0x3F'FFFFu, 0x40'0000u, 0x40'0001u, 0x5F'FFFFu, 0x60'0000u, 0x60'0001u,
            0x6F'FFFFu, 0x70'0000u, 0x70'0001u, 0x7F'FFFEu, 0x7F'FFFFu, own - 1, own + 1}) {
        magnitudes.push_back(from_bits(exponent << 23 | fraction));
      }
    }
    REQUIRE(first_scale_difference(wire, magnitudes) == "");
  }
}

TEST_CASE("an f16 scale is rounded once: all ties of all f16 values", "[reference]") {
  for (const Wire& wire : test::block_wires(16)) {
    if (wire.scale != Format::f16) continue;
    REQUIRE(first_scale_difference(wire, f16_ties(model::format(wire.format))) == "");
  }
}

TEST_CASE("every code is decoded right under every 8-bit scale, and many others", "[reference]") {
  test::Random random(4);
  for (const Wire& wire : test::block_wires(256)) {
    const int width = model::format(wire.scale).width();
    Encoded all;
    for (std::uint32_t scale = 0; scale < 256; ++scale) {
      const std::uint32_t any = random.below(2) == 0 ? random_code(wire.scale, random)
                                                     : static_cast<std::uint32_t>(random.bits());
      const std::uint32_t no_sign = any & 0x7FFF'FFFF;  // no scale is negative
      test::append_code(wire.scale, width == 8 ? scale : no_sign, all.scales);
      for (std::uint32_t code = 0; code < 256; ++code) all.codes.push_back(std::byte(code));
    }
    REQUIRE(first_difference(kFastCodec, wire, all) == "");
  }
}

TEST_CASE("public faults with block scales do not occur here", "[reference]") {
  for (const test::CaseLine& line : test::read_cases("block_codec.cases")) {
    CAPTURE(line.number);
    REQUIRE(line.words.size() == 6);
    const auto wire = model::parse_wire(line.words[1]);
    REQUIRE(wire);
    const auto at = [&](std::size_t word) {
      return static_cast<std::uint32_t>(test::from_hex(line.words[word]));
    };
    const float amax = from_bits(at(2));
    Encoded got = encoded(kFastCodec, *wire, std::vector<float>(wire->length, amax));
    CHECK(test::difference(wire->scale, "amax", scale_at(*wire, got, 0), at(3)) ==
          test::difference(wire->scale, "amax", at(3), at(3)));
    CHECK(test::describe(wire->format, std::to_integer<std::uint32_t>(got.codes[0])) ==
          test::describe(wire->format, at(4)));
    const auto value = std::bit_cast<std::uint32_t>(decoded(kFastCodec, *wire, got)[0]);
    CHECK(test::describe(Format::f32, value) == test::describe(Format::f32, at(5)));
    CHECK(first_difference(kFastCodec, *wire, std::vector<float>(wire->length, amax)) == "");
  }
}

TEST_CASE("the codec knows the wires that it is not made for", "[.]") {
  std::vector<std::byte> none;
  encode_blocks(model::cast_wire(Format::e5m2), {}, none, none);
}
TEST_CASE("a scale is missing", "[.]") {
  std::vector<float> x(17);
  std::vector<std::byte> codes(17), scales(4);
  encode_blocks(*model::parse_wire("e5m2:b16:f32"), x, codes, scales);
}
TEST_CASE("a code is too many", "[.]") {
  std::vector<float> x(16);
  std::vector<std::byte> codes(17), scales(4);
  decode_blocks(*model::parse_wire("e5m2:b16:f32"), codes, scales, x);
}

TEST_CASE("sizes that do not fit stop the program", "[reference]") {
  REQUIRE(test::aborts("the codec knows the wires that it is not made for", "a block wire"));
  REQUIRE(test::aborts("a scale is missing", "size of scales"));
  REQUIRE(test::aborts("a code is too many", "size of codes"));
}

}  // namespace tally::reference
