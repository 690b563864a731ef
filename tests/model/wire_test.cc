// Goal: a wire's name is the only way to it and back, and its bytes are exact.
// Method: enumerate all wires.

#include "model/wire.h"

#include "model/schedule.h"
#include "tests/support/catch.h"

namespace tally::model {

TEST_CASE("every wire is parsed from its own name", "[model]") {
  std::vector<std::string> names;
  for (const Wire& wire : all_wires()) {
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
  REQUIRE(parse_wire("fp8").error().hint ==
          "one of: none, e4m3fn, e4m3fn:sat, e5m2, e5m2:sat, e4m3fnuz, e4m3fnuz:sat, e5m2fnuz, "
          "e5m2fnuz:sat");
}

TEST_CASE(":sat saturates infinity too, the plain name does neither", "[model]") {
  const Wire plain = *parse_wire("e5m2"), saturating = *parse_wire("e5m2:sat");
  REQUIRE(plain.overflow.finite == Beyond::special);
  REQUIRE(plain.overflow.infinity == Beyond::special);
  REQUIRE(saturating.overflow.finite == Beyond::max_finite);
  REQUIRE(saturating.overflow.infinity == Beyond::max_finite);
}

TEST_CASE("a wire takes one byte an element, and none takes the element's own", "[model]") {
  for (const Wire& wire : all_wires()) {
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

TEST_CASE("a unit of every wire is whole words", "[model]") {
  for (const Wire& wire : all_wires()) {
    for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
      REQUIRE(wire.unit() == 128);
      REQUIRE(wire.bytes(wire.unit(), element) % kWordBytes == 0);
    }
  }
}

}  // namespace tally::model
