// Goal: the relative bound holds for every algorithm, wire, element type and accumulator, and is
// not idle: half of it does not hold. Method: inputs in the range that the bound names, drawn so
// that roundings go one way, through the interpreter; errors against exact sums.

#include "reference/relative_bound.h"

#include <algorithm>
#include <cmath>

#include "model/builders.h"
#include "reference/convert.h"
#include "reference/exact_sum.h"
#include "reference/run.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;

struct BoundedCase {
  const model::Builder* builder;
  Arithmetic arithmetic;
  int ranks;
  std::int64_t count;
  model::Schedule schedule() const {
    return builder->build({.ranks = ranks, .count = count, .arithmetic = arithmetic});
  }
};

/// Every all-reduce and reduce-scatter that the builders allow.
std::vector<BoundedCase> all_cases(int ranks, std::int64_t count) {
  std::vector<BoundedCase> all;
  for (const model::Builder& builder : model::builders()) {
    if (model::only_moves(builder.collective)) continue;
    for (const Format dtype : {Format::f32, Format::f16, Format::bf16}) {
      for (const model::Wire& wire : model::all_wires()) {
        for (const Accumulate accumulate : {Accumulate::element, Accumulate::f32}) {
          const Arithmetic arithmetic{dtype, wire, model::Op::sum, accumulate};
          if (model::disallowed(builder.collective, builder.algorithm, arithmetic)) continue;
          all.push_back({&builder, arithmetic, ranks, count});
        }
      }
    }
  }
  return all;
}

/// Values from 1 to 4, normal in every format; of block wires from 16 to 64, whose scales f16
/// holds.
std::vector<std::vector<float>> drawn(const BoundedCase& c, test::Random& random) {
  const std::int64_t n = model::input_elements(c.builder->collective, c.ranks, c.count);
  std::vector<std::vector<float>> values(c.ranks, std::vector<float>(n));
  const double least = c.arithmetic.wire.is_block() ? 16 : 1;
  for (auto& rank : values) {
    for (float& x : rank) {
      x = static_cast<float>(least * (1 + random.below(3 << 20) * 0x1p-20));
      if (random.below(2) == 0) x = -x;
    }
    round_array(c.arithmetic.element, rank);
  }
  return values;
}

/// The largest error of any output over A.
double largest_relative_error(const BoundedCase& c, const std::vector<std::vector<float>>& values) {
  const model::Schedule schedule = c.schedule();
  RankBuffers inputs;
  for (const auto& rank : values) {
    std::vector<std::byte> codes(rank.size() * c.arithmetic.element.bytes());
    encode_array(c.arithmetic.element, model::kAsFormat, rank, codes);
    inputs.push_back(codes);
  }
  const RankBuffers outputs = run(schedule, inputs);
  // Of a block wire: blocks are counted from the first element that goes to the same rank.
  const std::int64_t length = c.arithmetic.wire.is_block() ? c.arithmetic.wire.length : 1;
  const auto magnitude = [&](const std::vector<float>& rank, std::int64_t first, std::int64_t i) {
    double largest = 0;
    const std::int64_t begin = i / length * length;
    for (std::int64_t k = begin; k < std::min(begin + length, c.count); ++k) {
      largest = std::max<double>(largest, std::fabs(rank[first + k]));
    }
    return largest;
  };
  double worst = 0;
  for (int rank = 0; rank < c.ranks; ++rank) {
    std::vector<float> got(outputs[rank].size() / c.arithmetic.element.bytes());
    decode_array(c.arithmetic.element, outputs[rank], got);
    for (std::int64_t i = 0; i < std::ssize(got); ++i) {
      const auto from = contributions(schedule, rank, i);
      ExactSum error;
      double magnitudes = 0;
      error.subtract(got[i]);
      for (int source = from.first_rank; source <= from.last_rank; ++source) {
        error.add(values[source][from.element]);
        magnitudes += magnitude(values[source], from.element - i, i);
      }
      worst = std::max(worst, std::fabs(error.rounded()) / magnitudes);
    }
  }
  return worst;
}

BoundedCase case_of(const char* algorithm, const char* wire, int ranks,
                    Format dtype = Format::f32) {
  const auto* builder = model::find_builder(model::Collective::all_reduce, algorithm);
  return {builder, model::arithmetic_of_sums(dtype, *model::parse_wire(wire)), ranks, 256};
}

/// x on every rank, in every element.
std::vector<std::vector<float>> equal(const BoundedCase& c, float x) {
  return std::vector(c.ranks, std::vector<float>(c.count, x));
}

}  // namespace

TEST_CASE("no error is beyond the relative bound", "[reference]") {
  std::uint64_t seed = 1;
  for (const int ranks : {1, 2, 3, 8}) {
    for (const BoundedCase& c : all_cases(ranks, 300)) {
      test::Random random(seed++);
      CAPTURE(c.builder->algorithm, c.arithmetic.wire.name(), c.arithmetic.element.name(), ranks);
      REQUIRE(largest_relative_error(c, drawn(c, random)) <= relative_error_bound(c.schedule()));
    }
  }
}

TEST_CASE("half of the relative bound does not hold", "[reference]") {
  // One unit roundoff above 1 lies between two values of the cast, the even one below.
  for (const char* wire : {"e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz"}) {
    const BoundedCase c = case_of("flat", wire, 8);
    const double u = model::format(c.arithmetic.wire.format).unit_roundoff();
    CAPTURE(wire);
    CHECK(largest_relative_error(c, equal(c, static_cast<float>(1 + u))) >
          relative_error_bound(c.schedule()) / 2);
  }
  // 2^-8 is half of the spacing of bf16 at 1, and every addition of less loses all of it.
  const BoundedCase c = case_of("flat", "none", 8, Format::bf16);
  auto values = equal(c, 0x1p-8f);
  for (float& x : values[0]) x = 1;
  CHECK(largest_relative_error(c, values) > relative_error_bound(c.schedule()) / 2);
  CHECK(largest_relative_error(c, values) > any_order_relative_bound(c.arithmetic, c.ranks) / 2);
}

TEST_CASE("a block's error reaches more than half of its bound", "[reference]") {
  // Just below 2 qmax / 2^emax floor cuts off; elsewhere a tie at the top of the block is lost.
  const BoundedCase floor = case_of("flat", "e4m3fn:b32:e8m0:floor", 2);
  CHECK(largest_relative_error(floor, equal(floor, 1.99999f)) >
        relative_error_bound(floor.schedule()) / 2);
  const BoundedCase amax = case_of("flat", "e4m3fn:b128:f32", 2);
  auto values = equal(amax, 448);
  for (auto& rank : values) rank[1] = 256 + 16;  // between 256 and 288
  CHECK(largest_relative_error(amax, values) > relative_error_bound(amax.schedule()) / 2);
}

TEST_CASE("every chunk has the bound that the first one has", "[reference]") {
  for (const int ranks : {2, 3, 5, 16}) {
    for (const BoundedCase& c : all_cases(ranks, 1)) {
      BoundedCase whole = c;
      whole.count = 300 * ranks;
      CAPTURE(c.builder->algorithm, c.arithmetic.wire.name(), ranks);
      REQUIRE(relative_error_bound(c.schedule()) == relative_error_bound(whole.schedule()));
    }
  }
}

TEST_CASE("more ranks never have a smaller bound, and moves without a wire lose nothing",
          "[reference]") {
  for (const char* algorithm : {"flat", "tree", "ring"}) {
    for (const char* wire : {"none", "e4m3fn", "e5m2:b32:e8m0"}) {
      for (int ranks = 1; ranks < 16; ++ranks) {
        REQUIRE(relative_error_bound(case_of(algorithm, wire, ranks).schedule()) <=
                relative_error_bound(case_of(algorithm, wire, ranks + 1).schedule()));
      }
    }
  }
  const auto* gather = model::find_builder(model::Collective::all_gather, "flat");
  CHECK(relative_error_bound(gather->build({.ranks = 4, .count = 100, .arithmetic = {}})) == 0);
}

TEST_CASE("a ring encodes each sum once more for every rank, a tree twice in all", "[reference]") {
  const double u = model::format(Format::e4m3fn).unit_roundoff();
  for (int ranks = 2; ranks <= 8; ++ranks) {
    // Nothing but the encodings: additions in f32 are too few and too small to make another.
    const double ring = 1 + relative_error_bound(case_of("ring", "e4m3fn", ranks).schedule());
    const double tree = 1 + relative_error_bound(case_of("tree", "e4m3fn", ranks).schedule());
    CHECK(std::floor(std::log(ring) / std::log1p(u)) == ranks);
    CHECK(std::floor(std::log(tree) / std::log1p(u)) == 2);
  }
}

}  // namespace tally::reference
