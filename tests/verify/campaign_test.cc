// Goal: a campaign reports every case in order, and holds what cases say together.
// Method: subjects made for the purpose: one that is right, and ones that are wrong in one way
// that no single case shows.

#include "verify/campaign.h"

#include <set>

#include "tests/support/catch.h"
#include "verify/plan.h"

namespace {

using namespace tally;
using verify::Verdict;

double no_clock() { return 0; }

/// What the reference says, perhaps spoiled.
class ReferenceSubject : public verify::Subject {
 public:
  std::optional<std::string> cannot_run(const verify::Case& c) const override {
    if (c.ranks == 5) return "no five ranks here";
    return std::nullopt;
  }
  verify::Observation run(const verify::Case& c, const std::vector<reference::RankBuffers>& inputs,
                          const verify::Run& how) const override {
    verify::Observation seen;
    for (std::size_t call = 0; call < inputs.size(); ++call) {
      seen.outputs.push_back(reference::run(c.schedule(static_cast<int>(call)), inputs[call]));
    }
    seen.choices = 10;
    if (bad_interleavings.contains(how.interleaving.number) && !seen.outputs[0][0].empty()) {
      seen.outputs[0][0][0] ^= std::byte{1};
    }
    return seen;
  }
  std::set<int> bad_interleavings;
};

std::vector<verify::Case> small_cases() {
  verify::Plan plan = verify::default_plans().front();
  plan.counts = {0, 100};
  plan.wires = {model::kNoWire};
  return *verify::cases({plan});
}

}  // namespace

TEST_CASE("results come in the order of the cases, and are counted", "[verify]") {
  const auto cases = small_cases();
  std::vector<std::string> texts;
  const auto summary = verify::run_campaign(
      cases, ReferenceSubject(),
      [&](const verify::CaseResult& result) { texts.push_back(result.c.text()); }, no_clock);
  REQUIRE(texts.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(texts[i] == cases[i].text());
  CHECK(summary.cases == std::int64_t(cases.size()));
  CHECK(summary.skipped * 5 == summary.cases);  // one of five rank counts
  CHECK(summary.ok + summary.skipped == summary.cases);
  CHECK(summary.exit_status() == 0);
}

TEST_CASE("a fault in one interleaving only fails the case", "[verify]") {
  verify::Case c = small_cases().back();
  c.ranks = 2;
  c.interleavings = 5;
  ReferenceSubject subject;
  CHECK(verify::run_case(c, subject).judgement.verdict == Verdict::ok);
  subject.bad_interleavings = {4};
  CHECK(verify::run_case(c, subject).judgement.verdict == Verdict::mismatch);
}

TEST_CASE("the interleavings of one case on several cores give what they give in a row",
          "[verify]") {
  verify::Case c = small_cases().back();
  c.ranks = 2;
  c.counts = {3};
  c.interleavings = 1000;
  for (const std::set<int>& bad : {std::set<int>{}, {0}, {127}, {128}, {999}, {900, 301, 650}}) {
    ReferenceSubject subject;
    subject.bad_interleavings = bad;
    const int runs = bad.empty() ? 1000 : *bad.begin() + 1;
    const auto alone = verify::run_case(c, subject);
    CHECK(alone.interleavings == runs);
    int results = 0;
    const auto check = [&](const verify::CaseResult& result) {
      ++results;
      CHECK(result.interleavings == runs);
      CHECK(result.elements == alone.elements);
      CHECK(result.fingerprint == alone.fingerprint);
      CHECK(result.judgement.reason == alone.judgement.reason);
    };
    const auto summary = verify::run_campaign({c, c}, subject, check, no_clock);
    CHECK(results == 2);
    CHECK(summary.interleavings == 2 * runs);
    CHECK(summary.mismatch == (bad.empty() ? 0 : 2));
  }
}

TEST_CASE(
    "only the first three failures of a campaign are shrunk, and none that will not come "
    "again",
    "[verify]") {
  std::vector<verify::Case> cases(6, small_cases().back());
  for (verify::Case& c : cases) c.ranks = 2;
  for (std::size_t i = 1; i < cases.size(); ++i) cases[i].interleavings = 2;
  ReferenceSubject subject;
  subject.bad_interleavings = {0};
  std::vector<bool> shrunk;
  const auto note = [&](const verify::CaseResult& result) {
    shrunk.push_back(result.shrunk.has_value());
  };
  verify::run_campaign(cases, subject, note, no_clock);
  // The first has one interleaving in strong memory: nothing but its values can be wrong.
  CHECK(shrunk == std::vector<bool>{false, true, true, true, false, false});
  subject.bad_interleavings = {1};
  CHECK_FALSE(verify::run_case(cases[1], subject).shrunk);
}

TEST_CASE("flat and tree that differ without a wire are a mismatch", "[verify]") {
  auto cases = small_cases();
  std::erase_if(cases, [](const verify::Case& c) {
    return c.ranks != 2 || c.counts[0] != 100 || c.input.name != "normal" ||
           c.placement != verify::Placement::out_of_place ||
           c.arithmetic.element != model::Format::f32 || c.algorithm == "ring";
  });
  REQUIRE(cases.size() == 2);
  const auto ignore = [](const verify::CaseResult&) {};
  CHECK(verify::run_campaign(cases, ReferenceSubject(), ignore, no_clock).mismatch == 0);
  // Each is right by itself, but under the second one's name other numbers are drawn.
  cases[1].input.kind = reference::InputKind::order_free;
  const auto summary = verify::run_campaign(cases, ReferenceSubject(), ignore, no_clock);
  CHECK(summary.mismatch == 1);
  CHECK(summary.exit_status() == 1);
}

TEST_CASE("an input of whose outputs over a tenth are zero or not finite is idle", "[verify]") {
  CHECK_FALSE(verify::is_idle({90, 100}));
  CHECK(verify::is_idle({89, 100}));
  CHECK_FALSE(verify::is_idle({0, 0}));
  verify::Summary summary;
  summary.idle_inputs = {"normal"};
  CHECK(summary.exit_status() == 1);
}

TEST_CASE("the bundled tensors are not idle for any wire that holds their range", "[verify]") {
  verify::Plan plan = verify::default_plans().front();
  plan.ranks = {8};
  plan.calls = 1;
  plan.placements = {verify::Placement::out_of_place};
  plan.inputs = *reference::bundled_tensors();
  const auto cases = verify::cases({plan});
  REQUIRE(cases);
  for (const verify::Case& c : *cases) {
    INFO(c.text());
    CHECK_FALSE(verify::is_idle(verify::run_case(c, ReferenceSubject()).substance));
  }
}
