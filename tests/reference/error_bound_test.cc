// Goal: no error is beyond its bound, no bound is idle, and no term of a bound can be left out.
// Method: inputs made to come close, for every algorithm, wire, element type and accumulator, here
// some and in error_bound_search_test.cc many; the exact sums are exact_sum.h's.

#include "reference/error_bound.h"

#include <cmath>
#include <map>

#include "reference/convert.h"
#include "reference/error_statistics.h"
#include "tests/reference/bound_search.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Format;
using model::Op;
using test::BoundCase;
using test::BoundOutcome;
using test::Style;

BoundOutcome search(const BoundCase& c, int rounds, ErrorTerms terms = kAllErrorTerms) {
  BoundOutcome all;
  for (int round = 0; round < rounds; ++round) {
    for (int style = 0; style < test::kStyles; ++style) {
      const std::uint64_t seed = static_cast<std::uint64_t>(round * test::kStyles + style);
      const RankBuffers inputs = test::make_inputs(c, static_cast<Style>(style), seed);
      const BoundOutcome one = test::check_bounds(c, inputs, terms);
      all.elements += one.elements;
      all.bounded += one.bounded;
      all.largest_ratio = std::max(all.largest_ratio, one.largest_ratio);
      if (all.violation.empty()) all.violation = one.violation;
    }
  }
  return all;
}

BoundCase case_of(const char* algorithm, Format element, const char* wire, Op op, int ranks,
                  Accumulate accumulate = Accumulate::f32) {
  return {algorithm, {element, *model::parse_wire(wire), op, accumulate}, ranks, 1024};
}

}  // namespace

TEST_CASE("no error is beyond its bound", "[reference]") {
  for (const BoundCase& c : test::all_bound_cases({1, 2, 3, 8}, 300)) {
    const BoundOutcome outcome = search(c, 1);
    REQUIRE(outcome.violation == "");
    REQUIRE(outcome.bounded >= outcome.elements / 3);
  }
}

TEST_CASE("every kind of bound is reached to more than its half", "[reference]") {
  std::map<std::string, double> reached;
  for (const BoundCase& c : test::all_bound_cases({2, 3, 8}, 300)) {
    double& ratio = reached[c.kind() + "/ranks=" + std::to_string(c.ranks)];
    ratio = std::max(ratio, search(c, 1).largest_ratio);
  }
  for (const auto& [kind, ratio] : reached) {
    CAPTURE(kind, ratio);
    CHECK(ratio >= 0.5);
  }
}

TEST_CASE("a bound without any one of its terms is exceeded", "[reference]") {
  const std::pair<ErrorTerm, BoundCase> kLeftOut[] = {
      {ErrorTerm::wire_rounding, case_of("flat", Format::bf16, "e4m3fn", Op::sum, 2)},
      {ErrorTerm::saturation, case_of("tree", Format::f32, "e4m3fn:sat", Op::sum, 4)},
      {ErrorTerm::block_division, case_of("flat", Format::f32, "e4m3fn:b128:f32", Op::sum, 1)},
      {ErrorTerm::block_product, case_of("flat", Format::f32, "e4m3fn:b128:f32", Op::sum, 1)},
      {ErrorTerm::addition, case_of("ring", Format::bf16, "none", Op::sum, 4, Accumulate::element)},
      {ErrorTerm::mean_division, case_of("flat", Format::f32, "none", Op::avg, 3)},
      {ErrorTerm::output_rounding, case_of("flat", Format::f16, "none", Op::sum, 2)},
  };
  static_assert(std::size(kLeftOut) == kErrorTerms);
  for (const auto& [term, c] : kLeftOut) {
    CAPTURE(static_cast<int>(term), c.text());
    CHECK(search(c, 20).violation == "");
    CHECK(search(c, 20, all_but(term)).violation != "");
  }
}

TEST_CASE("what leaves its format has no bound, unless it saturates", "[reference]") {
  const auto bound_of = [](const char* wire, std::vector<double> values) {
    const BoundCase c =
        case_of("flat", Format::f32, wire, Op::sum, static_cast<int>(values.size()));
    RankBuffers inputs;
    for (const double value : values) inputs.push_back(test::codes_of(Format::f32, {value}));
    BoundCase one = c;
    one.count = 1;
    return error_bounds(one.schedule(), inputs)[0];
  };
  CHECK(bound_of("e4m3fn", {465}).bounds[0] == INFINITY);
  CHECK(bound_of("e4m3fn", {464}).bounds[0] < 17);
  CHECK(bound_of("e4m3fn", {464}).saturated[0] == 0);
  CHECK(bound_of("e4m3fnuz", {248}).bounds[0] == INFINITY);
  CHECK(bound_of("e4m3fn:sat", {480}).bounds[0] >= 32);
  CHECK(bound_of("e4m3fn:sat", {480}).bounds[0] < 33);
  CHECK(bound_of("e4m3fn:sat", {480}).saturated[0] == 1);
  CHECK(bound_of("e4m3fnuz:sat", {248}).saturated[0] == 1);
  CHECK(bound_of("e4m3fn:sat", {INFINITY}).bounds[0] == INFINITY);
  CHECK(bound_of("none", {0x1p127, 0x1p127, -0x1p127}).bounds[0] == INFINITY);
  CHECK(bound_of("none", {1, NAN}).bounds[0] == INFINITY);
  CHECK(bound_of("none", {1, 2, 0}).bounds[0] < 0x1p-21);
  CHECK(bound_of("none", {0, 7, 0}).bounds[0] == 0);
  CHECK(bound_of("e5m2", {0, -0.0}).bounds[0] == 0);
}

TEST_CASE("a wire that truncates is beyond the bound", "[reference]") {
  const BoundCase c = case_of("flat", Format::f32, "e4m3fn", Op::sum, 1);
  const RankBuffers inputs = test::make_inputs(c, Style::bell, 1);
  std::vector<float> values(c.count);
  decode_array(Format::f32, inputs[0], values);
  for (float& x : values) {
    const auto code = encode(Format::e4m3fn, x, model::Rounding::toward_zero, model::kAsFormat);
    x = decode(Format::e4m3fn, code);
  }
  const auto bounds = error_bounds(c.schedule(), inputs)[0].bounds;
  const auto errors = ExactResults({Format::f32}, inputs).errors(values);
  std::int64_t beyond = 0;
  for (std::int64_t i = 0; i < c.count; ++i) beyond += !(std::fabs(errors[i]) <= bounds[i]);
  CHECK(beyond > c.count / 4);
}

TEST_CASE("the bound of any order holds for orders that no schedule has", "[reference]") {
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    for (const Accumulate accumulate : {Accumulate::element, Accumulate::f32}) {
      const BoundCase c = case_of("flat", element, "none", Op::sum, 9, accumulate);
      double largest_ratio = 0;
      for (int style = 0; style < test::kStyles; ++style) {
        const RankBuffers inputs = test::make_inputs(c, static_cast<Style>(style), 5);
        const std::vector<double> bounds = any_order_bounds(c.arithmetic, inputs);
        std::vector<std::vector<float>> terms(c.ranks, std::vector<float>(c.count));
        for (int r = 0; r < c.ranks; ++r) decode_array(element, inputs[r], terms[r]);
        test::Random random(style);
        while (terms.size() > 1) {  // any two of what is left are added
          std::swap(terms[random.below(static_cast<std::uint32_t>(terms.size()))], terms.back());
          const std::vector<float> last = terms.back();
          terms.pop_back();
          std::vector<float>& to = terms[random.below(static_cast<std::uint32_t>(terms.size()))];
          for (std::int64_t i = 0; i < c.count; ++i) to[i] += last[i];
          if (accumulate == Accumulate::element) round_array(element, to);
        }
        round_array(element, terms[0]);
        const auto errors = ExactResults({element}, inputs).errors(terms[0]);
        std::int64_t beyond = 0;
        for (std::int64_t i = 0; i < c.count; ++i) {
          if (bounds[i] == INFINITY) continue;
          beyond += !(std::fabs(errors[i]) <= bounds[i]);
          if (errors[i] != 0)
            largest_ratio = std::max(largest_ratio, std::fabs(errors[i]) / bounds[i]);
        }
        CHECK(beyond == 0);
      }
      CAPTURE(model::format(element).name, name(accumulate));
      CHECK(largest_ratio >= 1.0 / (c.ranks - 1));
    }
  }
}

}  // namespace tally::reference
