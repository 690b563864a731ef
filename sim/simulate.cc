#include "sim/simulate.h"

#include <algorithm>

#include "model/builders.h"
#include "sim/network.h"
#include "sim/traffic.h"

namespace tally::sim {
namespace {

using model::Collective;
using model::Error;

constexpr int kMostScheduledRanks = 64;  // of model/builders.h
constexpr int kMostRingRanks = 2048;     // a ring's events grow with their square

/// The collective's own count (model/collective.h).
std::int64_t count_of(const Scenario& scenario, std::int64_t bytes) {
  const std::int64_t elements = bytes / scenario.dtype.bytes();
  return scenario.collective == Collective::all_reduce ? elements : elements / scenario.ranks;
}

model::Shape shape_of(const Scenario& scenario, std::int64_t bytes) {
  model::Shape shape;
  shape.ranks = scenario.ranks;
  shape.count = count_of(scenario, bytes);
  shape.in_place = scenario.in_place;
  shape.ranks_per_node = scenario.ranks / scenario.nodes;
  shape.arithmetic = model::arithmetic_of_sums(scenario.dtype, model::kNoWire);
  return shape;
}

double narrowest(const model::Topology& topology, const Route& route) {
  double width = 0;
  for (const int link : route.links) {
    const double rate = topology.links[static_cast<std::size_t>(link)].bytes_per_s;
    width = width == 0 ? rate : std::min(width, rate);
  }
  return width;
}

// RCCLX's tree, reduce_scatter and all_to_all begin with a copy by the host into the staging buffer
// (meta-pytorch/torchcomms, comms/common/algorithms); its flat algorithms, and ours, stage in the
// kernel.
bool begins_with_copy(Collective collective, std::string_view algorithm) {
  return collective == Collective::all_reduce
             ? algorithm == "tree"
             : collective == Collective::reduce_scatter || collective == Collective::all_to_all;
}

/// An algorithm of ours, what its steps cost, and into how many alike the message is split.
struct Work {
  std::string_view algorithm;
  Costs costs;
  int rings = 1;
};

std::optional<Work> work_of(const Scenario& scenario, const model::Machine& machine,
                            std::string_view path) {
  Work work{path, costs_of(machine.gpu, scenario.launch)};
  if (scenario.library == "tally") return work;
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view family = path.substr(0, slash), name = path.substr(slash + 1);
  if (family == "dda") {
    work.algorithm = name;
    if (begins_with_copy(scenario.collective, name)) {
      work.costs.copy_launch = from_nanos(machine.gpu.copy_launch_ns.value);
    }
    return work;
  }
  const Protocol* protocol = find_protocol(scenario.library == "nccl" ? "nccl" : "rccl", name);
  if (family != "ring" || protocol == nullptr) return std::nullopt;
  if (scenario.collective != Collective::all_reduce) return std::nullopt;
  // Libraries lay as many rings over a mesh as a rank has links; none of them shares one.
  const bool is_mesh = ports_of(machine.topology).kind == Ports::Kind::mesh;
  return Work{"ring", with_protocol(work.costs, *protocol),
              is_mesh ? std::max(scenario.ranks / scenario.nodes - 1, 1) : 1};
}

model::Result<Timing> simulate_algorithm(const Scenario& scenario, const model::Machine& machine,
                                         const Work& work, std::int64_t bytes) {
  const auto& [algorithm, costs, rings] = work;
  model::Shape shape = shape_of(scenario, bytes / rings);
  if (algorithm == "hierarchical" || algorithm == "halving_doubling") {
    if (algorithm == "halving_doubling") shape.ranks_per_node = 1;
    return time(hierarchical_program(shape, scenario.wire), machine.topology, costs);
  }
  if (algorithm == "ring" && scenario.ranks > kMostScheduledRanks) {
    return time(ring_program(shape, scenario.wire), machine.topology, costs);
  }
  const model::Builder* builder = model::find_builder(scenario.collective, algorithm);
  if (builder == nullptr || scenario.ranks > kMostScheduledRanks) {
    return Error{"--algorithm",
                 "there is no schedule of " + std::string(algorithm) + " for " +
                     std::string(model::name(scenario.collective)) + " of " +
                     std::to_string(scenario.ranks) + " ranks",
                 "1..64 ranks; of more ring, hierarchical and halving_doubling"};
  }
  const model::Schedule schedule = builder->build(shape);
  return time(program_of(schedule, scenario.wire), machine.topology, costs);
}

}  // namespace

Terms terms_of(const Scenario& scenario, const model::Machine& machine, std::int64_t bytes) {
  const Costs costs = costs_of(machine.gpu, scenario.launch);
  Terms terms;
  terms.ranks = scenario.ranks;
  terms.launch = costs.launch;
  terms.memory_bytes_per_s = costs.memory_bytes_per_s;
  terms.codec_bytes_per_s = scenario.wire.is_none() ? 0 : costs.codec_bytes_per_s;
  terms.ranks_per_node = scenario.ranks / scenario.nodes;
  Network network(machine.topology);
  const Ports ports = ports_of(machine.topology);
  const int peers = std::max(terms.ranks_per_node - 1, 1);
  if (const Route* near = scenario.ranks > 1 ? network.route(0, 1) : nullptr) {
    const bool is_mesh = ports.kind == Ports::Kind::mesh;
    terms.alpha = costs.signal + near->latency;
    terms.link_bytes_per_s = narrowest(machine.topology, *near) / (is_mesh ? 1 : peers);
  }
  const int next_node = machine.topology.gpus_per_node;
  if (const Route* far = scenario.nodes > 1 ? network.route(0, next_node) : nullptr) {
    terms.network_alpha = costs.signal + far->latency;
    terms.network_bytes_per_s = narrowest(machine.topology, *far);
  }
  return with_bytes(terms, scenario, bytes);
}

Terms with_bytes(Terms terms, const Scenario& scenario, std::int64_t bytes) {
  const std::int64_t count = count_of(scenario, bytes);
  terms.bytes = count * scenario.dtype.bytes();
  terms.wire_bytes = scenario.wire.bytes(count, scenario.dtype);
  return terms;
}

model::Result<std::optional<Timing>> simulate(const Scenario& scenario,
                                              const model::Machine& machine, std::string_view path,
                                              std::int64_t bytes) {
  const auto work = work_of(scenario, machine, path);
  const bool is_long_ring = work && work->algorithm == "ring" && scenario.ranks > kMostRingRanks;
  if (!work || is_long_ring) return std::optional<Timing>();
  const auto timing = simulate_algorithm(scenario, machine, *work, bytes);
  if (!timing) return timing.error();
  return std::optional<Timing>(*timing);
}

}  // namespace tally::sim
