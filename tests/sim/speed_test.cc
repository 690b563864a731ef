// Goal: large clusters are simulated in seconds, and the cost grows as the events do.
// Method: measure processor time. The limits are the project's, and far from what is measured.

#include <ctime>

#include "sim/closed_forms.h"
#include "sim/time.h"
#include "tests/sim/topologies.h"
#include "tests/support/catch.h"

namespace tally::sim {
namespace {

constexpr double kRingSeconds = 2, kHierarchicalSeconds = 60, kClosedFormsPerSecond = 1e6;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Simulates an all-reduce of 16 MiB on nodes of 8; returns the processor time that it took.
template <class MakeProgram>
double seconds_of(int ranks, MakeProgram make_program) {
  const test::Cluster shape{ranks / 8, 8, 50e9, 300, 45e9, 4000};
  const auto topology = test::cluster(shape);
  Costs costs;
  costs.launch = from_nanos(5000);
  costs.signal = from_nanos(700);
  costs.memory_bytes_per_s = 4e12;
  model::Shape all_reduce{ranks, 4 << 20, 1, false, {}};
  all_reduce.ranks_per_node = 8;
  const double begin = cpu_seconds();
  const auto timing = time(make_program(all_reduce, model::WireSize{}), topology, costs);
  const double seconds = cpu_seconds() - begin;
  REQUIRE(timing);
  UNSCOPED_INFO(ranks << " ranks: " << seconds << " s\n" << to_text(*timing));
  return seconds;
}

}  // namespace

TEST_CASE("a ring of 1,024 ranks takes less than 2 seconds", "[sim][slow]") {
  REQUIRE(seconds_of(1024, ring_program) < kRingSeconds);
}

TEST_CASE("a hierarchical all-reduce of 16,384 ranks takes less than a minute", "[sim][slow]") {
  REQUIRE(seconds_of(16'384, hierarchical_program) < kHierarchicalSeconds);
}

TEST_CASE("a core evaluates more than a million closed forms a second", "[sim][slow]") {
  constexpr int kTimes = 1'000'000;
  Terms terms;
  terms.link_bytes_per_s = terms.network_bytes_per_s = 50e9;
  terms.memory_bytes_per_s = 4e12;
  for (const auto form : {ring_time, flat_time, tree_time, halving_doubling_time}) {
    Picos sum;
    const double begin = cpu_seconds();
    for (int i = 0; i < kTimes; ++i) {
      terms.bytes = terms.wire_bytes = 1000 + i;
      sum += form(terms);
    }
    REQUIRE(kTimes / (cpu_seconds() - begin) > kClosedFormsPerSecond);
    REQUIRE(sum.n > 0);
  }
}

}  // namespace tally::sim
