// Goal: the interpreter gives the bits of the arithmetic contract for reduce_scatter, all_gather,
// all_to_all and all_to_all_v, in place too, and for what is multiplied before it is summed.
// Method: an oracle that has never heard of schedules (contract_oracle.h), on inputs of every
// class; identities between collectives; and cases worked out by hand.

#include <algorithm>
#include <cmath>

#include "model/builders.h"
#include "reference/convert_spec.h"
#include "tests/reference/contract_oracle.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Collective;
using model::ElementType;
using model::Format;
using model::Moved;
using model::Op;
using test::first_difference;

using Counts = std::vector<std::int64_t>;
constexpr Collective kMoving[] = {Collective::all_gather, Collective::all_to_all,
                                  Collective::all_to_all_v};
constexpr std::int64_t kCounts[] = {0, 1, 127, 128, 129, 1000};

/// Counts for each pair of ranks: a third of them 0, the others from 0 to the bound.
Counts any_counts(int ranks, std::int64_t bound, std::uint64_t seed) {
  test::Random random(seed);
  Counts counts;
  for (int pair = 0; pair < ranks * ranks; ++pair) {
    const auto any = random.below(static_cast<std::uint32_t>(bound + 1));
    counts.push_back(random.below(3) == 0 ? 0 : random.below(3) == 0 ? bound : any);
  }
  return counts;
}

RankBuffers run(Collective collective, const Arithmetic& a, const RankBuffers& inputs,
                std::int64_t count, int lanes = 1, bool in_place = false,
                const Counts& send_counts = {}) {
  const model::Shape shape{
      static_cast<int>(inputs.size()), count, lanes, in_place, a, 1, send_counts};
  return reference::run(model::find_builder(collective, "flat")->build(shape), inputs);
}

/// Any bits.
RankBuffers any_bytes(int ranks, std::int64_t bytes, std::uint64_t seed) {
  test::Random random(seed);
  RankBuffers inputs(ranks);
  for (auto& input : inputs) {
    for (std::int64_t i = 0; i < bytes; ++i) input.push_back(std::byte(random.below(256)));
  }
  return inputs;
}

/// The arithmetics of a collective that only moves.
std::vector<Arithmetic> moving_arithmetics() {
  std::vector<Arithmetic> all = test::every_arithmetic("flat");
  std::erase_if(all, [](const Arithmetic& a) {
    return model::disallowed(Collective::all_gather, "flat", a).has_value();
  });
  return all;
}

std::string words(Collective collective, const Arithmetic& a, int ranks, std::int64_t count) {
  return std::string(name(collective)) + ", " + std::string(a.element.name()) + ", wire " +
         a.wire.name() + ", " + std::string(name(a.op)) + ", " + std::string(name(a.accumulate)) +
         ", " + std::to_string(ranks) + " ranks, " + std::to_string(count) + " elements";
}

/// The outputs one behind the other.
std::vector<std::byte> concatenated(const RankBuffers& buffers) {
  std::vector<std::byte> all;
  for (const auto& buffer : buffers) all.insert(all.end(), buffer.begin(), buffer.end());
  return all;
}

double value_of(const Arithmetic& a, const RankBuffers& outputs) {
  return decode_spec(a.element, test::code_at(a.element, outputs[0], 0));
}

/// The sum of one element, `values[r]` being rank r's.
double sum_of(const Arithmetic& a, const std::vector<double>& values) {
  RankBuffers inputs;
  for (const double value : values) inputs.push_back(test::codes_of(a.element, {value}));
  return value_of(a, run(Collective::all_reduce, a, inputs, 1));
}

}  // namespace

TEST_CASE("reduce_scatter equals the contract: every arithmetic, 1 to 8 ranks", "[reference]") {
  std::uint64_t seed = 0;
  for (const Arithmetic& a : test::every_arithmetic("flat")) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      const std::int64_t count = kCounts[++seed % std::size(kCounts)];
      const RankBuffers inputs = test::mixed_inputs(a.element, ranks, ranks * count, seed);
      const int lanes = 1 + static_cast<int>(seed % 3);
      INFO(words(Collective::reduce_scatter, a, ranks, count));
      const RankBuffers outputs =
          run(Collective::reduce_scatter, a, inputs, count, lanes, seed % 2 == 0);
      REQUIRE(first_difference(
                  a.element, outputs,
                  test::contract_oracle(Collective::reduce_scatter, a, inputs, count)) == "");
    }
  }
}

TEST_CASE("what only moves equals the contract: every wire, 1 to 8 ranks", "[reference]") {
  std::uint64_t seed = 0;
  for (const Collective collective : kMoving) {
    const bool has_counts = collective == Collective::all_to_all_v;
    for (const Arithmetic& a : moving_arithmetics()) {
      for (int ranks = 1; ranks <= 8; ++ranks) {
        const std::int64_t count = kCounts[++seed % std::size(kCounts)];
        const Counts counts = has_counts ? any_counts(ranks, count, seed) : Counts();
        const RankBuffers inputs =
            test::mixed_inputs(a.element, ranks, input_elements(collective, ranks, count), seed);
        INFO(words(collective, a, ranks, count));
        const RankBuffers outputs =
            run(collective, a, inputs, count, 1 + static_cast<int>(seed % 3),
                !has_counts && seed % 2 == 0, counts);
        REQUIRE(first_difference(a.element, outputs,
                                 test::contract_oracle(collective, a, inputs, count, counts)) ==
                "");
      }
    }
  }
}

TEST_CASE("without a wire every bit arrives, of NaN and of types that only move", "[reference]") {
  for (const Collective collective : kMoving) {
    for (const ElementType element :
         {ElementType(Format::f32), ElementType(Format::f16), ElementType(Format::bf16),
          ElementType(Moved::int8), ElementType(Moved::int32), ElementType(Moved::int64),
          ElementType(Moved::f64)}) {
      for (int ranks = 1; ranks <= 8; ++ranks) {
        for (const std::int64_t count : kCounts) {
          const bool has_counts = collective == Collective::all_to_all_v;
          const Counts counts = has_counts ? any_counts(ranks, count, 5) : Counts();
          const RankBuffers inputs =
              any_bytes(ranks, input_elements(collective, ranks, count) * element.bytes(), 5);
          const Arithmetic a{element};
          INFO(words(collective, a, ranks, count));
          const RankBuffers want = test::contract_oracle(collective, a, inputs, count, counts);
          REQUIRE(run(collective, a, inputs, count, 2, false, counts) == want);
          if (!has_counts) REQUIRE(run(collective, a, inputs, count, 3, true) == want);
        }
      }
    }
  }
}

TEST_CASE("run_into leaves what all_to_all_v does not reach as it was", "[reference]") {
  const Arithmetic a{Moved::int8};
  const model::Schedule schedule = model::flat_all_to_all_v({2, 3, 1, false, a, 1, {1, 0, 1, 3}});
  const RankBuffers inputs = any_bytes(2, 6, 7);
  RankBuffers outputs(2, std::vector<std::byte>(6, std::byte{0xA5}));
  run_into(schedule, inputs, outputs);
  const std::byte x = std::byte{0xA5};
  REQUIRE(outputs[0] == std::vector<std::byte>{inputs[0][0], inputs[1][0], x, x, x, x});
  REQUIRE(outputs[1] == std::vector<std::byte>{inputs[1][1], inputs[1][2], inputs[1][3], x, x, x});
}

TEST_CASE("the outputs of reduce_scatter are together those of a flat all-reduce", "[reference]") {
  for (const Arithmetic& a : test::every_arithmetic("flat")) {
    for (const std::int64_t count : {1, 127, 129, 256}) {
      // Blocks of a wire begin elsewhere where a rank's block is no multiple of their length.
      if (a.wire.is_block() && count % a.wire.length != 0) continue;
      const RankBuffers inputs = test::mixed_inputs(a.element, 3, 3 * count, 11);
      INFO(words(Collective::reduce_scatter, a, 3, count));
      const auto whole = run(Collective::all_reduce, a, inputs, 3 * count)[0];
      REQUIRE(concatenated(run(Collective::reduce_scatter, a, inputs, count)) == whole);
    }
  }
}

TEST_CASE("all_to_all twice gives everyone its own back, and is all_to_all_v of equal counts",
          "[reference]") {
  const Arithmetic a{Moved::int64};
  const RankBuffers inputs = any_bytes(5, 5 * 130 * 8, 13);
  const RankBuffers once = run(Collective::all_to_all, a, inputs, 130);
  REQUIRE(once != inputs);
  REQUIRE(run(Collective::all_to_all, a, once, 130) == inputs);
  REQUIRE(run(Collective::all_to_all_v, a, inputs, 130, 2, false, Counts(25, 130)) == once);
}

TEST_CASE("in place, inputs share memory with outputs where NCCL has them", "[reference]") {
  // Rank 1 of 2 also writes its input's block 1, which nobody reads after that, into its output.
  const Arithmetic a{Format::f32};
  const RankBuffers inputs = {test::codes_of(Format::f32, {1, 2}),
                              test::codes_of(Format::f32, {3, 4})};
  model::Schedule schedule = model::flat_reduce_scatter({2, 1, 1, true, a});
  schedule.lanes[1][0].push_back(model::Copy{{1, 0, {1, 2}}, {0, 1, {0, 1}}});
  REQUIRE(run(schedule, inputs) ==
          RankBuffers{test::codes_of(Format::f32, {6}), test::codes_of(Format::f32, {6})});
  schedule.in_place = false;
  REQUIRE(run(schedule, inputs) ==
          RankBuffers{test::codes_of(Format::f32, {4}), test::codes_of(Format::f32, {6})});
}

TEST_CASE("contributions are multiplied by the rounded factor, and rounded, before the sum",
          "[reference]") {
  const auto with = [](Format element, float factor, Accumulate accumulate = Accumulate::element) {
    return Arithmetic{element, model::kNoWire, Op::premul_sum, accumulate, factor};
  };
  REQUIRE(sum_of(with(Format::f32, 0.5f), {3, 5}) == 4);
  REQUIRE(sum_of(with(Format::f32, -2), {0.0, 0.0}) == 0);
  REQUIRE(sum_of(with(Format::bf16, 1.005859375f), {2, 2}) == 4.03125);  // rounds up to 1.0078125
  REQUIRE(sum_of(with(Format::bf16, 1.00390625f), {2, 2}) == 4);         // a tie, to even
  // 1.0078125 * 1.0078125 is 1.01568..., in bf16 1.015625: three of them without a rest.
  const double three = sum_of(with(Format::bf16, 1.0078125f, Accumulate::f32), {1.0078125, 0, 0});
  REQUIRE(three == 1.015625);
  REQUIRE(sum_of(with(Format::f16, 2), {40000, -40000}) != 0);  // infinity minus infinity
  REQUIRE(std::isnan(sum_of(with(Format::f16, 2), {40000, -40000})));
  REQUIRE(sum_of(with(Format::f16, 2, Accumulate::f32), {30000, -30000}) == 0);
}

TEST_CASE("an average by premultiplication is another one than by division", "[reference]") {
  const auto with = [](Op op) {
    return Arithmetic{Format::bf16, model::kNoWire, op, Accumulate::f32};
  };
  // 1/3 is 0.333984375 in bf16, and 7 times that 2.34375.
  REQUIRE(sum_of(with(Op::avg), {7, 7, 7}) == 7);
  REQUIRE(sum_of(with(Op::avg_premul), {7, 7, 7}) == 7.03125);
  // Nor does the sum overflow on the way.
  const Arithmetic f32{Format::f32, model::kNoWire, Op::avg_premul, Accumulate::element};
  REQUIRE(sum_of(f32, {0x1p127, 0x1p127}) == 0x1p127);
  Arithmetic divided = f32;
  divided.op = Op::avg;
  REQUIRE(std::isinf(sum_of(divided, {0x1p127, 0x1p127})));
}

TEST_CASE("the oracle tells collectives, counts and factors apart", "[reference]") {
  const RankBuffers in = test::mixed_inputs(Format::bf16, 3, 300, 17);
  const Arithmetic a{Format::bf16};
  const auto v = [&](const Counts& counts) {
    return test::contract_oracle(Collective::all_to_all_v, a, in, 100, counts);
  };
  REQUIRE(v(Counts(9, 100)) == test::contract_oracle(Collective::all_to_all, a, in, 100));
  REQUIRE(v({100, 100, 100, 99, 100, 100, 100, 100, 100}) != v(Counts(9, 100)));
  const auto scatter = [&](Op op, float factor) {
    return test::contract_oracle(Collective::reduce_scatter,
                                 {Format::bf16, model::kNoWire, op, Accumulate::element, factor},
                                 in, 100);
  };
  REQUIRE(scatter(Op::premul_sum, 1) == scatter(Op::sum, 0.5f));
  REQUIRE(scatter(Op::premul_sum, 0.5f) != scatter(Op::premul_sum, 0.25f));
  REQUIRE(scatter(Op::avg_premul, 1) != scatter(Op::avg, 1));
  REQUIRE(scatter(Op::min, 1) != scatter(Op::max, 1));
}

}  // namespace tally::reference
