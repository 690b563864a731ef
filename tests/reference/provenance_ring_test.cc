// Goal: the ring sums each chunk in its own order, the same on all ranks, and a block's codes
// depend on exactly the block.
// Method: read the expressions; prove all shapes; break a ring at one place after the other. What
// holds for every schedule is in provenance_test.cc.

#include <functional>

#include "model/builders.h"
#include "reference/provenance.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Copy;
using model::Expressions;
using model::Format;
using model::Lane;
using model::Op;
using model::Reduce;
using model::Schedule;
using model::Shape;
using model::Signal;
using model::Slice;
using model::Step;
using model::Wire;

Arithmetic arithmetic_of(const std::string& wire, Op op = Op::sum) {
  const Accumulate accumulate = wire == "none" ? Accumulate::element : Accumulate::f32;
  return {Format::bf16, *model::parse_wire(wire), op, accumulate};
}

Schedule build(const std::string& algorithm, const Shape& shape) {
  return model::find_builder(model::Collective::all_reduce, algorithm)->build(shape);
}

/// The expressions of all outputs of rank 0, which must be those of every rank.
std::vector<Expressions::Id> outputs_of(const std::string& algorithm, const Shape& shape,
                                        Expressions& pool) {
  const auto outputs = provenance(build(algorithm, shape), pool);
  for (const auto& output : outputs) REQUIRE(output == outputs[0]);
  return outputs[0];
}

std::string order_of(const std::string& algorithm, const Arithmetic& arithmetic, int ranks,
                     std::int64_t element) {
  Expressions pool;
  const auto outputs = outputs_of(algorithm, {ranks, 128 * ranks, 1, false, arithmetic}, pool);
  return pool.order(outputs[element]);
}

std::string text_of(const std::string& algorithm, const Arithmetic& arithmetic, int ranks,
                    std::int64_t count, std::int64_t element) {
  Expressions pool;
  return pool.text(outputs_of(algorithm, {ranks, count, 1, false, arithmetic}, pool)[element]);
}

/// Rings to break: 3 ranks with something in each chunk; two lanes.
std::vector<Schedule> rings_to_break() {
  std::vector<Schedule> all;
  for (const char* wire : {"none", "e5m2", "e4m3fn:b32:e8m0"}) {
    all.push_back(build("ring", {3, 300, 1, false, arithmetic_of(wire)}));
    all.push_back(build("ring", {3, 700, 2, true, arithmetic_of(wire)}));
  }
  return all;
}

bool has_elements(const Step& step) {
  if (const auto* copy = std::get_if<Copy>(&step)) return copy->destination.range.size() > 0;
  if (const auto* reduce = std::get_if<Reduce>(&step)) return reduce->destination.range.size() > 0;
  return false;
}

/// Breaks each step of each ring in turn; `change` returns false where it changed nothing. The
/// first broken ring that is accepted, as text, or "" where all are rejected.
std::string first_accepted(const std::function<bool(Lane&, std::ptrdiff_t)>& change) {
  int broken_rings = 0;
  for (const Schedule& whole : rings_to_break()) {
    for (int rank = 0; rank < whole.ranks; ++rank) {
      for (std::size_t lane = 0; lane < whole.lanes[rank].size(); ++lane) {
        for (std::ptrdiff_t step = 0; step < std::ssize(whole.lanes[rank][lane]); ++step) {
          Schedule broken = whole;
          if (!change(broken.lanes[rank][lane], step)) continue;
          ++broken_rings;
          if (prove(broken)) continue;
          return whole.arithmetic.wire.name() + ", rank " + std::to_string(rank) + ", lane " +
                 std::to_string(lane) + ", step " + std::to_string(step);
        }
      }
    }
  }
  return broken_rings == 0 ? "nothing was broken" : "";
}

}  // namespace

TEST_CASE("the ring sums chunk c from rank c + 1 up to rank c", "[reference]") {
  const Arithmetic none = arithmetic_of("none");
  REQUIRE(order_of("ring", none, 3, 0) == "(0+(2+1))");
  REQUIRE(order_of("ring", none, 3, 128) == "(1+(0+2))");
  REQUIRE(order_of("ring", none, 3, 256) == "(2+(1+0))");
  REQUIRE(order_of("ring", none, 5, 4 * 128 - 1) == "(3+(2+(1+(0+4))))");
  REQUIRE(order_of("ring", none, 2, 0) == "(0+1)");
  REQUIRE(order_of("ring", none, 1, 0) == "0");
}

TEST_CASE("the ring encodes every partial sum, and the complete one once", "[reference]") {
  for (const char* wire : {"e4m3fnuz", "e4m3fn:b128:f32"}) {
    CAPTURE(wire);
    const Arithmetic a = arithmetic_of(wire);
    REQUIRE(order_of("ring", a, 3, 0) == "q((0+q((2+q(1)))))");
    REQUIRE(order_of("ring", a, 3, 383) == "q((2+q((1+q(0)))))");
    REQUIRE(order_of("ring", a, 1, 5) == "q(0)");
  }
}

TEST_CASE("operations appear in the order, and an average is divided where it is complete",
          "[reference]") {
  REQUIRE(order_of("ring", arithmetic_of("none", Op::prod), 3, 0) == "(0*(2*1))");
  REQUIRE(order_of("ring", arithmetic_of("none", Op::min), 3, 0) == "min(0,min(2,1))");
  REQUIRE(order_of("flat", arithmetic_of("none", Op::max), 3, 0) == "max(2,max(1,0))");
  REQUIRE(order_of("flat", arithmetic_of("none", Op::prod), 3, 0) == "(2*(1*0))");
  REQUIRE(order_of("ring", arithmetic_of("none", Op::avg), 3, 0) == "(0+(2+1))/3");
  REQUIRE(order_of("ring", arithmetic_of("e5m2", Op::avg), 3, 0) == "q((0+q((2+q(1))))/3)");
  REQUIRE(order_of("tree", arithmetic_of("e5m2:b32:f16", Op::avg), 2, 0) == "q((q(1)+q(0))/2)");
}

TEST_CASE("the ring without a wire rounds after every addition", "[reference]") {
  REQUIRE(text_of("ring", arithmetic_of("none"), 3, 1, 0) == "r((0.0+r((2.0+1.0))))");
  REQUIRE(text_of("ring", arithmetic_of("none", Op::avg), 3, 1, 0) ==
          "r((r((0.0+r((2.0+1.0)))))/3)");
}

TEST_CASE("a code says how many values share its scale: a short block only its own",
          "[reference]") {
  const Arithmetic b16 = arithmetic_of("e4m3fn:b16:f32");
  REQUIRE(text_of("flat", b16, 1, 20, 0) == "r((d(q16(0.0))+z))");
  REQUIRE(text_of("flat", b16, 1, 20, 15) == "r((d(q16(0.15))+z))");
  REQUIRE(text_of("flat", b16, 1, 20, 16) == "r((d(q4(0.16))+z))");
  REQUIRE(text_of("ring", b16, 2, 135, 134) == "r(d(q7((1.134+d(q7(0.134))))))");
  REQUIRE(text_of("ring", arithmetic_of("e4m3fn:b256:f32"), 2, 257, 0) ==
          "r(d(q256((0.0+d(q256(1.0))))))");
}

TEST_CASE("a code depends on the values of its whole block, and the block's place", "[reference]") {
  Expressions pool;
  const auto x = pool.input(0, 0), y = pool.input(0, 1);
  const auto both = pool.unite(pool.members(x), pool.members(y));
  REQUIRE(pool.unite(pool.members(y), pool.members(x)) == both);
  REQUIRE(pool.encode_in(x, both) != pool.encode_in(x, pool.members(x)));
  REQUIRE(pool.encode_in(x, both) != pool.encode(x));
  const Arithmetic b32 = arithmetic_of("e4m3fn:b32:f32"), b64 = arithmetic_of("e4m3fn:b64:f32");
  const auto once = outputs_of("tree", {3, 700, 1, false, b32}, pool);
  REQUIRE(outputs_of("tree", {3, 700, 4, true, b32}, pool) == once);
  REQUIRE(outputs_of("tree", {3, 700, 1, false, b64}, pool) != once);
}

TEST_CASE("rings of all shapes are all-reduces, with every kind of wire", "[reference]") {
  for (const char* wire : {"none", "e5m2", "e4m3fn:b32:e8m0", "e4m3fnuz:b256:f16"}) {
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (const std::int64_t count : {0, 1, 129, 500}) {
        const int lanes = 1 + static_cast<int>(ranks + count) % 3;
        const Op op = ranks % 2 == 0 ? Op::avg : Op::sum;
        const auto counterexample =
            prove(build("ring", {ranks, count, lanes, count % 2 == 0, arithmetic_of(wire, op)}));
        if (counterexample) FAIL(wire << ", " << ranks << " ranks: " << counterexample->what);
      }
    }
  }
}

TEST_CASE("flat and tree with block wires are all-reduces", "[reference]") {
  for (const char* algorithm : {"flat", "tree"}) {
    for (const Wire& wire : model::all_wires()) {
      const Arithmetic a = arithmetic_of(wire.name(), Op::avg);
      for (const int ranks : {1, 2, 5}) {
        const auto counterexample = prove(build(algorithm, {ranks, 300, 2, false, a}));
        if (counterexample) FAIL(wire.name() << ": " << counterexample->what);
      }
    }
  }
}

TEST_CASE("a ring without any one copy, sum or signal is rejected", "[reference]") {
  REQUIRE(first_accepted([](Lane& lane, std::ptrdiff_t step) {
            const bool is_signal = std::holds_alternative<Signal>(lane[step]);
            if (!is_signal && !has_elements(lane[step])) return false;
            lane.erase(lane.begin() + step);
            return true;
          }) == "");
}

TEST_CASE("a ring that takes one value from another rank, or twice, is rejected", "[reference]") {
  // But the copies to the output: they may as well read the rank above, which was just given it.
  const int output = buffer_with(rings_to_break()[0], model::Role::output);
  REQUIRE(first_accepted([&](Lane& lane, std::ptrdiff_t step) {
            auto* copy = std::get_if<Copy>(&lane[step]);
            if (copy == nullptr || !has_elements(lane[step])) return false;
            if (copy->destination.buffer == output) return false;
            copy->source.rank = (copy->source.rank + 1) % 3;
            return true;
          }) == "");
  for (const std::size_t which : {0, 1}) {
    REQUIRE(first_accepted([&](Lane& lane, std::ptrdiff_t step) {
              auto* reduce = std::get_if<Reduce>(&lane[step]);
              if (reduce == nullptr || !has_elements(lane[step])) return false;
              reduce->sources[which] = reduce->sources[1 - which];
              return true;
            }) == "");
  }
}

TEST_CASE("an owner that outputs its sum before it is encoded is rejected", "[reference]") {
  for (const char* wire : {"e5m2", "e4m3fn:b32:e8m0"}) {
    Schedule ring = build("ring", {3, 384, 1, false, arithmetic_of(wire)});
    const int output = buffer_with(ring, model::Role::output);
    Lane& lane = ring.lanes[1][0];
    std::ptrdiff_t last_sum = -1;
    for (std::ptrdiff_t i = 0; i < std::ssize(lane); ++i) {
      if (std::holds_alternative<Reduce>(lane[i])) last_sum = i;
    }
    REQUIRE(last_sum >= 0);
    Reduce direct = std::get<Reduce>(lane[last_sum]);
    direct.destination.buffer = output;
    for (Step& step : lane) {
      auto* copy = std::get_if<Copy>(&step);
      if (copy != nullptr && copy->destination.buffer == output &&
          copy->destination.range == direct.destination.range) {
        copy->source = copy->destination;  // leaves what is there
      }
    }
    lane.insert(lane.begin() + last_sum, direct);
    const auto counterexample = prove(ring);
    REQUIRE(counterexample);
    REQUIRE(counterexample->what.find("but another expression on rank 0") != std::string::npos);
  }
}

}  // namespace tally::reference
