// Goal: a failure becomes the smallest case that fails in the same way, with the fewest deviations,
// and the text of that fails again.
// Method: a subject whose failure needs known ranks, calls and deviations, so that the smallest
// case is known; and a kernel without its barrier.

#include "verify/shrink.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "verify/campaign.h"

namespace {

using namespace tally;
using verify::Detector;
using verify::Deviation;

/// Has a race, where the case is large enough and two of the deviations are in the script. A drawn
/// interleaving has these and many others.
class Needy : public verify::Subject {
 public:
  std::optional<std::string> cannot_run(const verify::Case& c) const override {
    return c.launch.threads == 3 ? std::optional<std::string>("not three") : std::nullopt;
  }
  verify::Observation run(const verify::Case& c, const std::vector<reference::RankBuffers>& inputs,
                          const verify::Run&) const override {
    ++runs;
    verify::Observation seen;
    for (std::size_t call = 0; call < inputs.size(); ++call) {
      seen.outputs.push_back(reference::run(c.schedule(static_cast<int>(call)), inputs[call]));
    }
    seen.script = c.script.value_or(drawn());
    seen.choices = 1000;
    const auto has = [&](Deviation one) {
      return std::find(seen.script.begin(), seen.script.end(), one) != seen.script.end();
    };
    const bool is_large = c.ranks >= 3 && c.launch.blocks >= 2 && c.launch.threads >= 5 &&
                          c.counts.size() >= 2 && c.counts[1] >= 6;
    if (has({300, 3}) && has({707, 7})) seen.order_faults.push_back({"race on small", "a and b"});
    if (is_large && !seen.order_faults.empty()) {
      seen.order_faults.insert(seen.order_faults.begin(), {"race on large", "c and d"});
    }
    return seen;
  }
  static std::vector<Deviation> drawn() {
    std::vector<Deviation> script;
    for (int i = 1; i < 100; ++i) script.push_back({100 * (i % 10) + i, i % 10});
    std::sort(script.begin(), script.end(),
              [](const Deviation& a, const Deviation& b) { return a.at < b.at; });
    script.insert(script.begin(), {0, 1});
    for (Deviation& one : script) {
      if (one.at == 303) one = {300, 3};
    }
    return script;
  }
  mutable int runs = 0;
};

verify::Case large_case() {
  verify::Case c;
  c.ranks = 8;
  c.counts = {1000, 334, 1037};
  c.launch = {4, 64, 64};
  c.placement = verify::Placement::misaligned;
  c.interleavings = 5;
  return c;
}

verify::Case racy_case(verify::MemoryKind memory) {
  verify::Case c = large_case();
  c.ranks = 4;
  c.arithmetic.element = model::Format::bf16;
  c.fault = "missing_barrier";
  c.memory = memory;
  return c;
}

}  // namespace

TEST_CASE("only what the failure needs is left", "[verify]") {
  const Needy subject;
  const auto shrunk = verify::shrink(large_case(), 3, subject);
  REQUIRE(shrunk);
  CHECK(shrunk->c.ranks == 3);
  CHECK(shrunk->c.launch.blocks == 2);
  CHECK(shrunk->c.launch.threads == 5);
  REQUIRE(shrunk->c.counts.size() == 2);
  CHECK(shrunk->c.counts[0] <= 1);
  CHECK(shrunk->c.counts[1] == 8);  // of the numbers that are tried
  CHECK(shrunk->c.placement == verify::Placement::out_of_place);
  CHECK(shrunk->c.script == std::vector<Deviation>{{300, 3}, {707, 7}});
  CHECK(shrunk->c.interleavings == 1);
  CHECK(shrunk->judgement.caught_by == Detector::race);
  // The other race, which smaller cases have, is another failure.
  CHECK(shrunk->judgement.reason.starts_with("race on large"));
}

TEST_CASE("shrinking stops when it has cost enough, with what it has", "[verify]") {
  const Needy subject;
  const auto shrunk =
      verify::shrink(large_case(), 3, subject, {.choices = 10'000, .interleavings = 4});
  REQUIRE(shrunk);
  CHECK(subject.runs < 20);
  CHECK(shrunk->judgement.reason.starts_with("race on large"));
  CHECK(shrunk->c.script->size() > 2);
}

TEST_CASE("a kernel without its barrier races with two threads, and again when replayed",
          "[verify]") {
  const auto subject = verify::emulator_subject();
  for (const auto memory : {verify::MemoryKind::strong, verify::MemoryKind::gfx942}) {
    const auto result = verify::run_case(racy_case(memory), *subject);
    CHECK(result.judgement.caught_by == Detector::race);
    CHECK(result.judgement.reason.starts_with("race on scratch of rank"));
    REQUIRE(result.shrunk);
    const verify::Case& c = result.shrunk->c;
    INFO(c.text());
    CHECK(c.ranks == 2);
    CHECK(c.launch.blocks == 1);
    CHECK(c.launch.threads == 1);
    CHECK(c.counts == std::vector<std::int64_t>{1});
    CHECK(c.memory == memory);
    CHECK(c.script->size() <= 2);

    const auto again = verify::parse_case(c.text());
    REQUIRE(again);
    const auto replayed = verify::run_case(*again, *subject);
    CHECK(replayed.judgement.caught_by == Detector::race);
    CHECK(replayed.judgement.reason == result.shrunk->judgement.reason);
    REQUIRE(replayed.shrunk);
    CHECK(replayed.shrunk->c.text() == c.text());
    CHECK(replayed.shrunk->chart == result.shrunk->chart);
    CHECK(result.shrunk->chart.find("nothing orders 1 before 2") != std::string::npos);
  }
}

TEST_CASE("a hang stays a hang, and its chart says who waits for whom", "[verify]") {
  const auto subject = verify::emulator_subject();
  verify::Case c = racy_case(verify::MemoryKind::strong);
  c.fault = "single_counter";
  c.interleavings = 100;
  const auto result = verify::run_case(c, *subject);
  REQUIRE(result.judgement.verdict == verify::Verdict::hang);
  REQUIRE(result.shrunk);
  const verify::Case& small = result.shrunk->c;
  INFO(small.text() << '\n' << result.shrunk->chart);
  CHECK(small.ranks == 2);
  CHECK(small.launch.blocks * small.launch.threads == 1);
  CHECK(small.counts == std::vector<std::int64_t>{0});
  CHECK(small.script->size() <= 3);
  const auto again = verify::run_case(*verify::parse_case(small.text()), *subject);
  CHECK(again.judgement.caught_by == Detector::hang);
  CHECK(again.judgement.reason == result.shrunk->judgement.reason);
  CHECK(result.shrunk->chart.find("X>") != std::string::npos);
  CHECK(result.shrunk->chart.find("last written by rank") != std::string::npos);
}

TEST_CASE("two runs shrink to the same", "[verify]") {
  const auto subject = verify::emulator_subject();
  const auto once = verify::run_case(racy_case(verify::MemoryKind::gfx942), *subject);
  const auto twice = verify::run_case(racy_case(verify::MemoryKind::gfx942), *subject);
  REQUIRE((once.shrunk && twice.shrunk));
  CHECK(once.shrunk->c.text() == twice.shrunk->c.text());
  CHECK(once.shrunk->chart == twice.shrunk->chart);
}
