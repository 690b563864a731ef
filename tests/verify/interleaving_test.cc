// Goal: a case's interleavings are many, each is the same every time, and a script runs one again.
// Method: kernels, healthy and not, in both memories; runs are compared by their scripts and bits.

#include "verify/interleaving.h"

#include <set>

#include "tests/support/catch.h"
#include "verify/campaign.h"

namespace {

using namespace tally;

verify::Case small_case(verify::MemoryKind memory, const std::string& fault = "") {
  verify::Case c;
  c.ranks = 2;
  c.counts = {9, 4, 12};
  c.launch = {1, 4, 64};
  c.memory = memory;
  c.arithmetic.element = model::Format::bf16;
  c.fault = fault;
  return c;
}

/// What all of a case's interleavings were, as scripts and outputs.
std::vector<verify::Observation> observe(const verify::Case& c, int interleavings) {
  std::vector<verify::Observation> all;
  const auto subject = verify::emulator_subject();
  verify::Case searched = c;
  searched.interleavings = interleavings;
  verify::Trial(searched, *subject)
      .search(0, interleavings, [&](int, const verify::Trial::Outcome& outcome) {
        all.push_back(outcome.seen);
        return false;
      });
  return all;
}

std::set<std::string> scripts(const std::vector<verify::Observation>& all) {
  std::set<std::string> texts;
  for (const auto& seen : all) texts.insert(kernels::emulator::text(seen.script));
  return texts;
}

constexpr verify::MemoryKind kMemories[] = {verify::MemoryKind::strong, verify::MemoryKind::gfx942};

}  // namespace

TEST_CASE("interleavings differ from each other and are the same every time", "[verify]") {
  for (const auto memory : kMemories) {
    const auto once = observe(small_case(memory), 60), again = observe(small_case(memory), 60);
    CHECK(scripts(once).size() > 45);
    for (std::size_t i = 0; i < once.size(); ++i) CHECK(once[i].script == again[i].script);
    verify::Case other = small_case(memory);
    other.seed = 2;
    CHECK(scripts(observe(other, 60)) != scripts(once));
  }
}

TEST_CASE("the later ones do not depend on which ran before", "[verify]") {
  const auto subject = verify::emulator_subject();
  verify::Case c = small_case(verify::MemoryKind::strong);
  c.interleavings = 60;
  const auto all = observe(c, 60);
  verify::Trial(c, *subject).search(40, 41, [&](int i, const verify::Trial::Outcome& outcome) {
    CHECK(i == 40);
    CHECK(outcome.seen.script == all[40].script);
    return true;
  });
}

TEST_CASE("a run's script runs it again, to the last bit", "[verify]") {
  const auto subject = verify::emulator_subject();
  for (const auto memory : kMemories) {
    for (const char* fault : {"", "missing_barrier"}) {
      const verify::Case c = small_case(memory, fault);
      for (const verify::Observation& seen : observe(c, 30)) {
        verify::Case replayed = c;
        replayed.script = seen.script;
        const auto again = verify::Trial(replayed, *subject).run({});
        CHECK(again.seen.script == seen.script);
        CHECK(again.seen.choices == seen.choices);
        CHECK(again.seen.outputs == seen.outputs);
      }
    }
  }
}

TEST_CASE("a healthy case holds in 200 interleavings of both memories", "[verify]") {
  const auto subject = verify::emulator_subject();
  for (const auto memory : kMemories) {
    for (const char* algorithm : {"flat", "tree", "ring"}) {
      verify::Case c = small_case(memory);
      c.algorithm = algorithm;
      c.interleavings = 200;
      const auto result = verify::run_case(c, *subject);
      INFO(c.text() << ": " << result.judgement.reason);
      CHECK(result.judgement.verdict == verify::Verdict::ok);
      CHECK(result.interleavings == 200);
    }
  }
}
