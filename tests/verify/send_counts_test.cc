// Goal: what ranks send each other in an all_to_all_v case follows from the case's text, visits
// every kind of count, and one call has a count that must be refused.
// Method: count over seeds; tell a rank something else and see that it is noticed.

#include "verify/send_counts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/support/catch.h"
#include "verify/campaign.h"

namespace {

using namespace tally;
using verify::Case;

Case uneven_case(std::uint64_t seed = 1) {
  Case c;
  c.collective = model::Collective::all_to_all_v;
  c.ranks = 5;
  c.counts = {100, 34, 137};
  c.seed = seed;
  return c;
}

}  // namespace

TEST_CASE("send counts follow from seed and call, and from nothing else", "[verify]") {
  const Case c = uneven_case();
  const auto again = verify::parse_case(c.text());
  REQUIRE(again);
  std::set<std::vector<std::int64_t>> all;
  for (int call = 0; call < 3; ++call) {
    CHECK(verify::send_counts(*again, call) == verify::send_counts(c, call));
    all.insert(verify::send_counts(c, call));
    all.insert(verify::send_counts(uneven_case(2), call));
  }
  CHECK(all.size() == 6);
}

TEST_CASE("send counts are none, all and some of the bound; one in the last call is above it",
          "[verify]") {
  int none = 0, whole = 0, some = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Case c = uneven_case(seed);
    for (int call = 0; call < 3; ++call) {
      const auto counts = verify::send_counts(c, call);
      REQUIRE(counts.size() == 25);
      int above = 0;
      for (const std::int64_t count : counts) {
        REQUIRE((count >= 0 && count <= c.counts[call] + 1));
        none += count == 0;
        whole += count == c.counts[call];
        some += count > 0 && count < c.counts[call];
        above += count > c.counts[call];
      }
      CHECK(above == (call == 2 ? 1 : 0));
      CHECK(verify::is_refused(c, call) == (call == 2));
    }
  }
  // A quarter, a quarter, and the rest.
  CHECK(none > 1500);
  CHECK(whole > 1500);
  CHECK(some > 3000);
}

TEST_CASE("a case of one call has no count above the bound", "[verify]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Case c = uneven_case(seed);
    c.counts = {13};
    const auto counts = verify::send_counts(c, 0);
    CHECK_FALSE(verify::is_refused(c, 0));
    CHECK(*std::max_element(counts.begin(), counts.end()) <= 13);
  }
}

TEST_CASE("other collectives have no send counts, and write all of their output", "[verify]") {
  Case c = uneven_case();
  c.collective = model::Collective::all_to_all;
  CHECK(verify::send_counts(c, 2).empty());
  CHECK_FALSE(verify::is_refused(c, 2));
  CHECK(verify::written_elements(c, 0, 3) == 500);
}

TEST_CASE("a rank receives what the others send it, and writes as much", "[verify]") {
  const Case c = uneven_case();
  const auto sent = verify::send_counts(c, 0), received = verify::received_counts(c, 0);
  for (int to = 0; to < 5; ++to) {
    std::int64_t all = 0;
    for (int from = 0; from < 5; ++from) {
      CHECK(received[to * 5 + from] == sent[from * 5 + to]);
      all += sent[from * 5 + to];
    }
    CHECK(verify::written_elements(c, 0, to) == all);
  }
}

TEST_CASE("of a call that is refused all ranks learn who asked for too much, and none writes",
          "[verify]") {
  const Case c = uneven_case();
  const auto sent = verify::send_counts(c, 2), received = verify::received_counts(c, 2);
  const auto guilty = std::max_element(sent.begin(), sent.end()) - sent.begin();
  for (int to = 0; to < 5; ++to) {
    for (int from = 0; from < 5; ++from) {
      CHECK(received[to * 5 + from] == (from == guilty / 5 ? -1 : 0));
    }
    CHECK(verify::written_elements(c, 2, to) == 0);
  }
}

TEST_CASE("a rank that is told another count is noticed, with both", "[verify]") {
  const Case c = uneven_case();
  const auto all = verify::received_counts(c, 1);
  std::vector<std::int64_t> told(all.begin() + 15, all.begin() + 20);  // rank 3
  verify::Observation seen;
  verify::check_received_counts(c, 1, 3, told, seen);
  CHECK(seen.broken.empty());
  told[2] += 1;
  verify::check_received_counts(c, 1, 3, told, seen);
  REQUIRE(seen.broken.size() == 1);
  CHECK(seen.broken[0] == "call 1: rank 3 was told that it received " + std::to_string(told[2]) +
                              " elements from rank 2, not " + std::to_string(told[2] - 1));
}

TEST_CASE("the emulator's kernel refuses the call that it must, and does the others", "[verify]") {
  const auto emulator = verify::emulator_subject();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Case c = uneven_case(seed);
    const auto judged = verify::run_case(c, *emulator).judgement;
    INFO(c.text() << " " << judged.reason);
    CHECK(judged.verdict == verify::Verdict::ok);
  }
}
