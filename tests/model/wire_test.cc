// Goal: a wire's name is the only way to it and back, and its bytes are exact.
// Method: enumerate all wires.

#include "model/wire.h"

#include "model/schedule.h"
#include "tests/support/catch.h"

namespace tally::model {
namespace {

/// None and the casts.
std::vector<Wire> elementwise_wires() {
  std::vector<Wire> wires;
  for (const Wire& wire : all_wires()) {
    if (wire.is_none() || wire.kind == Wire::Kind::cast) wires.push_back(wire);
  }
  return wires;
}

}  // namespace

TEST_CASE("every wire without blocks is parsed from its own name", "[model]") {
  std::vector<std::string> names;
  for (const Wire& wire : elementwise_wires()) {
    CAPTURE(wire.name());
    const Result<Wire> parsed = parse_wire(wire.name());
    REQUIRE(bool(parsed));
    REQUIRE(parsed->kind == wire.kind);
    REQUIRE(parsed->format == wire.format);
    REQUIRE(parsed->overflow.finite == wire.overflow.finite);
    REQUIRE(parsed->overflow.infinity == wire.overflow.infinity);
    names.push_back(wire.name());
  }
  REQUIRE(names == std::vector<std::string>{"none", "e4m3fn", "e4m3fn:sat", "e5m2", "e5m2:sat",
                                            "e4m3fnuz", "e4m3fnuz:sat", "e5m2fnuz",
                                            "e5m2fnuz:sat"});
}

TEST_CASE("an unknown wire is an error that says what may have been meant", "[model]") {
  for (const char* name : {"", "fp8", "E4M3FN", "e4m3fn ", "e4m3fn:", "none:sat", "f16", "e2m1"}) {
    CAPTURE(name);
    const Result<Wire> parsed = parse_wire(name);
    REQUIRE(!parsed);
    REQUIRE(parsed.error().where == "--wire");
    REQUIRE(parsed.error().what == "unknown wire '" + std::string(name) + "'");
    REQUIRE(!parsed.error().hint.empty());
  }
  REQUIRE(parse_wire("e4m3fmuz").error().hint == "did you mean 'e4m3fnuz'?");
  REQUIRE(parse_wire("fp8").error().hint.find("ELEMENT:bLENGTH:SCALE[:RULE]") != std::string::npos);
}

TEST_CASE(":sat saturates infinity too, the plain name does neither", "[model]") {
  const Wire plain = *parse_wire("e5m2"), saturating = *parse_wire("e5m2:sat");
  REQUIRE(plain.overflow.finite == Beyond::special);
  REQUIRE(plain.overflow.infinity == Beyond::special);
  REQUIRE(saturating.overflow.finite == Beyond::max_finite);
  REQUIRE(saturating.overflow.infinity == Beyond::max_finite);
}

TEST_CASE("a cast takes one byte an element, and none takes the element's own", "[model]") {
  for (const Wire& wire : elementwise_wires()) {
    CAPTURE(wire.name());
    for (const std::int64_t count : {0, 1, 17, 128, 1'000'003}) {
      REQUIRE(wire.bytes(count, Format::f32) == (wire.is_none() ? 4 * count : count));
      REQUIRE(wire.bytes(count, Format::f16) == (wire.is_none() ? 2 * count : count));
      REQUIRE(wire.bytes(count, Format::bf16) == (wire.is_none() ? 2 * count : count));
    }
    REQUIRE(wire.code_format(Format::bf16) == (wire.is_none() ? Format::bf16 : wire.format));
  }
  REQUIRE(kNoWire.bytes(std::int64_t{3} << 31, Format::f32) == 25'769'803'776);
}

TEST_CASE("a unit of a cast, and of elements, is whole words", "[model]") {
  for (const Wire& wire : elementwise_wires()) {
    for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
      REQUIRE(wire.unit() == 128);
      REQUIRE(wire.bytes(wire.unit(), element) % kWordBytes == 0);
    }
  }
}

TEST_CASE("block wires have one name each, and other spellings of it are read", "[model]") {
  const std::pair<const char*, const char*> spellings[] = {
      {"e4m3fn:b128:f32", "e4m3fn:b128:f32"},
      {"e4m3fn:b128:f32:amax", "e4m3fn:b128:f32"},
      {"e5m2fnuz:b16:f16:amax", "e5m2fnuz:b16:f16"},
      {"e4m3fn:b32:e8m0", "e4m3fn:b32:e8m0:floor"},
      {"e4m3fn:b256:e8m0:rceil", "e4m3fn:b256:e8m0:rceil"},
      {"mxfp8_e4m3", "e4m3fn:b32:e8m0:floor"},
      {"mxfp8_e5m2", "e5m2:b32:e8m0:floor"},
  };
  for (const auto& [text, name] : spellings) {
    const Result<Wire> wire = parse_wire(text);
    REQUIRE(wire);
    REQUIRE(wire->name() == name);
    REQUIRE(wire->is_block());
  }
  for (const char* text : {"e4m3fn:b48:f32", "e4m3fn:b8:f32", "e4m3fn:b512:f32", "e4m3fn:b32:bf16",
                           "e4m3fn:b32:f32:floor", "e4m3fn:b32:e8m0:amax", "e2m1:b32:e8m0:floor",
                           "e4m3fn:32:f32", "e4m3fn:b32", "e4m3fn:sat:b32:f32"}) {
    CAPTURE(text);
    REQUIRE(!parse_wire(text));
  }
}

TEST_CASE("block wires count codes and scales exactly", "[model]") {
  const Wire f32 = *parse_wire("e4m3fn:b128:f32"), e8m0 = *parse_wire("e5m2:b32:e8m0:rceil");
  REQUIRE(f32.bytes(128, Format::bf16) == 132);
  REQUIRE(f32.bytes(129, Format::bf16) == 137);
  REQUIRE(e8m0.bytes(32, Format::f32) == 33);
  REQUIRE(e8m0.bytes(1, Format::f32) == 2);
  REQUIRE(e8m0.bytes(0, Format::f32) == 0);
  REQUIRE(f32.unit() == 128);
  REQUIRE(parse_wire("e4m3fn:b256:f16")->unit() == 256);
}

}  // namespace tally::model
