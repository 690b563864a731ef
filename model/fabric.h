#pragma once

// The links of a machine in few words, and the topology that they stand for.

#include <cstdint>
#include <vector>

#include "model/machine.h"

namespace tally::model {

/// How the GPUs of a node are joined: each to each (mesh), each to one switch, or by PCIe: each to
/// one of several switches, equally many to each, whose uplinks end at roots that are joined to
/// each other. A rate is that of one direction.
struct Fabric {
  enum class Kind : std::uint8_t { mesh, gpu_switch, pcie };
  Kind kind = Kind::mesh;
  int gpus = 1;
  Sourced link_peak_bytes_per_s;  // what the standard or the data sheet allows
  Sourced link_bytes_per_s;       // what a transfer alone gets
  Sourced link_latency_ns;

  // Of PCIe only.
  std::vector<int> switch_roots;  // the root of each switch: 0, 1, ...
  bool roots_are_switches = false;
  Sourced uplink_bytes_per_s, uplink_latency_ns;  // between a switch and its root
  Sourced root_bytes_per_s, root_latency_ns;      // between two roots
};

/// What joins the nodes: NICs, spread evenly over the GPUs, and a network that is never the
/// narrowest part.
struct Network {
  int nics = 0;                             // of a node, at most one for each GPU; 0: no network
  Sourced nic_bytes_per_s, nic_latency_ns;  // between a NIC and the network
  Sourced pci_bytes_per_s, pci_latency_ns;  // between a NIC and its GPU or its GPU's switch
};

/// Adds a link in each direction.
void join(Topology& topology, int a, int b, double bytes_per_s, double latency_ns);

/// Adds a vertex to node 0, and says which.
int add_vertex(Topology& topology, Vertex::Kind kind, std::string name);

/// Adds NICs of that network and the network itself; `hosts` [gpus] is what a NIC of that GPU is
/// joined to.
void add_network(Topology& topology, const Network& network, const std::vector<int>& hosts);

/// One node. Where it has a network, that is the last vertex.
Topology lay_out(const Fabric& fabric, const Network& network);

/// `nodes` copies of a node, which share its last vertex, the network.
Topology repeat(const Topology& node, int nodes);

/// Whether every GPU reaches every other over links.
bool is_connected(const Topology& topology);

}  // namespace tally::model
