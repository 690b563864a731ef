// Goal: no healthy kernel is accused, in any order of its threads and under any mood of the caches.
// Method: 100,000 interleavings of all collectives under gfx942 memory with clocks, most of them of
// small launches, where a switch anywhere matters, and some of large ones; in rounds and not. The
// number is required, not hoped for.

#include <chrono>

#include "model/builders.h"
#include "tests/support/catch.h"
#include "verify/campaign.h"

namespace tally::verify {
namespace {

struct Shape {
  int ranks;
  std::vector<std::int64_t> counts;
  LaunchShape launch;
  int interleavings;
};

// A call of a few elements leaves blocks without work; an empty one leaves all.
const Shape kSmall[] = {
    {2, {64, 9, 130}, {1, 4, 64}, 2400},
    {2, {300, 0, 300}, {2, 4, 32, 2}, 800},
    {3, {200, 129, 40}, {1, 2, 64, 3}, 800},
    {1, {33, 300, 5}, {2, 2, 64}, 200},
};
const Shape kLarge[] = {
    {2, {1000, 333, 1037}, {2, 64, 64}, 30},
    {4, {700, 2100, 1}, {2, 32, 32, 4}, 20},
    {8, {1500, 40, 900}, {1, 64, 64}, 10},
};

const model::Arithmetic kArithmetics[] = {
    {model::Format::bf16, model::kNoWire, model::Op::sum, model::Accumulate::element},
    {model::Format::f32, model::kNoWire, model::Op::max, model::Accumulate::element},
    {model::Format::f32, model::cast_wire(model::Format::e4m3fn, model::kSaturate), model::Op::sum,
     model::Accumulate::f32},
    {model::Format::bf16,
     model::block_wire(model::Format::e4m3fn, 32, model::Format::f32, model::ScaleRule::amax),
     model::Op::avg, model::Accumulate::f32},
};

void add_cases(std::span<const Shape> shapes, std::vector<Case>& cases) {
  for (const model::Builder& builder : model::builders()) {
    for (const model::Arithmetic& arithmetic : kArithmetics) {
      if (model::disallowed(builder.collective, builder.algorithm, arithmetic)) continue;
      for (const Shape& shape : shapes) {
        Case c;
        c.collective = builder.collective;
        c.algorithm = builder.algorithm;
        c.arithmetic = arithmetic;
        c.ranks = shape.ranks;
        c.counts = shape.counts;
        c.placement = all_placements()[cases.size() % all_placements().size()];
        if (missing(c)) c.placement = Placement::misaligned;  // all_to_all_v has no form in place
        c.launch = shape.launch;
        c.seed = 1 + cases.size();
        c.interleavings = shape.interleavings;
        c.memory = MemoryKind::gfx942;
        cases.push_back(c);
      }
    }
  }
}

std::int64_t interleavings_of(const std::vector<Case>& cases) {
  std::int64_t sum = 0;
  for (const Case& c : cases) sum += c.interleavings;
  return sum;
}

/// Requires that all pass, and returns how many interleavings that were.
std::int64_t require_healthy(const std::vector<Case>& cases,
                             const kernels::emulator::Gfx942& machine = {}) {
  const auto subject = emulator_subject({.gfx942 = machine});
  std::string failure;
  const Summary summary = run_campaign(
      cases, *subject,
      [&](const CaseResult& result) {
        if (!failure.empty() || result.judgement.verdict == Verdict::ok) return;
        failure = result.c.text() + ": " + result.judgement.reason;
      },
      [] { return 0.0; });
  REQUIRE(failure == "");
  REQUIRE(summary.ok == static_cast<std::int64_t>(cases.size()));
  return summary.interleavings;
}

}  // namespace

TEST_CASE("healthy kernels pass 100,000 interleavings of small launches", "[verify][slow]") {
  std::vector<Case> cases;
  while (interleavings_of(cases) < 100'000) add_cases(kSmall, cases);
  REQUIRE(require_healthy(cases) >= 100'000);
}

TEST_CASE("healthy kernels pass thousands of interleavings of large launches", "[verify][slow]") {
  std::vector<Case> cases;
  add_cases(kLarge, cases);
  REQUIRE(require_healthy(cases) >= 1200);
}

TEST_CASE("healthy kernels pass on one XCD, and with the compilers and runtimes that do less",
          "[verify][slow]") {
  std::vector<Case> cases;
  add_cases(kSmall, cases);
  for (Case& c : cases) c.interleavings /= 8;
  for (const kernels::emulator::Gfx942 machine :
       {kernels::emulator::Gfx942{.xcds = 1},
        kernels::emulator::Gfx942{.release_covers_workgroup = false},
        kernels::emulator::Gfx942{.kernel_end_reaches_peers = false},
        kernels::emulator::Gfx942{.kernel_begin_reaches_l2 = false}}) {
    REQUIRE(require_healthy(cases, machine) >= 1500);
  }
}

}  // namespace tally::verify
