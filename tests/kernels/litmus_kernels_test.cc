// Goal: protocols by themselves are right in every interleaving, and each fault in one is caught.
// Method: both forms, in many interleavings, in strong memory and in gfx942's caches.

#include "kernels/emulator/litmus_kernels.h"

#include <set>

#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels::emulator;

/// What is seen in so many interleavings: "hang", "race", "value".
std::set<std::string> seen(const LitmusKernel& kernel, Form form, MemoryKind memory,
                           int interleavings) {
  std::set<std::string> all;
  for (int i = 0; i < interleavings; ++i) {
    std::unique_ptr<Choices> choices = std::make_unique<RandomWalk>(i);
    if (i % 6 != 0) choices = std::make_unique<Pct>(i, i % 6, 100);
    const LitmusOutcome outcome =
        kernel.run(form, *choices, {.memory = memory, .finds_races = true});
    REQUIRE(outcome.trace.out_of_bounds.empty());
    REQUIRE(outcome.trace.stale_reads.empty());
    if (!outcome.trace.hang.empty()) all.insert("hang");
    if (!outcome.races.empty()) all.insert("race");
    if (!outcome.wrong.empty()) all.insert("value");
  }
  return all;
}

using Seen = std::set<std::string>;

/// What shows the faulty form in strong memory, and in gfx942's.
struct Expectation {
  std::string_view kernel;
  Seen strong, gfx942;
};
// In strong memory a line of 128 bytes does arrive whole: its stores precede the flag's.
const Expectation kExpectations[] = {
    {"ll128", {}, {"value"}},
    {"fifo_depth", {"race", "value"}, {"race", "value"}},
    {"fifo_slices", {"value"}, {"value"}},
    {"init_order", {"hang", "value"}, {"hang", "value"}},
};

}  // namespace

TEST_CASE("a protocol is right in every interleaving", "[kernels]") {
  for (const LitmusKernel& kernel : litmus_kernels()) {
    CAPTURE(std::string(kernel.fault.name));
    CHECK(seen(kernel, Form::healthy, MemoryKind::gfx942, 3000).empty());
    CHECK(seen(kernel, Form::healthy, MemoryKind::strong, 1000).empty());
  }
}

TEST_CASE("a fault in a protocol is seen", "[kernels]") {
  REQUIRE(litmus_kernels().size() == std::size(kExpectations));
  for (const Expectation& expected : kExpectations) {
    for (const LitmusKernel& kernel : litmus_kernels()) {
      if (kernel.fault.name != expected.kernel) continue;
      CAPTURE(std::string(expected.kernel));
      CHECK(seen(kernel, Form::faulty, MemoryKind::strong, 600) == expected.strong);
      CHECK(seen(kernel, Form::faulty, MemoryKind::gfx942, 600) == expected.gfx942);
    }
  }
}

TEST_CASE("what is wrong is said", "[kernels]") {
  const auto run = [](std::size_t number) {
    RandomWalk choices(1);
    return litmus_kernels()[number].run(Form::faulty, choices, {.finds_races = true});
  };
  REQUIRE(litmus_kernels()[2].fault.name == "fifo_slices");
  REQUIRE(run(2).wrong == "value 15 is 0");  // 3 slices of 5
}

}  // namespace tally::test
