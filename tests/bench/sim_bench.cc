// Goal: figures of the simulator for docs/performance.md: evaluations a second, events a second,
// and how both grow with the ranks. Method: Google Benchmark on one core; all-reduces of 16 MiB of
// f32 on nodes of 8.

#include <benchmark/benchmark.h>

#include "sim/closed_forms.h"
#include "sim/time.h"
#include "tests/sim/topologies.h"

namespace {

using namespace tally;

void closed_form(benchmark::State& state, sim::Picos (*form)(const sim::Terms&)) {
  sim::Terms terms;
  terms.ranks = 1024;
  terms.ranks_per_node = 8;
  terms.link_bytes_per_s = terms.network_bytes_per_s = 50e9;
  terms.memory_bytes_per_s = 4e12;
  for (auto _ : state) {
    terms.bytes = terms.wire_bytes = terms.bytes + 1024;
    benchmark::DoNotOptimize(form(terms));
  }
  state.SetItemsProcessed(state.iterations());
}

void simulation(benchmark::State& state, sim::Program (*make)(const model::Shape&)) {
  model::Shape shape;
  shape.ranks = static_cast<int>(state.range(0));
  shape.count = 4 << 20;
  shape.ranks_per_node = 8;
  const auto topology = test::cluster({shape.ranks / 8, 8, 50e9, 300, 45e9, 4000});
  sim::Costs costs;
  costs.signal = sim::from_nanos(700);
  costs.memory_bytes_per_s = 4e12;
  const sim::Program program = make(shape);
  std::int64_t events = 0;
  for (auto _ : state) events = sim::time(program, topology, costs)->events;
  state.counters["events"] = static_cast<double>(events);
  state.SetItemsProcessed(state.iterations() * events);
}

sim::Program ring(const model::Shape& shape) { return sim::ring_program(shape, {}); }
sim::Program hierarchical(const model::Shape& shape) {
  return sim::hierarchical_program(shape, {});
}

}  // namespace

BENCHMARK_CAPTURE(closed_form, ring, sim::ring_time);
BENCHMARK_CAPTURE(closed_form, flat, sim::flat_time);
BENCHMARK_CAPTURE(closed_form, tree, sim::tree_time);
BENCHMARK_CAPTURE(closed_form, halving_doubling, sim::halving_doubling_time);
BENCHMARK_CAPTURE(closed_form, hierarchical, sim::hierarchical_time);
BENCHMARK_CAPTURE(simulation, ring, ring)
    ->RangeMultiplier(2)
    ->Range(128, 1024)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulation, hierarchical, hierarchical)
    ->RangeMultiplier(2)
    ->Range(2048, 16384)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
