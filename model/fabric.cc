#include "model/fabric.h"

#include <algorithm>

#include "model/check.h"

namespace tally::model {
namespace {

Topology gpus_only(int gpus) {
  Topology topology{1, gpus, {}, {}};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    add_vertex(topology, Vertex::Kind::gpu, "gpu" + std::to_string(gpu));
  }
  return topology;
}

void join_each_to_each(Topology& topology, int begin, int end, const Sourced& bytes_per_s,
                       const Sourced& latency_ns) {
  for (int a = begin; a < end; ++a) {
    for (int b = a + 1; b < end; ++b) join(topology, a, b, bytes_per_s.value, latency_ns.value);
  }
}

// Returns the switch of each GPU.
std::vector<int> add_pcie(Topology& topology, const Fabric& f) {
  const int switches = static_cast<int>(f.switch_roots.size());
  const int roots = 1 + *std::max_element(f.switch_roots.begin(), f.switch_roots.end());
  const int first_root = static_cast<int>(topology.vertices.size());
  for (int root = 0; root < roots; ++root) {
    add_vertex(topology, f.roots_are_switches ? Vertex::Kind::pci : Vertex::Kind::cpu,
               "root" + std::to_string(root));
  }
  join_each_to_each(topology, first_root, first_root + roots, f.root_bytes_per_s,
                    f.root_latency_ns);
  std::vector<int> hosts;
  for (int i = 0; i < switches; ++i) {
    const int pci = add_vertex(topology, Vertex::Kind::pci, "switch" + std::to_string(i));
    join(topology, pci, first_root + f.switch_roots[i], f.uplink_bytes_per_s.value,
         f.uplink_latency_ns.value);
    for (int gpu = f.gpus * i / switches; gpu < f.gpus * (i + 1) / switches; ++gpu) {
      join(topology, gpu, pci, f.link_bytes_per_s.value, f.link_latency_ns.value);
      hosts.push_back(pci);
    }
  }
  return hosts;
}

}  // namespace

void join(Topology& topology, int a, int b, double bytes_per_s, double latency_ns) {
  topology.links.push_back({a, b, bytes_per_s, latency_ns});
  topology.links.push_back({b, a, bytes_per_s, latency_ns});
}

int add_vertex(Topology& topology, Vertex::Kind kind, std::string name) {
  topology.vertices.push_back({kind, 0, std::move(name)});
  return static_cast<int>(topology.vertices.size()) - 1;
}

void add_network(Topology& topology, const Network& network, const std::vector<int>& hosts) {
  if (network.nics == 0) return;
  TALLY_CHECK(network.nics <= topology.gpus_per_node, "more NICs than GPUs");
  std::vector<int> nics;
  for (int i = 0; i < network.nics; ++i) {
    const int gpu = topology.gpus_per_node * i / network.nics;
    nics.push_back(add_vertex(topology, Vertex::Kind::nic, "nic" + std::to_string(i)));
    join(topology, hosts[gpu], nics.back(), network.pci_bytes_per_s.value,
         network.pci_latency_ns.value);
  }
  const int shared = add_vertex(topology, Vertex::Kind::network, "network");
  for (const int nic : nics) {
    join(topology, nic, shared, network.nic_bytes_per_s.value, network.nic_latency_ns.value);
  }
}

Topology lay_out(const Fabric& fabric, const Network& network) {
  Topology topology = gpus_only(fabric.gpus);
  std::vector<int> hosts;
  for (int gpu = 0; gpu < fabric.gpus; ++gpu) hosts.push_back(gpu);
  switch (fabric.kind) {
    case Fabric::Kind::mesh:
      join_each_to_each(topology, 0, fabric.gpus, fabric.link_bytes_per_s, fabric.link_latency_ns);
      break;
    case Fabric::Kind::gpu_switch: {
      const int middle = add_vertex(topology, Vertex::Kind::gpu_switch, "switch");
      for (int gpu = 0; gpu < fabric.gpus; ++gpu) {
        join(topology, gpu, middle, fabric.link_bytes_per_s.value, fabric.link_latency_ns.value);
      }
      break;
    }
    case Fabric::Kind::pcie:
      hosts = add_pcie(topology, fabric);
      break;
  }
  add_network(topology, network, hosts);
  return topology;
}

Topology repeat(const Topology& node, int nodes) {
  TALLY_CHECK(node.nodes == 1, "a node that is several");
  if (nodes == 1) return node;
  const int size = static_cast<int>(node.vertices.size()), gpus = node.gpus_per_node;
  TALLY_CHECK(node.vertices.back().kind == Vertex::Kind::network, "a node without a network");
  const int rest = size - gpus - 1, shared = nodes * (gpus + rest);
  Topology all{nodes, gpus, {}, {}};
  all.vertices.resize(static_cast<std::size_t>(shared) + 1);
  all.links.reserve(node.links.size() * nodes);
  all.vertices[shared] = node.vertices.back();
  for (int k = 0; k < nodes; ++k) {
    const auto index = [&](int v) {
      if (v == size - 1) return shared;
      return v < gpus ? k * gpus + v : nodes * gpus + k * rest + v - gpus;
    };
    for (int v = 0; v < size - 1; ++v) {
      Vertex& copy = all.vertices[index(v)] = node.vertices[v];
      copy.node = k;
    }
    for (const Link& link : node.links) {
      all.links.push_back({index(link.from), index(link.to), link.bytes_per_s, link.latency_ns});
    }
  }
  return all;
}

bool is_connected(const Topology& topology) {
  std::vector<std::vector<int>> next(topology.vertices.size());
  for (const Link& link : topology.links) next[link.from].push_back(link.to);
  // Links come in pairs, so what the first GPU reaches reaches it.
  std::vector<char> is_seen(topology.vertices.size());
  std::vector<int> open{0};
  is_seen[0] = 1;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const int to : next[at]) {
      if (!std::exchange(is_seen[to], char{1})) open.push_back(to);
    }
  }
  return std::count(is_seen.begin(), is_seen.begin() + topology.nodes * topology.gpus_per_node,
                    char{0}) == 0;
}

}  // namespace tally::model
