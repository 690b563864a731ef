// Goal: contention costs what max-min fairness says; phases lie on the critical path and say what
// bounds them; protocols, copies and lanes are in the time; two runs are the same.
// Method: machines small enough to be written down.

#include "sim/time.h"

#include "sim/closed_forms.h"
#include "tests/sim/topologies.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

using model::Arithmetic;
using model::Copy;
using model::Format;
using model::Schedule;
using model::Shape;

constexpr Arithmetic kPlain{Format::f32};

Costs costs_of_test() {
  Costs costs;
  costs.launch = from_nanos(5000);
  costs.signal = from_nanos(700);
  costs.memory_bytes_per_s = 4e12;
  return costs;
}

/// One stage in which rank r loads `bytes` from each rank of loads[r].
Program loads(const std::vector<std::vector<int>>& loads, std::int64_t bytes) {
  return {static_cast<int>(loads.size()), 1, [loads, bytes](LaneId self) -> Stages {
            return [from = loads[self.rank], bytes, is_done = false](Stage& stage) mutable {
              if (std::exchange(is_done, true)) return false;
              stage = Stage{};
              stage.name = "exchange";
              for (const int peer : from) stage.transfers.push_back({peer, bytes, true});
              return true;
            };
          }};
}

std::string all_names(const Timing& timing) {
  std::string all;
  for (const Phase& phase : timing.phases) all += phase.name + ": " + phase.bound_by + "; ";
  return all;
}

}  // namespace

TEST_CASE("two flows that share a link take twice as long, and a third of its own does not",
          "[sim]") {
  // Ranks 0 and 1 are below one switch and load from below the other: both cross the root.
  const auto tree = test::pcie_tree(2, 50e9, 100);
  const Costs costs = costs_of_test();
  constexpr std::int64_t kBytes = 1 << 20;
  const auto total = [&](const std::vector<std::vector<int>>& from) {
    return time(loads(from, kBytes), tree, costs)->total - costs.launch;
  };
  REQUIRE(total({{2}, {}, {}, {}}) == transfer_time(kBytes, 50e9));
  REQUIRE(total({{2}, {3}, {}, {}}) == transfer_time(kBytes, 25e9));
  REQUIRE(total({{2}, {0}, {}, {}}) == transfer_time(kBytes, 50e9));
  REQUIRE(total({{2}, {3}, {0}, {1}}) == transfer_time(kBytes, 25e9));  // the other direction too
  // Rank 0 loads from all: its own link is shared by three.
  REQUIRE(total({{1, 2, 3}, {}, {}, {}}) == transfer_time(kBytes, 50e9 / 3));
}

TEST_CASE("flat below PCIe switches", "[sim]") {
  test::property("takes as long as the bytes over the busiest link, longer than on a mesh", [] {
    const int switches = *rc::gen::inRange(2, 5).as("switches"), ranks = 2 * switches;
    const std::int64_t count = 128 * *rc::gen::inRange(1, 100).as("units");
    const Schedule schedule = model::flat_all_reduce({ranks, count, 1, false, kPlain});
    Costs costs = costs_of_test();
    costs.memory_bytes_per_s = 0;
    const auto tree = time(program_of(schedule), test::pcie_tree(switches, 50e9, 0), costs);
    const auto mesh = time(program_of(schedule), test::full_mesh(ranks, 50e9, 0), costs);
    // A switch's uplink carries what each of its 2 ranks reads from each of the others, and is
    // full.
    const Picos uplink = transfer_time(4 * count, 50e9 / (2 * (ranks - 2)));
    RC_ASSERT(tree->total == costs.launch + 2 * costs.signal + uplink);
    RC_ASSERT(mesh->total == costs.launch + 2 * costs.signal + transfer_time(4 * count, 50e9));
  });
}

TEST_CASE("phases", "[sim]") {
  test::property("follow each other from 0 to the total, for every builder and topology", [] {
    const int switches = *rc::gen::inRange(1, 4).as("switches");
    const auto topology = *rc::gen::element(test::pcie_tree(switches, 50e9, 100),
                                            test::full_mesh(2 * switches, 50e9, 100),
                                            test::cluster({2, switches, 50e9, 100, 20e9, 3000}));
    Shape shape{2 * switches, *rc::gen::inRange(0, 50'000), 1, false, kPlain};
    shape.lanes = *rc::gen::inRange(1, 4);
    shape.rounds = *rc::gen::inRange(1, 4);
    for (const auto table : {model::builders(), model::unlaunched_builders()}) {
      for (const model::Builder& builder : table) {
        if (builder.collective == model::Collective::all_to_all_v) continue;
        const auto timing = time(program_of(builder.build(shape)), topology, costs_of_test());
        Picos end;
        for (const Phase& phase : timing->phases) {
          RC_ASSERT(phase.begin == end);
          RC_ASSERT(phase.end > phase.begin);
          RC_ASSERT(phase.bound.n > 0);
          RC_ASSERT(phase.bound <= phase.end - phase.begin);
          RC_ASSERT(!phase.bound_by.empty());
          end = phase.end;
        }
        RC_ASSERT(end == timing->total);
      }
    }
  });
}

TEST_CASE("phases name what bounds them", "[sim]") {
  const auto mesh = test::full_mesh(4, 50e9, 100);
  const auto timing = [&](const Schedule& schedule, Costs costs) {
    costs.copy_launch = from_nanos(3000);
    return *time(program_of(schedule), mesh, costs);
  };
  const Schedule large = model::flat_all_reduce({4, 1 << 22, 1, false, kPlain});
  REQUIRE(
      all_names(timing(large, costs_of_test())) ==
      "copy_launch: launch; launch: launch; stage: memory of gpu0; reduce: link gpu0 -> gpu1; ");
  const Schedule small = model::flat_all_reduce({4, 128, 1, false, kPlain});
  REQUIRE(all_names(timing(small, costs_of_test())) ==
          "copy_launch: launch; launch: launch; stage: signal; reduce: signal; ");
  Costs slow = costs_of_test();
  slow.codec_bytes_per_s = 1e9;
  const Schedule codec = model::flat_all_reduce(
      {4, 1 << 22, 1, false,
       model::arithmetic_of_sums(Format::f32, model::cast_wire(Format::e4m3fn))});
  REQUIRE(all_names(timing(codec, slow)) ==
          "copy_launch: launch; launch: launch; stage: codec of gpu0; reduce: codec of gpu1; ");
  slow.memory_bytes_per_s = 1e9;
  REQUIRE(all_names(timing(large, slow)) ==
          "copy_launch: launch; launch: launch; stage: memory of gpu0; reduce: memory of gpu1; ");
}

TEST_CASE("phases are printed, a line each", "[sim]") {
  const Schedule ring = model::ring_all_reduce({4, 1 << 20, 1, false, kPlain});
  const auto timing = time(program_of(ring), test::full_mesh(4, 50e9, 100), costs_of_test());
  REQUIRE(to_text(*timing) ==
          "launch           0.000 ..      5.000 us      1 x  launch 100 %\n"
          "exchange         5.000 ..     26.772 us      1 x  link gpu3 -> gpu0 96 %\n"
          "reduce          26.772 ..     71.101 us      3 x  link gpu0 -> gpu1 95 %\n"
          "gather          71.101 ..    137.740 us      4 x  link gpu0 -> gpu1 94 %\n");
}

TEST_CASE("one slow link is on the critical path of a ring", "[sim]") {
  auto mesh = test::full_mesh(4, 50e9, 100);
  for (model::Link& link : mesh.links) {
    if (link.from == 2 && link.to == 3) link.bytes_per_s = 5e9;
  }
  const Schedule ring = model::ring_all_reduce({4, 1 << 20, 1, false, kPlain});
  const auto timing = time(program_of(ring), mesh, costs_of_test());
  for (const Phase& phase : timing->phases) {
    CAPTURE(phase.name);
    if (phase.name != "launch") REQUIRE(phase.bound_by == "link gpu2 -> gpu3");
  }
}

TEST_CASE("two runs of one simulation are the same", "[sim]") {
  const auto tree = test::pcie_tree(3, 50e9, 100);
  const Schedule schedule = model::tree_all_reduce({6, 12'345, 3, false, kPlain});
  const auto text = [&] { return to_text(*time(program_of(schedule), tree, costs_of_test())); };
  REQUIRE(text() == text());
}

TEST_CASE("a protocol's flags cross the links too", "[sim]") {
  const auto mesh = test::full_mesh(4, 50e9, 0);
  const Schedule ring = model::ring_all_reduce({4, 4 * 128 * 120, 1, false, kPlain});
  for (const Protocol& protocol : protocols()) {
    CAPTURE(std::string(protocol.library), std::string(protocol.name));
    Costs costs = with_protocol(costs_of_test(), protocol);
    costs.memory_bytes_per_s = 0;
    const Picos hop = from_nanos(protocol.hop_ns);
    const std::int64_t chunk = 4 * 128 * 120 * protocol.wire_bytes / protocol.data_bytes;
    REQUIRE(time(program_of(ring), mesh, costs)->total ==
            costs.launch + 6 * (hop + transfer_time(chunk, 50e9)) + hop);
    REQUIRE(find_protocol(protocol.library, protocol.name) == &protocol);
  }
  REQUIRE(find_protocol("rccl", "ll256") == nullptr);
}

TEST_CASE("a schedule takes its machine's launch, and no copy by the host", "[sim]") {
  model::Machine machine;
  machine.topology = test::full_mesh(2, 50e9, 0);
  machine.gpu.launch_ns.value = 8000;
  machine.gpu.graph_launch_ns.value = 3000;
  machine.gpu.copy_launch_ns.value = 2000;
  machine.gpu.signal_ns.value = 1000;
  const Shape nothing{2, 0, 1, false, kPlain};
  const auto total = [&](const Schedule& schedule, Launch launch) {
    return time(schedule, machine, launch)->total;
  };
  REQUIRE(total(model::flat_all_reduce(nothing), Launch::process_per_gpu) ==
          from_nanos(8000 + 2 * 1000));
  REQUIRE(total(model::flat_all_reduce(nothing), Launch::graph) == from_nanos(3000 + 2 * 1000));
  REQUIRE(total(model::tree_all_reduce(nothing), Launch::graph) == from_nanos(3000 + 3 * 1000));
  REQUIRE(total(model::flat_all_to_all(nothing), Launch::graph) == from_nanos(3000 + 2 * 1000));
}

TEST_CASE("rounds hide the staging of all pieces but the first two", "[sim]") {
  Shape shape{4, 1 << 24, 1, false, kPlain};
  Costs costs = costs_of_test();
  costs.signal = {};
  costs.memory_bytes_per_s = 0.5e12;
  const auto mesh = test::full_mesh(4, 50e9, 0);
  const auto total = [&](int rounds) {
    shape.rounds = rounds;
    return time(program_of(model::flat_all_reduce(shape)), mesh, costs)->total - costs.launch;
  };
  const std::int64_t bytes = 4 << 24;
  REQUIRE(total(1) == transfer_time(2 * bytes, 0.5e12) + transfer_time(bytes, 50e9));
  REQUIRE(total(4) == 2 * transfer_time(bytes / 2, 0.5e12) + 4 * transfer_time(bytes / 4, 50e9));
}

TEST_CASE("what cannot be simulated is an error that says why", "[sim]") {
  const Costs costs = costs_of_test();
  const Schedule four = model::flat_all_reduce({4, 128, 1, false, kPlain});
  const auto too_few = time(program_of(four), test::full_mesh(3, 1e9, 0), costs);
  REQUIRE(!too_few);
  REQUIRE(too_few.error().what == "4 ranks do not go with 3 GPUs");
  auto broken = test::full_mesh(4, 1e9, 0);
  std::erase_if(broken.links, [](const model::Link& link) { return link.from == 2; });
  const auto no_way = time(program_of(four), broken, costs);
  REQUIRE(!no_way);
  REQUIRE(no_way.error().what == "no way from GPU 2 to GPU 0");
  Schedule deadlock = four;
  deadlock.lanes[3][0].clear();
  const auto never = time(program_of(deadlock), test::full_mesh(4, 1e9, 0), costs);
  REQUIRE(!never);
  REQUIRE(never.error().what == "rank 0, lane 0 waits for ever");
}

}  // namespace tally::sim
