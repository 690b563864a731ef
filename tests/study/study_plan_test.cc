// Goal: a plan becomes exactly the cells that it asks for, and what does not fit together is said.
// Method: the cells of small plans are written out; files are the bundled tensors.

#include "study/study_plan.h"

#include "tests/support/catch.h"

namespace {

using namespace tally;
using model::Accumulate;
using model::Format;

model::Wire wire(const char* name) { return *model::parse_wire(name); }

study::Plan small_plan() {
  study::Plan plan = study::default_plan();
  plan.inputs = {*reference::open_input("normal")};
  plan.ranks = {2, 4};
  plan.wires = {model::kNoWire, wire("e4m3fn")};
  plan.algorithms = {"flat", "ring"};
  return plan;
}

std::vector<std::string> texts(const std::vector<study::Cell>& cells) {
  std::vector<std::string> all;
  for (const study::Cell& cell : cells) {
    all.push_back(cell.input.name + " " + std::to_string(cell.ranks) + " " +
                  cell.arithmetic.wire.name() + " " + cell.algorithm + " " +
                  std::string(model::name(cell.arithmetic.accumulate)));
  }
  return all;
}

}  // namespace

TEST_CASE("lists multiply out, the later ones faster, with the accumulators that wires have",
          "[study]") {
  const auto cells = study::cells(small_plan());
  REQUIRE(cells);
  CHECK(texts(*cells) ==
        std::vector<std::string>{"normal 2 none flat element", "normal 2 none ring element",
                                 "normal 2 e4m3fn flat f32", "normal 2 e4m3fn ring f32",
                                 "normal 4 none flat element", "normal 4 none ring element",
                                 "normal 4 e4m3fn flat f32", "normal 4 e4m3fn ring f32"});
  for (const study::Cell& cell : *cells) CHECK(cell.count == study::kDefaultCount);
}

TEST_CASE("of the accumulators that are asked for, a wire and algorithm take what they allow",
          "[study]") {
  study::Plan plan = small_plan();
  plan.ranks = {2};
  plan.accumulates = {Accumulate::element, Accumulate::f32};
  const auto cells = study::cells(plan);
  REQUIRE(cells);
  CHECK(texts(*cells) ==
        std::vector<std::string>{"normal 2 none flat element", "normal 2 none flat f32",
                                 "normal 2 none ring element", "normal 2 e4m3fn flat f32",
                                 "normal 2 e4m3fn ring f32"});
}

TEST_CASE("an accumulator that nothing allows is an error", "[study]") {
  study::Plan plan = small_plan();
  plan.accumulates = {Accumulate::element};
  const auto with_wire = study::cells(plan);
  REQUIRE_FALSE(with_wire);
  CHECK(with_wire.error().where == "--accumulate");
  plan.wires = {model::kNoWire};
  CHECK(study::cells(plan));
  plan.accumulates = {Accumulate::f32};
  CHECK_FALSE(study::cells(plan));
  plan.algorithms = {"flat"};
  CHECK(study::cells(plan));
}

TEST_CASE("a file gives its row length, and must have the rows and elements asked for", "[study]") {
  study::Plan plan = small_plan();
  plan.inputs = *reference::bundled_tensors();
  const auto cells = study::cells(plan);
  REQUIRE(cells);
  REQUIRE(cells->size() == 8 * plan.inputs.size());
  for (const study::Cell& cell : *cells) CHECK(cell.count == cell.input.tensor->columns);
  plan.ranks = {9};
  CHECK_FALSE(study::cells(plan));
  plan.ranks = {8};
  plan.counts = {7000};
  CHECK_FALSE(study::cells(plan));
  plan.counts = {6912, 1};
  CHECK(study::cells(plan));
}

TEST_CASE("more cells than can be kept are refused", "[study]") {
  study::Plan plan = small_plan();
  plan.counts.assign(1'000'000, 1);
  CHECK_FALSE(study::cells(plan));
}
