// Goal: a plan's cases are what its lists say: each once, none that there is not, and the default
// run leaves nothing out that there is.
// Method: the default plans as they are, and small plans with one list changed.

#include "verify/plan.h"

#include <algorithm>
#include <set>

#include "tests/support/catch.h"
#include "verify/names.h"

namespace {

using namespace tally;
using model::Collective;
using model::Format;
using model::Moved;
using model::Op;
using verify::Case;
using verify::Placement;
using verify::Plan;

/// All-reduces of two counts, of which everything is allowed.
Plan small_plan() {
  Plan plan;
  plan.collectives = {Collective::all_reduce};
  plan.algorithms = {"flat"};
  plan.dtypes = {Format::f32};
  plan.wires = {model::kNoWire};
  plan.ops = {Op::sum};
  plan.ranks = {4};
  plan.counts = {100, 1000};
  plan.placements = {Placement::out_of_place};
  plan.inputs = {*reference::open_input("normal")};
  return plan;
}

std::vector<Case> cases_of(const Plan& plan) {
  auto all = verify::cases({plan});
  REQUIRE(all);
  return *all;
}

/// What `get` finds in the cases.
template <class Get>
auto found(const std::vector<Case>& cases, Get get) {
  std::set<decltype(get(cases.front()))> all;
  for (const Case& c : cases) all.insert(get(c));
  return all;
}

/// As `tally verify` has them, but for the bundled tensors.
const std::vector<Case>& default_cases() {
  static const std::vector<Case> all = [] {
    std::vector<Plan> plans = verify::default_plans();
    for (Plan& plan : plans) plan.leaves_out_missing = true;
    return *verify::cases(plans);
  }();
  return all;
}

}  // namespace

TEST_CASE("the default run has each case once, and each can be replayed", "[verify]") {
  std::set<std::string> texts;
  for (const Case& c : default_cases()) {
    CAPTURE(c.text());
    REQUIRE(texts.insert(c.text()).second);
    const auto again = verify::parse_case(c.text());
    REQUIRE(again);
    REQUIRE(again->text() == c.text());
  }
}

TEST_CASE("the default run has every algorithm of every collective", "[verify]") {
  std::set<std::pair<Collective, std::string>> built;
  for (const model::Builder& builder : model::builders()) {
    built.emplace(builder.collective, builder.algorithm);
  }
  CHECK(found(default_cases(),
              [](const Case& c) { return std::pair(c.collective, c.algorithm); }) == built);
  for (const auto& [collective, algorithm] : built) {
    std::vector<Case> of_one;
    for (const Case& c : default_cases()) {
      if (c.collective == collective && c.algorithm == algorithm) of_one.push_back(c);
    }
    CAPTURE(model::name(collective), algorithm);
    const auto wires = found(of_one, [](const Case& c) { return c.arithmetic.wire.name(); });
    CHECK((wires.contains("none") && wires.contains("e4m3fn:sat")));
    CHECK(wires.contains("e4m3fn:b128:f32") == (algorithm != "flat_ll"));
    const bool may_be_in_place = collective != Collective::all_to_all_v;
    CHECK(found(of_one, [](const Case& c) { return c.placement; }).size() ==
          (may_be_in_place ? 3 : 2));
  }
}

TEST_CASE("the default run has every operation and every type", "[verify]") {
  const auto ops = found(default_cases(), [](const Case& c) { return c.arithmetic.op; });
  CHECK(ops.size() == model::all_ops().size());
  const auto types = found(default_cases(),
                           [](const Case& c) { return std::string(c.arithmetic.element.name()); });
  CHECK(types == std::set<std::string>{"bf16", "f16", "f32", "f64", "int32", "int64", "int8"});
}

TEST_CASE("types that only move are in no case that computes", "[verify]") {
  Plan plan = small_plan();
  plan.collectives = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                      Collective::all_to_all, Collective::all_to_all_v};
  plan.dtypes = {Format::f32, Moved::int8, Moved::int64, Moved::f64};
  plan.leaves_out_missing = true;
  for (const Case& c : cases_of(plan)) {
    CAPTURE(c.text());
    CHECK((!c.arithmetic.element.moves_only() || model::only_moves(c.collective)));
  }
  // f32 in five collectives, each of the others in the three that only move; two counts.
  CHECK(cases_of(plan).size() == 2 * (5 + 3 * 3));
}

TEST_CASE("what there is not is left out of lists that nobody chose, else it is an error",
          "[verify]") {
  struct Missing {
    const char* where;
    std::size_t left;  // cases, where it is left out
    void (*ask)(Plan&);
  };
  const Missing all[] = {
      {"--algorithm", 6,
       [](Plan& p) {
         p.collectives.push_back(Collective::all_gather);
         p.algorithms.push_back("tree");
       }},
      {"--placement", 6,
       [](Plan& p) {
         p.collectives.push_back(Collective::all_to_all_v);
         p.placements.push_back(Placement::in_place);
       }},
      {"--op", 6,
       [](Plan& p) {
         p.ops.push_back(Op::max);
         p.wires.push_back(*model::parse_wire("e4m3fn"));
       }},
      {"--wire", 6,
       [](Plan& p) {
         p.algorithms.push_back("flat_ll");
         p.wires = {*model::parse_wire("e4m3fn"), *model::parse_wire("e4m3fn:b32:f32")};
       }},
      {"--accumulate", 2,
       [](Plan& p) {
         p.algorithms.push_back("ring");
         p.accumulate = model::Accumulate::f32;
       }},
  };
  for (const Missing& missing : all) {
    Plan plan = small_plan();
    missing.ask(plan);
    const auto refused = verify::cases({plan});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().where == missing.where);
    plan.leaves_out_missing = true;
    CHECK(cases_of(plan).size() == missing.left);
  }
}

TEST_CASE("where nothing but what there is not was asked for, it is an error", "[verify]") {
  Plan plan = small_plan();
  plan.collectives = {Collective::all_gather};
  plan.algorithms = {"ring"};
  plan.leaves_out_missing = true;
  const auto refused = verify::cases({plan});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("ring is no algorithm of all_gather") != std::string::npos);
}

TEST_CASE("the same case in two plans is run once", "[verify]") {
  const Plan plan = small_plan();
  CHECK(verify::cases({plan, plan})->size() == cases_of(plan).size());
}

TEST_CASE("a size is that of a rank's larger buffer", "[verify]") {
  Plan plan = small_plan();
  plan.counts.clear();
  plan.sizes = {4096};
  const std::pair<Collective, std::int64_t> wanted[] = {{Collective::all_reduce, 1024},
                                                        {Collective::reduce_scatter, 256},
                                                        {Collective::all_gather, 256},
                                                        {Collective::all_to_all, 256},
                                                        {Collective::all_to_all_v, 256}};
  for (const auto& [collective, count] : wanted) {
    plan.collectives = {collective};
    CAPTURE(model::name(collective));
    CHECK(cases_of(plan).at(0).counts.front() == count);
  }
}

TEST_CASE("calls in a row have different sizes, replays of a graph one", "[verify]") {
  Plan plan = small_plan();
  const auto sizes = [&] {
    const auto counts = cases_of(plan).at(0).counts;
    REQUIRE(counts.size() == 3);
    return std::set(counts.begin(), counts.end()).size();
  };
  CHECK(sizes() == 3);
  plan.graph = true;
  CHECK(sizes() == 1);
}

TEST_CASE("premul_sum alone has the plan's factor", "[verify]") {
  Plan plan = small_plan();
  plan.ops = model::all_ops();
  plan.factor = 0.3f;
  int with_factor = 0;
  for (const Case& c : cases_of(plan)) {
    const bool has_factor = c.text().find("/premul_sum:0.3/") != std::string::npos;
    CHECK(has_factor == (c.arithmetic.op == Op::premul_sum));
    CHECK((c.arithmetic.factor == 1) == !has_factor);
    with_factor += has_factor;
  }
  CHECK(with_factor == 2);
}
