// Goal: the interpreter gives the bits of the arithmetic contract.
// Method: small cases worked out by hand; then an oracle of a few lines, which sums element by
// element with the defining conversions and has never heard of schedules, on random bits.

#include "reference/run.h"

#include <array>
#include <cmath>
#include <limits>

#include "model/builders.h"
#include "reference/convert_spec.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using model::Op;
using model::Rounding;
using model::Wire;
using test::first_difference;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Arithmetic arithmetic_of(Format element, const std::string& wire, Accumulate accumulate) {
  return {element, *model::parse_wire(wire), Op::sum, accumulate};
}

model::Schedule build(const std::string& algorithm, const model::Shape& shape) {
  return model::find_builder(model::Collective::all_reduce, algorithm)->build(shape);
}

RankBuffers run(const std::string& algorithm, const Arithmetic& arithmetic, const RankBuffers& in,
                int lanes = 1, bool in_place = false) {
  const auto bytes = static_cast<std::size_t>(model::format(arithmetic.element).bytes());
  const std::int64_t count = static_cast<std::int64_t>(in[0].size() / bytes);
  const int ranks = static_cast<int>(in.size());
  return reference::run(build(algorithm, {ranks, count, lanes, in_place, arithmetic}), in);
}

/// The code on rank 0 of the sum of one element, `values[r]` being rank r's.
std::uint32_t sum_code(const std::string& algorithm, const Arithmetic& arithmetic,
                       const std::vector<double>& values) {
  RankBuffers inputs;
  for (const double value : values) inputs.push_back(test::codes_of(arithmetic.element, {value}));
  return test::code_at(arithmetic.element, run(algorithm, arithmetic, inputs)[0], 0);
}

/// The same as a value.
double sum_of(const std::string& algorithm, Format element, const std::string& wire,
              Accumulate accumulate, const std::vector<double>& values) {
  const Arithmetic arithmetic = arithmetic_of(element, wire, accumulate);
  return decode_spec(element, sum_code(algorithm, arithmetic, values));
}

double flat(Format element, Accumulate accumulate, const std::vector<double>& values) {
  return sum_of("flat", element, "none", accumulate, values);
}
double flat(const std::string& wire, const std::vector<double>& values) {
  return sum_of("flat", Format::f32, wire, Accumulate::f32, values);
}
double tree(const std::string& wire, const std::vector<double>& values) {
  return sum_of("tree", Format::f32, wire, Accumulate::f32, values);
}

std::uint32_t to(Format format, double x, model::Overflow overflow = model::kAsFormat) {
  return encode_spec(format, x, Rounding::nearest_even, overflow);
}

/// What the contract says of one element, given its code on every rank.
std::uint32_t oracle(const std::string& algorithm, const Arithmetic& a,
                     const std::vector<std::uint32_t>& codes) {
  const auto through_wire = [&](double x) {
    return a.wire.is_none() ? x : decode_spec(a.wire.format, to(a.wire.format, x, a.wire.overflow));
  };
  double sum = 0;
  for (const std::uint32_t code : codes) {
    // A sum of two f32 is exact enough in double to be rounded to f32 as if it were exact.
    sum =
        decode_spec(Format::f32, to(Format::f32, sum + through_wire(decode_spec(a.element, code))));
    if (a.accumulate == Accumulate::element) sum = decode_spec(a.element, to(a.element, sum));
  }
  return to(a.element, algorithm == "tree" ? through_wire(sum) : sum);
}

RankBuffers oracle(const std::string& algorithm, const Arithmetic& a, const RankBuffers& in) {
  std::vector<std::byte> sums;
  const auto count = std::ssize(in[0]) / model::format(a.element).bytes();
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::uint32_t> codes;
    for (const auto& input : in) codes.push_back(test::code_at(a.element, input, i));
    test::append_code(a.element, oracle(algorithm, a, codes), sums);
  }
  return RankBuffers(in.size(), sums);
}

std::vector<Arithmetic> all_arithmetics() {
  std::vector<Arithmetic> all;
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    all.push_back(arithmetic_of(element, "none", Accumulate::element));
    for (const Wire& wire : model::all_wires()) {
      if (!wire.is_none() && wire.kind != model::Wire::Kind::cast) continue;
      all.push_back({element, wire, Op::sum, Accumulate::f32});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("where a sum is rounded is seen in its bits", "[reference]") {
  const std::vector<double> bf16_values = {256, 1, 1, 1, 1, 1, 1, 1};
  REQUIRE(flat(Format::bf16, Accumulate::element, bf16_values) == 256);
  REQUIRE(flat(Format::bf16, Accumulate::f32, bf16_values) == 264);  // 263 is a tie: to even
  REQUIRE(sum_code("flat", arithmetic_of(Format::bf16, "none", Accumulate::f32), bf16_values) ==
          0x4384);
  REQUIRE(flat(Format::f16, Accumulate::element, {2048, 1, 1}) == 2048);
  REQUIRE(flat(Format::f16, Accumulate::f32, {2048, 1, 1}) == 2050);
  REQUIRE(flat(Format::f32, Accumulate::element, {0x1p24, 1, 1}) == 0x1p24);
  REQUIRE(flat(Format::f32, Accumulate::f32, {0x1p24, 1, 1}) == 0x1p24);
}

TEST_CASE("ranks are added in ascending order", "[reference]") {
  REQUIRE(flat(Format::f32, Accumulate::element, {1, 1, 0x1p24}) == 0x1p24 + 2);
  REQUIRE(flat(Format::f32, Accumulate::element, {0x1p24, 1, 1}) == 0x1p24);
  REQUIRE(flat(Format::f32, Accumulate::element, {0x1p127, 0x1p127, -0x1p127}) == kInfinity);
  REQUIRE(flat(Format::f32, Accumulate::element, {0x1p127, -0x1p127, 0x1p127}) == 0x1p127);
}

TEST_CASE("the accumulator starts at +0, so that -0 everywhere gives +0", "[reference]") {
  for (const Arithmetic& a : all_arithmetics()) {
    for (const char* algorithm : {"flat", "tree"}) {
      CAPTURE(algorithm, a.wire.name());
      REQUIRE(sum_code(algorithm, a, {-0.0, -0.0, -0.0}) == 0);
      REQUIRE(sum_code(algorithm, a, {-0.0}) == 0);
    }
  }
}

TEST_CASE("a sum that leaves f16 on the way is infinite in f16 and finite in f32", "[reference]") {
  const std::vector<double> values = {60000, 60000, -60000};
  REQUIRE(flat(Format::f16, Accumulate::element, values) == kInfinity);
  REQUIRE(flat(Format::f16, Accumulate::f32, values) == 60000);
  REQUIRE(std::isnan(flat(Format::f16, Accumulate::element, {60000, 60000, -kInfinity})));
}

TEST_CASE("NaN and infinity go where IEEE 754 sends them", "[reference]") {
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    for (const Accumulate accumulate : {Accumulate::element, Accumulate::f32}) {
      REQUIRE(std::isnan(flat(element, accumulate, {1, kNan, 2})));
      REQUIRE(flat(element, accumulate, {1, kInfinity, 2}) == kInfinity);
      REQUIRE(flat(element, accumulate, {-kInfinity, 1}) == -kInfinity);
      REQUIRE(std::isnan(flat(element, accumulate, {kInfinity, -kInfinity})));
    }
  }
}

TEST_CASE("the smallest numbers are kept, not flushed", "[reference]") {
  REQUIRE(flat(Format::f32, Accumulate::element, {0x1p-149, 0x1p-149}) == 0x1p-148);
  REQUIRE(flat(Format::f16, Accumulate::element, {0x1p-24, 0x1p-24, 0x1p-24}) == 0x3p-24);
  REQUIRE(flat("e4m3fnuz", {0x1p-10, 0x1p-10}) == 0x1p-9);
  REQUIRE(flat("e4m3fnuz", {0x1p-11, 0x1p-11}) == 0);  // each rounds to even, zero
}

TEST_CASE("a wire quantises each contribution, the tree's also the sum", "[reference]") {
  // 31 rounds to 32 in 3 fraction bits, a tie between 30 and 32; 17 to 16, a tie; 19 to 20.
  const std::vector<double> eight_times_31(8, 31.0);
  REQUIRE(flat("e4m3fn", eight_times_31) == 256);
  REQUIRE(tree("e4m3fn", eight_times_31) == 256);
  REQUIRE(flat("e4m3fn", {17, 19}) == 36);
  REQUIRE(tree("e4m3fn", {17, 19}) == 36);
  REQUIRE(flat("e4m3fn", {17, 1}) == 17);
  REQUIRE(tree("e4m3fn", {17, 1}) == 16);
  REQUIRE(flat("e5m2", {9, 9}) == 16);   // 9 is a tie between 8 and 10
  REQUIRE(flat("e5m2", {11, 1}) == 13);  // 11 is a tie between 10 and 12
  REQUIRE(tree("e5m2", {11, 1}) == 12);
}

TEST_CASE("a sum beyond the wire overflows as the format has it", "[reference]") {
  const std::vector<double> eight_times_31(8, 31.0);
  REQUIRE(flat("e4m3fnuz", eight_times_31) == 256);
  REQUIRE(std::isnan(tree("e4m3fnuz", eight_times_31)));
  REQUIRE(tree("e4m3fnuz:sat", eight_times_31) == 240);
  REQUIRE(flat("e4m3fnuz", std::vector<double>(8, 30.0)) == 240);
  REQUIRE(tree("e4m3fnuz", std::vector<double>(8, 30.0)) == 240);
  REQUIRE(std::isnan(tree("e4m3fn", {448, 32})));
  REQUIRE(tree("e4m3fn", {448, 16}) == 448);  // 464 is the tie, and 448 is even
  REQUIRE(tree("e4m3fn:sat", {448, 448}) == 448);
  REQUIRE(tree("e5m2", {57344, 8192}) == kInfinity);
  REQUIRE(tree("e5m2:sat", {57344, 8192}) == 57344);
  REQUIRE(std::isnan(tree("e5m2fnuz", {57344, 8192})));
  REQUIRE(flat("e5m2", {57344, 8192}) == 65536);
}

TEST_CASE("infinity on a wire is what the format makes of it", "[reference]") {
  REQUIRE(std::isnan(flat("e4m3fn", {kInfinity, 1})));
  REQUIRE(flat("e4m3fn:sat", {-kInfinity, 1}) == -447);
  REQUIRE(flat("e5m2", {kInfinity, 1}) == kInfinity);
  REQUIRE(flat("e5m2:sat", {kInfinity, 1}) == 57345);
  REQUIRE(std::isnan(flat("e5m2fnuz", {kInfinity, 1})));
  REQUIRE(std::isnan(flat("e4m3fnuz:sat", {kNan, 1})));
}

TEST_CASE("run equals the oracle on random bits: all arithmetics, 1 to 16 ranks", "[reference]") {
  constexpr std::int64_t kCounts[] = {0, 1, 3, 127, 128, 129, 257};
  std::uint64_t seed = 0;
  for (const Arithmetic& a : all_arithmetics()) {
    for (int ranks = 1; ranks <= 16; ++ranks) {
      const std::int64_t count = kCounts[++seed % std::size(kCounts)];
      const RankBuffers inputs = test::random_inputs(a.element, ranks, count, seed);
      for (const char* algorithm : {"flat", "tree"}) {
        CAPTURE(algorithm, ranks, count, a.wire.name(), std::string(name(a.accumulate)));
        const RankBuffers outputs = run(algorithm, a, inputs, 1 + ranks % 3);
        REQUIRE(first_difference(a.element, outputs, oracle(algorithm, a, inputs)) == "");
      }
    }
  }
}

TEST_CASE("run equals the oracle across the borders of its tiles", "[reference]") {
  const Arithmetic a = arithmetic_of(Format::bf16, "e5m2", Accumulate::f32);
  for (const std::int64_t count : {1023, 1024, 1025, 3000}) {
    const RankBuffers inputs = test::random_inputs(a.element, 2, count, 7);
    CAPTURE(count);
    REQUIRE(first_difference(a.element, run("flat", a, inputs), oracle("flat", a, inputs)) == "");
    REQUIRE(first_difference(a.element, run("tree", a, inputs), oracle("tree", a, inputs)) == "");
  }
}

TEST_CASE("the oracle tells the algorithms, accumulators and wires apart", "[reference]") {
  for (const Format element : {Format::f16, Format::bf16}) {
    const RankBuffers in = test::random_inputs(element, 5, 1000, 3);
    const auto bits = [&](const char* algorithm, const char* wire, Accumulate accumulate) {
      return oracle(algorithm, arithmetic_of(element, wire, accumulate), in);
    };
    const RankBuffers exact = bits("flat", "none", Accumulate::f32);
    REQUIRE(first_difference(element, exact, bits("flat", "none", Accumulate::element)) != "");
    const RankBuffers cast = bits("flat", "e5m2", Accumulate::f32);
    REQUIRE(first_difference(element, exact, cast) != "");
    REQUIRE(first_difference(element, cast, bits("tree", "e5m2", Accumulate::f32)) != "");
    REQUIRE(first_difference(element, cast, bits("flat", "e5m2:sat", Accumulate::f32)) != "");
    REQUIRE(first_difference(element, cast, bits("flat", "e5m2fnuz", Accumulate::f32)) != "");
  }
}

TEST_CASE("the random inputs reach every class of numbers", "[reference]") {
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    const RankBuffers inputs = test::random_inputs(element, 2, 1000, 1);
    std::array<int, 5> reached{};
    for (const auto& input : inputs) {
      for (std::int64_t i = 0; i < 1000; ++i) {
        const std::uint32_t code = test::code_at(element, input, i);
        ++reached[static_cast<std::size_t>(model::format(element).classify(code))];
      }
    }
    for (const int times : reached) REQUIRE(times >= 20);
  }
}

TEST_CASE("flat equals tree bit for bit where the wire is none", "[reference]") {
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    for (const Accumulate accumulate : {Accumulate::element, Accumulate::f32}) {
      const Arithmetic a = arithmetic_of(element, "none", accumulate);
      const RankBuffers inputs = test::random_inputs(element, 7, 1500, 11);
      REQUIRE(first_difference(element, run("flat", a, inputs), run("tree", a, inputs)) == "");
    }
  }
}

TEST_CASE("in place or not, and the number of lanes, change no bits", "[reference]") {
  for (const Arithmetic& a : all_arithmetics()) {
    const RankBuffers inputs = test::random_inputs(a.element, 5, 700, 13);
    for (const char* algorithm : {"flat", "tree"}) {
      CAPTURE(algorithm, a.wire.name());
      const RankBuffers once = run(algorithm, a, inputs);
      for (const int lanes : {1, 2, 5}) {
        REQUIRE(run(algorithm, a, inputs, lanes, true) == once);
        REQUIRE(run(algorithm, a, inputs, lanes, false) == once);
      }
    }
  }
}

TEST_CASE("all ranks end with the same bits", "[reference]") {
  for (const Arithmetic& a : all_arithmetics()) {
    const RankBuffers inputs = test::random_inputs(a.element, 6, 300, 17);
    for (const char* algorithm : {"flat", "tree"}) {
      const RankBuffers outputs = run(algorithm, a, inputs);
      for (const auto& output : outputs) REQUIRE(output == outputs[0]);
    }
  }
}

TEST_CASE("an input that is too short", "[.]") {
  const Arithmetic a = arithmetic_of(Format::f32, "none", Accumulate::element);
  reference::run(build("flat", {2, 3, 1, false, a}), test::random_inputs(Format::f32, 2, 2, 1));
}
TEST_CASE("an input is missing", "[.]") {
  const Arithmetic a = arithmetic_of(Format::f32, "none", Accumulate::element);
  reference::run(build("flat", {2, 3, 1, false, a}), test::random_inputs(Format::f32, 1, 3, 1));
}
TEST_CASE("a signal is missing", "[.]") {
  const Arithmetic a = arithmetic_of(Format::f32, "none", Accumulate::element);
  model::Schedule schedule = build("flat", {2, 3, 1, false, a});
  model::Lane& lane = schedule.lanes[1][0];
  lane.erase(lane.begin() + 1);
  reference::run(schedule, test::random_inputs(Format::f32, 2, 3, 1));
}
TEST_CASE("a sum of slices of two lengths", "[.]") {
  const Arithmetic a = arithmetic_of(Format::f32, "none", Accumulate::element);
  model::Schedule schedule = build("flat", {1, 3, 1, false, a});
  --std::get<model::Reduce>(schedule.lanes[0][0][1]).sources[0].range.end;
  reference::run(schedule, test::random_inputs(Format::f32, 1, 3, 1));
}

TEST_CASE("run stops the program at inputs or schedules that cannot be", "[reference]") {
  REQUIRE(test::aborts("an input that is too short", "an input has another size"));
  REQUIRE(test::aborts("an input is missing", "one input for each rank"));
  REQUIRE(test::aborts("a signal is missing", "the schedule deadlocks"));
  REQUIRE(test::aborts("a sum of slices of two lengths", "a sum keeps the length"));
}

}  // namespace tally::reference
