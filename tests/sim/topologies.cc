#include "tests/sim/topologies.h"

namespace tally::test {

using model::Topology;
using model::Vertex;

namespace {

void add_gpus(Topology& topology) {
  for (int node = 0; node < topology.nodes; ++node) {
    for (int gpu = 0; gpu < topology.gpus_per_node; ++gpu) {
      const std::string number = std::to_string(topology.vertices.size());
      topology.vertices.push_back({Vertex::Kind::gpu, node, "gpu" + number});
    }
  }
}

int add_vertex(Topology& topology, Vertex::Kind kind, int node, const std::string& name) {
  topology.vertices.push_back({kind, node, name});
  return static_cast<int>(topology.vertices.size()) - 1;
}

void join(Topology& topology, int a, int b, double bytes_per_s, double latency_ns) {
  topology.links.push_back({a, b, bytes_per_s, latency_ns});
  topology.links.push_back({b, a, bytes_per_s, latency_ns});
}

}  // namespace

Topology cluster(const Cluster& c) {
  Topology topology{
      .nodes = c.nodes, .gpus_per_node = c.gpus_per_node, .vertices = {}, .links = {}};
  add_gpus(topology);
  for (int node = 0; node < c.nodes; ++node) {
    const int first = node * c.gpus_per_node;
    for (int a = first; a < first + c.gpus_per_node; ++a) {
      for (int b = a + 1; b < first + c.gpus_per_node; ++b) {
        join(topology, a, b, c.bytes_per_s, c.latency_ns);
      }
    }
  }
  if (c.nodes == 1) return topology;
  const int network = add_vertex(topology, Vertex::Kind::network, -1, "network");
  for (int gpu = 0; gpu < c.nodes * c.gpus_per_node; ++gpu) {
    const int nic =
        add_vertex(topology, Vertex::Kind::nic, gpu / c.gpus_per_node, "nic" + std::to_string(gpu));
    join(topology, gpu, nic, 2 * c.network_bytes_per_s, 0);
    join(topology, nic, network, c.network_bytes_per_s, c.network_latency_ns / 2);
  }
  return topology;
}

Topology full_mesh(int gpus, double bytes_per_s, double latency_ns) {
  return cluster({1, gpus, bytes_per_s, latency_ns, 0, 0});
}

Topology switched(int gpus, double bytes_per_s, double latency_ns) {
  Topology topology{.nodes = 1, .gpus_per_node = gpus, .vertices = {}, .links = {}};
  add_gpus(topology);
  const int center = add_vertex(topology, Vertex::Kind::gpu_switch, 0, "switch");
  for (int gpu = 0; gpu < gpus; ++gpu) join(topology, gpu, center, bytes_per_s, latency_ns / 2);
  return topology;
}

Topology pcie_tree(int switches, double bytes_per_s, double latency_ns) {
  Topology topology{.nodes = 1, .gpus_per_node = 2 * switches, .vertices = {}, .links = {}};
  add_gpus(topology);
  const int root = add_vertex(topology, Vertex::Kind::cpu, 0, "root");
  for (int i = 0; i < switches; ++i) {
    const int pci = add_vertex(topology, Vertex::Kind::pci, 0, "switch" + std::to_string(i));
    for (const int gpu : {2 * i, 2 * i + 1}) join(topology, gpu, pci, bytes_per_s, latency_ns);
    join(topology, pci, root, bytes_per_s, latency_ns);
  }
  return topology;
}

}  // namespace tally::test
