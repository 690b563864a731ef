#include "sim/traffic.h"

#include <algorithm>
#include <cmath>

#include "model/check.h"

namespace tally::sim {
namespace {

using model::Collective;
using model::Vertex;

// all_reduce reduces and then gathers; the others do one of the two, or only exchange.
double passes(Collective collective) { return collective == Collective::all_reduce ? 2 : 1; }

double smallest_first_link(const model::Topology& topology, int gpu) {
  double least = 0;
  for (const model::Link& link : topology.links) {
    if (link.from != gpu) continue;
    if (least == 0 || link.bytes_per_s < least) least = link.bytes_per_s;
  }
  return least;
}

}  // namespace

Traffic traffic(Movement movement, Collective collective, int ranks, int nodes) {
  const double n = ranks, times = passes(collective);
  switch (movement) {
    case Movement::ring: {
      const double steps = times * (n - 1), between = times * (nodes - 1);
      return {steps - between, between, times * (n - 1) / n};
    }
    case Movement::one_shot:
      return {n, 0, collective == Collective::all_reduce ? n - 1 : (n - 1) / n};
    case Movement::two_shot:
      return {n, 0, times * (n - 1) / n};
    case Movement::nvls:
      return {2, 0, collective == Collective::all_reduce ? 1 + 1 / n : (n - 1) / n};
    case Movement::tree:
      return {2 * (n / nodes - 1), 2 * std::ceil(std::log2(nodes)), 2 * (n - 1) / n};
  }
  TALLY_CHECK(false, "a movement of the list");
}

Ports ports_of(const model::Topology& topology) {
  Ports ports{Ports::Kind::pcie, topology.gpus_per_node, 0, 0};
  ports.link_bytes_per_s = smallest_first_link(topology, 0);
  for (const model::Link& link : topology.links) {
    const Vertex& from = topology.vertices[static_cast<std::size_t>(link.from)];
    const Vertex& to = topology.vertices[static_cast<std::size_t>(link.to)];
    if (from.node == 0 && from.kind == Vertex::Kind::nic && to.kind == Vertex::Kind::network) {
      ports.node_bytes_per_s += link.bytes_per_s;
    }
    if (link.from != 0) continue;
    if (to.kind == Vertex::Kind::gpu) {
      ports.kind = Ports::Kind::mesh;
      ports.link_bytes_per_s = link.bytes_per_s;
    }
    if (to.kind == Vertex::Kind::gpu_switch) {
      ports.kind = Ports::Kind::gpu_switch;
      ports.link_bytes_per_s = link.bytes_per_s;
    }
  }
  return ports;
}

std::string_view name(Ports::Kind kind) {
  constexpr std::string_view kNames[] = {"mesh", "switch", "pcie"};
  return kNames[static_cast<std::size_t>(kind)];
}

double port_bandwidth(const Ports& ports, int ranks, int nodes) {
  const double link = ports.link_bytes_per_s, gpus = ports.gpus_per_node;
  if (nodes == 1) return ports.kind == Ports::Kind::mesh ? std::max(ranks - 1, 1) * link : link;
  if (ports.kind == Ports::Kind::mesh) {
    return gpus * std::min(link, ports.node_bytes_per_s / gpus);
  }
  return std::min(link * gpus / std::max(gpus - 1, 1.0), ports.node_bytes_per_s);
}

}  // namespace tally::sim
