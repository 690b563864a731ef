// Goal: the interpreter gives the bits of the arithmetic contract for every algorithm, wire,
// operation and accumulator.
// Method: an oracle that has never heard of schedules (contract_oracle.h), on inputs of every
// class; then cases worked out by hand, and outcomes that must differ, so that the comparison
// tells the variants apart.

#include <cmath>
#include <limits>

#include "model/builders.h"
#include "reference/convert_spec.h"
#include "tests/reference/contract_oracle.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using model::Op;
using test::first_difference;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kAlgorithms[] = {"flat", "tree", "ring"};

RankBuffers run(const std::string& algorithm, const Arithmetic& arithmetic, const RankBuffers& in,
                int lanes = 1, bool in_place = false) {
  const auto bytes = static_cast<std::size_t>(model::format(arithmetic.element).bytes());
  const auto count = static_cast<std::int64_t>(in[0].size() / bytes);
  const model::Shape shape{static_cast<int>(in.size()), count, lanes, in_place, arithmetic};
  return reference::run(model::find_builder(model::Collective::all_reduce, algorithm)->build(shape),
                        in);
}

Arithmetic arithmetic_of(Format element, const std::string& wire, Op op,
                         Accumulate accumulate = Accumulate::f32) {
  return {element, *model::parse_wire(wire), op, accumulate};
}

/// The output of one element, `values[r]` being rank r's. Its chunk is that of rank 0.
double outcome(const std::string& algorithm, const Arithmetic& arithmetic,
               const std::vector<double>& values) {
  RankBuffers inputs;
  for (const double value : values) inputs.push_back(test::codes_of(arithmetic.element, {value}));
  const RankBuffers outputs = run(algorithm, arithmetic, inputs);
  for (const auto& output : outputs) REQUIRE(output == outputs[0]);
  return decode_spec(arithmetic.element, test::code_at(arithmetic.element, outputs[0], 0));
}

double f32_outcome(const std::string& algorithm, Op op, const std::vector<double>& values) {
  return outcome(algorithm, arithmetic_of(Format::f32, "none", op, Accumulate::element), values);
}

bool is_minus_zero(double x) { return x == 0 && std::signbit(x); }
bool is_plus_zero(double x) { return x == 0 && !std::signbit(x); }

std::string words(const std::string& algorithm, const Arithmetic& a, int ranks,
                  std::int64_t count) {
  return algorithm + ", " + std::string(model::format(a.element).name) + ", wire " + a.wire.name() +
         ", " + std::string(name(a.op)) + ", " + std::string(name(a.accumulate)) + ", " +
         std::to_string(ranks) + " ranks, " + std::to_string(count) + " elements";
}

}  // namespace

TEST_CASE("run equals the contract: every algorithm and arithmetic, 1 to 9 ranks and 16",
          "[reference]") {
  constexpr std::int64_t kCounts[] = {1, 300, 127, 40, 129, 513, 0, 257, 3, 16, 128};
  std::uint64_t seed = 0;
  for (const char* algorithm : kAlgorithms) {
    for (const Arithmetic& a : test::every_arithmetic(algorithm)) {
      for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16}) {
        const std::int64_t count = kCounts[++seed % std::size(kCounts)];
        const RankBuffers inputs = test::mixed_inputs(a.element, ranks, count, seed);
        const RankBuffers outputs =
            run(algorithm, a, inputs, 1 + static_cast<int>(seed % 3), seed % 2 == 0);
        INFO(words(algorithm, a, ranks, count));
        REQUIRE(first_difference(a.element, outputs, test::contract_oracle(algorithm, a, inputs)) ==
                "");
      }
    }
  }
}

TEST_CASE("run equals the contract where every rank has several chunks' worth of blocks",
          "[reference]") {
  for (const char* algorithm : kAlgorithms) {
    for (const char* wire :
         {"e4m3fn:b128:f32", "e5m2:b16:e8m0", "e4m3fnuz:b32:f16", "e5m2fnuz:b256:e8m0:rceil"}) {
      const Arithmetic a = arithmetic_of(Format::bf16, wire, Op::avg);
      for (const std::int64_t count : {1024, 3 * 1024 + 1, 4095}) {
        const RankBuffers inputs = test::mixed_inputs(a.element, 3, count, 19);
        INFO(words(algorithm, a, 3, count));
        REQUIRE(first_difference(a.element, run(algorithm, a, inputs, 2),
                                 test::contract_oracle(algorithm, a, inputs)) == "");
      }
    }
  }
}

TEST_CASE("all ranks end with the same bits, in place or not, whatever the lanes", "[reference]") {
  for (const char* algorithm : kAlgorithms) {
    for (const Arithmetic& a : test::every_arithmetic(algorithm)) {
      const RankBuffers inputs = test::mixed_inputs(a.element, 5, 700, 23);
      const RankBuffers once = run(algorithm, a, inputs);
      INFO(words(algorithm, a, 5, 700));
      for (const auto& output : once) REQUIRE(output == once[0]);
      for (const int lanes : {2, 3, 5}) REQUIRE(run(algorithm, a, inputs, lanes, true) == once);
    }
  }
}

TEST_CASE("the ring adds its own value last, and starts with that of the rank above",
          "[reference]") {
  // One element: the chunk of rank 0, so ranks 1, 2, 0.
  REQUIRE(f32_outcome("ring", Op::sum, {0x1p24, 1, 1}) == 0x1p24 + 2);
  REQUIRE(f32_outcome("ring", Op::sum, {1, 1, 0x1p24}) == 0x1p24);
  REQUIRE(f32_outcome("flat", Op::sum, {1, 1, 0x1p24}) == 0x1p24 + 2);
}

TEST_CASE("the ring has no zero to start from: -0 everywhere stays -0", "[reference]") {
  REQUIRE(is_minus_zero(f32_outcome("ring", Op::sum, {-0.0, -0.0, -0.0})));
  REQUIRE(is_plus_zero(f32_outcome("flat", Op::sum, {-0.0, -0.0, -0.0})));
  const Arithmetic ocp = arithmetic_of(Format::f32, "e4m3fn:b32:e8m0", Op::sum);
  const Arithmetic fnuz = arithmetic_of(Format::f32, "e4m3fnuz:b32:f16", Op::sum);
  REQUIRE(is_minus_zero(outcome("ring", ocp, {-0.0, -0.0})));
  REQUIRE(is_plus_zero(outcome("ring", fnuz, {-0.0, -0.0})));
}

TEST_CASE("the ring encodes a partial sum at each hop, and never a rank's own value but the first",
          "[reference]") {
  const Arithmetic e5m2 = arithmetic_of(Format::f32, "e5m2", Op::sum);
  REQUIRE(outcome("ring", e5m2, {3, 9}) == 12);   // 9 is sent as 8: 8 + 3 = 11, a tie, 12
  REQUIRE(outcome("ring", e5m2, {9, 3}) == 12);   // 3 + 9
  REQUIRE(outcome("ring", e5m2, {17, 1}) == 16);  // 1 + 17 = 18, a tie
  REQUIRE(outcome("tree", e5m2, {9, 3}) == 12);   // 8 + 3
  REQUIRE(outcome("ring", e5m2, {9}) == 8);       // alone, it encodes all the same
}

TEST_CASE("a product starts at 1, and keeps signs of zero, infinities and NaN", "[reference]") {
  for (const char* algorithm : kAlgorithms) {
    CAPTURE(algorithm);
    REQUIRE(f32_outcome(algorithm, Op::prod, {3, -5, 7}) == -105);
    REQUIRE(is_minus_zero(f32_outcome(algorithm, Op::prod, {0, -5, 7})));
    REQUIRE(is_minus_zero(f32_outcome(algorithm, Op::prod, {-0.0})));
    REQUIRE(f32_outcome(algorithm, Op::prod, {0x1p100, 0x1p100, -1}) == -kInfinity);
    REQUIRE(std::isnan(f32_outcome(algorithm, Op::prod, {kInfinity, 0, 1})));
    REQUIRE(std::isnan(f32_outcome(algorithm, Op::prod, {1, kNan, 1})));
  }
}

TEST_CASE("a minimum or maximum keeps NaN from any rank, and -0 is below +0", "[reference]") {
  for (const char* algorithm : kAlgorithms) {
    CAPTURE(algorithm);
    REQUIRE(f32_outcome(algorithm, Op::min, {3, -5, 7}) == -5);
    REQUIRE(f32_outcome(algorithm, Op::max, {3, -5, 7}) == 7);
    REQUIRE(f32_outcome(algorithm, Op::min, {3, -kInfinity, kInfinity}) == -kInfinity);
    REQUIRE(f32_outcome(algorithm, Op::max, {3, -kInfinity, kInfinity}) == kInfinity);
    for (const auto& zeros : {std::vector<double>{0.0, -0.0}, std::vector<double>{-0.0, 0.0}}) {
      REQUIRE(is_minus_zero(f32_outcome(algorithm, Op::min, zeros)));
      REQUIRE(is_plus_zero(f32_outcome(algorithm, Op::max, zeros)));
    }
    for (std::size_t rank = 0; rank < 3; ++rank) {
      std::vector<double> values = {3, -5, 7};
      values[rank] = kNan;
      REQUIRE(std::isnan(f32_outcome(algorithm, Op::min, values)));
      REQUIRE(std::isnan(f32_outcome(algorithm, Op::max, values)));
    }
  }
}

TEST_CASE("an average is divided once, where the sum is complete and before it is rounded",
          "[reference]") {
  for (const char* algorithm : kAlgorithms) {
    CAPTURE(algorithm);
    REQUIRE(f32_outcome(algorithm, Op::avg, {1, 2, 6}) == 3);
    REQUIRE(f32_outcome(algorithm, Op::avg, {1, 0, 0}) == static_cast<double>(1.0f / 3.0f));
    REQUIRE(f32_outcome(algorithm, Op::avg, {5}) == 5);
    // The sum overflows before it is divided.
    REQUIRE(f32_outcome(algorithm, Op::avg, {0x1p127, 0x1p127}) == kInfinity);
  }
  const Arithmetic f16 = arithmetic_of(Format::f16, "none", Op::avg, Accumulate::f32);
  REQUIRE(outcome("flat", f16, {60000, 60000}) == 60000);
  const Arithmetic each = arithmetic_of(Format::f16, "none", Op::avg, Accumulate::element);
  REQUIRE(outcome("flat", each, {60000, 60000}) == kInfinity);
  // 448 + 448 fits the wire only after the division.
  for (const char* algorithm : {"tree", "ring"}) {
    const Arithmetic fp8 = arithmetic_of(Format::f32, "e4m3fn", Op::avg);
    REQUIRE(outcome(algorithm, fp8, {448, 448}) == 448);
    REQUIRE(
        std::isnan(outcome(algorithm, arithmetic_of(Format::f32, "e4m3fn", Op::sum), {448, 448})));
  }
}

TEST_CASE("a NaN or infinity spoils its block on the wire, and no other", "[reference]") {
  const Arithmetic a = arithmetic_of(Format::f32, "e4m3fn:b32:f32", Op::sum);
  std::vector<double> values(200, 1.0);
  const auto plain = test::codes_of(a.element, values);
  for (const double special : {kNan, kInfinity, -kInfinity}) {
    values[70] = special;
    const RankBuffers inputs = {plain, test::codes_of(a.element, values), plain};
    for (const char* algorithm : kAlgorithms) {
      CAPTURE(algorithm, special);
      const RankBuffers outputs = run(algorithm, a, inputs);
      for (std::int64_t i = 0; i < 200; ++i) {
        const double value = decode_spec(a.element, test::code_at(a.element, outputs[2], i));
        if (std::isnan(value) != (i / 32 == 2)) FAIL("element " << i << " is " << value);
        if (i / 32 != 2 && value != 3) FAIL("element " << i << " is " << value);
      }
    }
  }
}

TEST_CASE("the oracle tells the algorithms, operations and block wires apart", "[reference]") {
  const RankBuffers in = test::mixed_inputs(Format::bf16, 5, 1000, 29);
  const auto bits = [&](const char* algorithm, const char* wire, Op op,
                        Accumulate accumulate = Accumulate::f32) {
    return test::contract_oracle(algorithm, arithmetic_of(Format::bf16, wire, op, accumulate), in);
  };
  const auto differ = [](const RankBuffers& a, const RankBuffers& b) {
    return first_difference(Format::bf16, a, b) != "";
  };
  const RankBuffers b32 = bits("ring", "e4m3fn:b32:e8m0", Op::sum);
  REQUIRE(differ(b32, bits("flat", "e4m3fn:b32:e8m0", Op::sum)));
  REQUIRE(differ(b32, bits("tree", "e4m3fn:b32:e8m0", Op::sum)));
  REQUIRE(differ(b32, bits("ring", "e4m3fn:b64:e8m0", Op::sum)));
  REQUIRE(differ(b32, bits("ring", "e4m3fn:b32:e8m0:rceil", Op::sum)));
  REQUIRE(differ(b32, bits("ring", "e4m3fn:b32:f32", Op::sum)));
  REQUIRE(differ(b32, bits("ring", "e4m3fn:b32:e8m0", Op::avg)));
  const RankBuffers sum = bits("ring", "none", Op::sum, Accumulate::element);
  REQUIRE(differ(sum, bits("flat", "none", Op::sum, Accumulate::element)));
  const RankBuffers prod = bits("flat", "none", Op::prod, Accumulate::element);
  REQUIRE(differ(prod, bits("flat", "none", Op::prod, Accumulate::f32)));
  REQUIRE(differ(prod, bits("ring", "none", Op::prod, Accumulate::element)));
  REQUIRE(differ(bits("flat", "none", Op::min), bits("flat", "none", Op::max)));
}

}  // namespace tally::reference
