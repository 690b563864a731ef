// Goal: large clusters are simulated in seconds, and the cost grows as the events do.
// Method: measure processor time. The limits are the project's, and far from what is measured.

#include <sys/resource.h>

#include <ctime>

#include "sim/closed_forms.h"
#include "sim/time.h"
#include "tests/sim/topologies.h"
#include "tests/support/catch.h"

namespace tally::sim {
namespace {

constexpr double kRingSeconds = 2, kHierarchicalSeconds = 60, kClosedFormsPerSecond = 1e6;
constexpr long kPeakKiB = 4l << 20;
// Of one event at 8 times the ranks: caches hold less of a larger simulation, and heaps are deeper.
// What is quadratic would take 8 times as long.
constexpr double kDearerEvents = 4;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Cost {
  double seconds, events;
};

/// Simulates an all-reduce of 16 MiB on nodes of 8.
template <class MakeProgram>
Cost cost_of(int ranks, MakeProgram make_program) {
  const auto topology = test::cluster({ranks / 8, 8, 50e9, 300, 45e9, 4000});
  Costs costs;
  costs.launch = from_nanos(5000);
  costs.signal = from_nanos(700);
  costs.memory_bytes_per_s = 4e12;
  model::Shape all_reduce{ranks, 4 << 20, 1, false, {}};
  all_reduce.ranks_per_node = 8;
  const Program program = make_program(all_reduce);
  const double begin = cpu_seconds();
  const auto timing = time(program, topology, costs);
  REQUIRE(timing);
  return {cpu_seconds() - begin, static_cast<double>(timing->events)};
}

Program ring(const model::Shape& shape) { return ring_program(shape, {}); }
Program hierarchical(const model::Shape& shape) { return hierarchical_program(shape, {}); }

}  // namespace

TEST_CASE("a ring of 1,024 ranks takes less than 2 seconds", "[sim][slow]") {
  REQUIRE(cost_of(1024, ring).seconds < kRingSeconds);
}

TEST_CASE("a hierarchical all-reduce of 16,384 ranks takes less than a minute, and less than 4 GiB",
          "[sim][slow]") {
  REQUIRE(cost_of(16'384, hierarchical).seconds < kHierarchicalSeconds);
  rusage usage{};
  REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
  REQUIRE(usage.ru_maxrss < kPeakKiB);
}

TEST_CASE("the cost of a simulation grows about as its events do", "[sim][slow]") {
  const auto dearer = [](const Cost& small, const Cost& large) {
    return large.seconds / large.events / (small.seconds / small.events);
  };
  REQUIRE(dearer(cost_of(2048, hierarchical), cost_of(16'384, hierarchical)) < kDearerEvents);
  REQUIRE(dearer(cost_of(128, ring), cost_of(1024, ring)) < kDearerEvents);
}

TEST_CASE("a core evaluates more than a million closed forms a second", "[sim][slow]") {
  constexpr int kTimes = 1'000'000;
  Terms terms;
  terms.link_bytes_per_s = terms.network_bytes_per_s = 50e9;
  terms.memory_bytes_per_s = 4e12;
  for (const auto form : {ring_time, flat_time, tree_time, halving_doubling_time, hierarchical_time,
                          all_to_all_time}) {
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
