// Goal: where ranks share no link the simulation gives the closed forms, to the picosecond.
// Method: draw ranks, sizes, rates and wires; build the schedule; simulate it on a full mesh whose
// memories are never what a step with a transfer waits for; compare.

#include "sim/closed_forms.h"

#include <bit>

#include "sim/time.h"
#include "tests/sim/topologies.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

using model::Arithmetic;
using model::Format;
using model::Schedule;
using model::Shape;

struct Setting {
  Shape shape;
  Terms terms;
  Costs costs;
  double latency_ns;
};

/// Of `units` times 128 elements in each of `pieces` parts, so that nothing is rounded up.
Setting any_setting(int ranks, int pieces) {
  const auto wire =
      *rc::gen::element<std::string>("none", "e4m3fn", "e5m2:b64:f32", "e4m3fn:b32:e8m0");
  const Format format = *rc::gen::element(Format::f32, Format::bf16);
  Setting s;
  s.shape.ranks = ranks;
  s.shape.count = 128 * pieces * *rc::gen::inRange<std::int64_t>(0, 300).as("units");
  s.shape.arithmetic = model::arithmetic_of_sums(format, *model::parse_wire(wire));
  s.latency_ns = *rc::gen::inRange(0, 5000).as("latency_ns");
  s.costs.launch = {*rc::gen::inRange<std::int64_t>(0, 10'000'000).as("launch")};
  s.costs.signal = {*rc::gen::inRange<std::int64_t>(0, 3'000'000).as("signal")};
  s.terms.link_bytes_per_s = *rc::gen::inRange(1, 1'000'000).as("link") * 1e6 / 7;
  // Every rank reads or writes less than 8 times what crosses one link, for each of the ranks.
  s.costs.memory_bytes_per_s = 8.0 * (ranks + 1) * s.terms.link_bytes_per_s;
  s.costs.codec_bytes_per_s = *rc::gen::inRange(1, 1'000'000).as("codec") * 1e7 / 3;
  s.terms.ranks = ranks;
  s.terms.bytes = s.shape.count * s.shape.arithmetic.element.bytes();
  s.terms.wire_bytes = s.shape.arithmetic.wire.bytes(s.shape.count, format);
  s.terms.launch = s.costs.launch;
  s.terms.alpha = s.costs.signal + from_nanos(s.latency_ns);
  s.terms.memory_bytes_per_s = s.costs.memory_bytes_per_s;
  s.terms.codec_bytes_per_s = s.costs.codec_bytes_per_s;
  return s;
}

int any_ranks() { return *rc::gen::inRange(1, 17).as("ranks"); }

Picos simulated(const Schedule& schedule, const Setting& s) {
  const auto mesh = test::full_mesh(schedule.ranks, s.terms.link_bytes_per_s, s.latency_ns);
  return time(program_of(schedule), mesh, s.costs)->total;
}

}  // namespace

TEST_CASE("the time on a full mesh", "[sim]") {
  test::property("of flat is its closed form's", [] {
    const Setting s = any_setting(any_ranks(), 1);
    RC_ASSERT(simulated(model::flat_all_reduce(s.shape), s).n == flat_time(s.terms).n);
  });
  test::property("of flat_ll is its closed form's", [] {
    const Setting s = any_setting(any_ranks(), 1);
    if (s.shape.arithmetic.wire.is_block()) return;
    RC_ASSERT(simulated(model::flat_ll_all_reduce(s.shape), s).n == flat_ll_time(s.terms).n);
  });
  test::property("of tree is its closed form's, with the host's copy before it", [] {
    const int ranks = any_ranks();
    Setting s = any_setting(ranks, ranks);
    s.costs.copy_launch = s.terms.copy_launch = {*rc::gen::inRange<std::int64_t>(0, 9'000'000)};
    RC_ASSERT(simulated(model::tree_all_reduce(s.shape), s).n == tree_time(s.terms).n);
  });
  test::property("of the ring is its closed form's", [] {
    const int ranks = any_ranks();
    const Setting s = any_setting(ranks, ranks);
    RC_ASSERT(simulated(model::ring_all_reduce(s.shape), s).n == ring_time(s.terms).n);
  });
  test::property("of a ring with a short chunk is that of a ring with its longest everywhere", [] {
    const int ranks = any_ranks();
    Setting s = any_setting(ranks, ranks);
    // Ranks no longer keep step, and so would share their memories for other times.
    s.costs.memory_bytes_per_s = s.terms.memory_bytes_per_s = 0;
    const auto missing = *rc::gen::inRange<std::int64_t>(0, 128 * ranks).as("missing");
    s.shape.count = std::max<std::int64_t>(0, s.shape.count - missing);
    if (model::chunk(s.shape.count, 0, ranks, 128).size() * ranks *
            s.shape.arithmetic.element.bytes() !=
        s.terms.bytes) {
      return;  // all chunks became shorter
    }
    RC_ASSERT(simulated(model::ring_all_reduce(s.shape), s).n == ring_time(s.terms).n);
  });
  test::property("of a ring in pieces is its closed form's, whether links or latencies bind", [] {
    const int ranks = *rc::gen::inRange(2, 17).as("ranks");
    const int pieces = *rc::gen::inRange(1, 9).as("pieces");
    Setting s = any_setting(ranks, ranks * pieces);
    s.costs.memory_bytes_per_s = s.costs.codec_bytes_per_s = 0;
    const auto mesh = test::full_mesh(ranks, s.terms.link_bytes_per_s, s.latency_ns);
    const Program ring = ring_program(s.shape, size_of(s.shape.arithmetic.wire), pieces);
    RC_ASSERT(time(ring, mesh, s.costs)->total.n == pipelined_ring_time(s.terms, pieces).n);
  });
  test::property("of halving and doubling is its closed form's, folded or not", [] {
    const int ranks = any_ranks();
    const Setting s = any_setting(ranks, static_cast<int>(std::bit_floor(unsigned(ranks))));
    const Picos simulation = simulated(model::halving_doubling_all_reduce(s.shape), s);
    RC_ASSERT(simulation.n == halving_doubling_time(s.terms).n);
  });
  test::property("of all_gather is its closed form's", [] {
    const Setting s = any_setting(any_ranks(), 1);
    RC_ASSERT(simulated(model::flat_all_gather(s.shape), s).n == all_gather_time(s.terms).n);
  });
  test::property("of reduce_scatter is its closed form's", [] {
    const Setting s = any_setting(any_ranks(), 1);
    RC_ASSERT(simulated(model::flat_reduce_scatter(s.shape), s).n ==
              reduce_scatter_time(s.terms).n);
  });
  test::property("of all_to_all is its closed form's", [] {
    const Setting s = any_setting(any_ranks(), 1);
    RC_ASSERT(simulated(model::flat_all_to_all(s.shape), s).n == all_to_all_time(s.terms).n);
  });
}

TEST_CASE("the time of the hierarchical all-reduce on a cluster is its closed form's", "[sim]") {
  test::property("with any number of nodes", [] {
    const int nodes = *rc::gen::inRange(1, 10).as("nodes");
    const int size = *rc::gen::inRange(1, 9).as("ranks of a node");
    const int active = static_cast<int>(std::bit_floor(unsigned(nodes)));
    Setting s = any_setting(nodes * size, size * active);
    s.shape.ranks_per_node = s.terms.ranks_per_node = size;
    const int slower = *rc::gen::inRange(1, 5).as("times slower");
    s.terms.network_bytes_per_s = s.terms.link_bytes_per_s / slower;
    const double network_ns = 2 * *rc::gen::inRange(0, 5000).as("half of the network's latency_ns");
    s.terms.network_alpha = s.costs.signal + from_nanos(network_ns);
    const auto topology = test::cluster({nodes, size, s.terms.link_bytes_per_s, s.latency_ns,
                                         s.terms.network_bytes_per_s, network_ns});
    const Program program = hierarchical_program(s.shape, size_of(s.shape.arithmetic.wire));
    RC_ASSERT(time(program, topology, s.costs)->total.n == hierarchical_time(s.terms).n);
  });
}

TEST_CASE("a switch that does not block is a mesh whose links are as wide as equal shares",
          "[sim]") {
  test::property("for flat and tree", [] {
    const int ranks = *rc::gen::inRange(2, 17).as("ranks");
    Setting s = any_setting(ranks, ranks);
    const double rate = s.terms.link_bytes_per_s;
    s.terms.link_bytes_per_s = rate / (ranks - 1);
    const double latency_ns = s.latency_ns * 2;  // of which each link takes half
    s.terms.alpha = s.costs.signal + from_nanos(latency_ns);
    const auto machine = test::switched(ranks, rate, latency_ns);
    const auto total = [&](const Schedule& schedule) {
      return time(program_of(schedule), machine, s.costs)->total.n;
    };
    RC_ASSERT(total(model::flat_all_reduce(s.shape)) == flat_time(s.terms).n);
    RC_ASSERT(total(model::tree_all_reduce(s.shape)) == tree_time(s.terms).n);
  });
}

TEST_CASE("where memory binds, the simulation is the closed form but for roundings", "[sim]") {
  // A flow's end is rounded up when its rate changes: in a step, when the transfers end.
  constexpr std::int64_t kRoundings = 2;
  test::property("of flat", [] {
    Setting s = any_setting(*rc::gen::inRange(2, 17).as("ranks"), 1);
    s.costs.codec_bytes_per_s = s.terms.codec_bytes_per_s = 0;
    s.costs.memory_bytes_per_s = s.terms.memory_bytes_per_s = s.terms.link_bytes_per_s;
    const std::int64_t simulation = simulated(model::flat_all_reduce(s.shape), s).n;
    RC_ASSERT(simulation >= flat_time(s.terms).n);
    RC_ASSERT(simulation <= flat_time(s.terms).n + kRoundings);
  });
}

TEST_CASE("recursive doubling is log2 p messages of everything", "[sim]") {
  Terms t;
  t.bytes = t.wire_bytes = 1'000'000;
  t.alpha = {2'000'000};
  t.link_bytes_per_s = 50e9;  // 20 us
  REQUIRE(recursive_doubling_time(t) == Picos{3 * 22'000'000});
  t.ranks = 9;
  REQUIRE(recursive_doubling_time(t) == Picos{5 * 22'000'000});
  t.ranks = 1;
  REQUIRE(recursive_doubling_time(t) == Picos{});
}

TEST_CASE("the closed forms are those of the literature where nothing is local", "[sim]") {
  // Thakur, Rabenseifner and Gropp, 2005: 2 (p - 1) alpha + 2 (p - 1) / p n beta, and with log2.
  Terms t;
  t.ranks = 16;
  t.bytes = t.wire_bytes = 16 * 1'000'000;
  t.alpha = {3'000'000};
  t.link_bytes_per_s = 100e9;
  const Picos chunk = transfer_time(1'000'000, 100e9);
  REQUIRE(ring_time(t) == 30 * (t.alpha + chunk) + t.alpha);
  REQUIRE(halving_doubling_time(t) == 8 * t.alpha + 30 * chunk + t.alpha);
  REQUIRE(flat_time(t) == 2 * t.alpha + 16 * chunk);
  REQUIRE(tree_time(t) == 3 * t.alpha + 2 * chunk);
}

}  // namespace tally::sim
