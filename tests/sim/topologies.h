#pragma once

// Topologies for tests: small enough to know every route.

#include "model/machine.h"
#include "sim/costs.h"

namespace tally::test {

/// One node, a link from each GPU to each other one.
model::Topology full_mesh(int gpus, double bytes_per_s, double latency_ns);

/// Nodes that are full meshes; each GPU has a network card of its own into one network, which does
/// not block. A route between nodes has four links, of which the two to the network are as slow as
/// `network_bytes_per_s` says and take half of `network_latency_ns` each.
struct Cluster {
  int nodes, gpus_per_node;
  double bytes_per_s, latency_ns;
  double network_bytes_per_s, network_latency_ns;
};
model::Topology cluster(const Cluster& cluster);

/// One node, whose GPUs share nothing but their own links to one switch.
model::Topology switched(int gpus, double bytes_per_s, double latency_ns);

/// PCIe: GPUs in pairs below switches, whose links to one root all of a switch's GPUs share.
model::Topology pcie_tree(int switches, double bytes_per_s, double latency_ns);

}  // namespace tally::test
