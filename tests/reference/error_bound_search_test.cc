// Goal: no error is beyond its bound, in 10^8 output elements that have one.
// Method: as error_bound_test.cc, on two threads, with the elements counted and a table of how
// close each kind of bound was reached.

#include <atomic>
#include <cstdio>
#include <map>
#include <thread>

#include "tests/reference/bound_search.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

constexpr std::int64_t kBounded = 100'000'000;
constexpr std::int64_t kElements = kBounded / 4 * 5;  // some have no bound
constexpr int kThreads = 2;

/// The styles that come closest get most of the elements, corners (of which many have no bound)
/// few.
Style style_of(int round) {
  constexpr Style kOrder[] = {Style::chain, Style::ties, Style::bell,  Style::chain,
                              Style::wide,  Style::ties, Style::corner};
  return kOrder[static_cast<std::size_t>(round) % std::size(kOrder)];
}

BoundOutcome search(const BoundCase& c, int rounds, std::uint64_t seed) {
  BoundOutcome all;
  for (int round = 0; round < rounds; ++round) {
    const auto inputs =
        make_inputs(c, style_of(round), seed * 1'000'003 + static_cast<std::uint64_t>(round));
    const BoundOutcome one = check_bounds(c, inputs);
    all.elements += one.elements;
    all.bounded += one.bounded;
    all.largest_ratio = std::max(all.largest_ratio, one.largest_ratio);
    if (all.violation.empty()) all.violation = one.violation;
  }
  return all;
}

}  // namespace

TEST_CASE("no error is beyond its bound in 10^8 elements", "[reference][slow]") {
  const std::vector<BoundCase> cases = all_bound_cases({2, 3, 4, 8}, 4096);
  const std::int64_t per_case = kElements / std::ssize(cases) + 1;
  std::vector<BoundOutcome> outcomes(cases.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      const auto rounds = static_cast<int>(per_case / cases[i].count + 1);
      outcomes[i] = search(cases[i], rounds, i + 1);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < kThreads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  std::int64_t elements = 0, bounded = 0;
  std::map<std::string, std::map<int, double>> reached;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CHECK(outcomes[i].violation == "");
    CAPTURE(cases[i].text());
    CHECK(outcomes[i].largest_ratio >= 0.5);
    elements += outcomes[i].elements;
    bounded += outcomes[i].bounded;
    double& ratio = reached[cases[i].kind()].emplace(cases[i].ranks, 1).first->second;
    ratio = std::min(ratio, outcomes[i].largest_ratio);
  }
  std::printf(
      "%lld elements, %lld with a bound. The largest error over its bound,\n"
      "in the case of each kind that came least close:\n",
      static_cast<long long>(elements), static_cast<long long>(bounded));
  for (const auto& [kind, by_ranks] : reached) {
    std::printf("%-22s", kind.c_str());
    for (const auto& [ranks, ratio] : by_ranks) {
      std::printf("  N=%d %.4f", ranks, ratio);
    }
    std::printf("\n");
  }
  CHECK(bounded >= kBounded);
}

}  // namespace tally::test
