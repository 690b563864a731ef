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

/// The collective's own count (model/collective.h).
std::int64_t count_of(const Subject& subject, std::int64_t bytes) {
  const std::int64_t elements = bytes / subject.dtype.bytes();
  return subject.collective == Collective::all_reduce ? elements : elements / subject.ranks;
}

model::Shape shape_of(const Subject& subject, std::int64_t bytes) {
  model::Shape shape;
  shape.ranks = subject.ranks;
  shape.count = count_of(subject, bytes);
  shape.in_place = subject.in_place;
  shape.ranks_per_node = subject.ranks / subject.nodes;
  shape.arithmetic = model::arithmetic_of_sums(subject.dtype, model::kNoWire);
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

}  // namespace

Terms terms_of(const Subject& subject, const model::Machine& machine, std::int64_t bytes) {
  const Costs costs = costs_of(machine.gpu, subject.launch);
  Terms terms;
  terms.ranks = subject.ranks;
  terms.launch = costs.launch;
  terms.memory_bytes_per_s = costs.memory_bytes_per_s;
  terms.codec_bytes_per_s = subject.wire.is_none() ? 0 : costs.codec_bytes_per_s;
  terms.ranks_per_node = subject.ranks / subject.nodes;
  Network network(machine.topology);
  const Ports ports = ports_of(machine.topology);
  const int peers = std::max(terms.ranks_per_node - 1, 1);
  if (const Route* near = subject.ranks > 1 ? network.route(0, 1) : nullptr) {
    const bool is_mesh = ports.kind == Ports::Kind::mesh;
    terms.alpha = costs.signal + near->latency;
    terms.link_bytes_per_s = narrowest(machine.topology, *near) / (is_mesh ? 1 : peers);
  }
  const int next_node = machine.topology.gpus_per_node;
  if (const Route* far = subject.nodes > 1 ? network.route(0, next_node) : nullptr) {
    terms.network_alpha = costs.signal + far->latency;
    terms.network_bytes_per_s = narrowest(machine.topology, *far);
  }
  return with_bytes(terms, subject, bytes);
}

Terms with_bytes(Terms terms, const Subject& subject, std::int64_t bytes) {
  const std::int64_t count = count_of(subject, bytes);
  terms.bytes = count * subject.dtype.bytes();
  terms.wire_bytes = subject.wire.bytes(count, subject.dtype);
  return terms;
}

model::Result<Timing> simulate(const Subject& subject, const model::Machine& machine,
                               std::string_view algorithm, std::int64_t bytes) {
  const Costs costs = costs_of(machine.gpu, subject.launch);
  model::Shape shape = shape_of(subject, bytes);
  if (algorithm == "hierarchical" || algorithm == "halving_doubling") {
    if (algorithm == "halving_doubling") shape.ranks_per_node = 1;
    return time(hierarchical_program(shape, subject.wire), machine.topology, costs);
  }
  if (algorithm == "ring" && subject.ranks > kMostScheduledRanks) {
    return time(ring_program(shape, subject.wire), machine.topology, costs);
  }
  const model::Builder* builder = model::find_builder(subject.collective, algorithm);
  if (builder == nullptr || subject.ranks > kMostScheduledRanks) {
    return Error{"--algorithm",
                 "there is no schedule of " + std::string(algorithm) + " for " +
                     std::string(model::name(subject.collective)) + " of " +
                     std::to_string(subject.ranks) + " ranks",
                 "1..64 ranks; of more ring, hierarchical and halving_doubling"};
  }
  const model::Schedule schedule = builder->build(shape);
  return time(program_of(schedule, subject.wire), machine.topology, costs);
}

}  // namespace tally::sim
