// Goal: routes are the shortest, of those the widest, whatever the topology; and always the same.
// Method: on random small topologies compare with all paths, enumerated; on a large one, count
// links.

#include "sim/network.h"

#include <functional>

#include "tests/sim/topologies.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

using model::Topology;
using model::Vertex;

struct Best {
  std::size_t links = 0;  // 0: no way
  double width = 0;
};

/// Of all paths without a circle that pass through no GPU.
Best best_of_all(const Topology& topology, int from, int to) {
  Best best;
  std::vector<bool> passed(topology.vertices.size(), false);
  const std::function<void(int, std::size_t, double)> go = [&](int vertex, std::size_t links,
                                                               double width) {
    if (vertex == to) {
      const bool is_better =
          best.links == 0 || links < best.links || (links == best.links && width > best.width);
      if (is_better) best = {links, width};
      return;
    }
    if (vertex != from && topology.vertices[vertex].kind == Vertex::Kind::gpu) return;
    passed[vertex] = true;
    for (const model::Link& link : topology.links) {
      if (link.from != vertex || passed[link.to]) continue;
      go(link.to, links + 1, std::min(width, link.bytes_per_s));
    }
    passed[vertex] = false;
  };
  go(from, 0, 1e300);
  return best;
}

Topology any_topology() {
  Topology topology;
  topology.gpus_per_node = *rc::gen::inRange(2, 5).as("gpus");
  const int others = *rc::gen::inRange(0, 5).as("others");
  const int vertices = topology.gpus_per_node + others;
  for (int v = 0; v < vertices; ++v) {
    const auto kind = v < topology.gpus_per_node ? Vertex::Kind::gpu : Vertex::Kind::pci;
    topology.vertices.push_back({kind, 0, std::to_string(v)});
  }
  const int links = *rc::gen::inRange(0, 16).as("links");
  for (int i = 0; i < links; ++i) {
    const int from = *rc::gen::inRange(0, vertices);
    const int to = (from + *rc::gen::inRange(1, vertices)) % vertices;
    topology.links.push_back({from, to, *rc::gen::inRange(1, 4) * 1e9, 5.0 + i});
  }
  return topology;
}

bool leads(const Topology& topology, const Route& route, int from, int to) {
  for (const int link : route.links) {
    if (topology.links[link].from != from) return false;
    from = topology.links[link].to;
  }
  return from == to;
}

}  // namespace

TEST_CASE("a route", "[sim]") {
  test::property("is the shortest way, and the widest of these", [] {
    const Topology topology = any_topology();
    Network network(topology);
    for (int from = 0; from < topology.gpus_per_node; ++from) {
      for (int to = 0; to < topology.gpus_per_node; ++to) {
        if (from == to) continue;
        const Best best = best_of_all(topology, from, to);
        const Route* route = network.route(from, to);
        RC_ASSERT((route == nullptr) == (best.links == 0));
        if (route == nullptr) continue;
        RC_ASSERT(leads(topology, *route, from, to));
        RC_ASSERT(route->links.size() == best.links);
        double width = 1e300;
        Picos latency;
        for (const int link : route->links) {
          width = std::min(width, topology.links[link].bytes_per_s);
          latency += from_nanos(topology.links[link].latency_ns);
        }
        RC_ASSERT(width == best.width);
        RC_ASSERT(route->latency == latency);
      }
    }
  });
  test::property("does not depend on what was asked before", [] {
    const Topology topology = any_topology();
    Network asked(topology), fresh(topology);
    for (int from = 0; from < topology.gpus_per_node; ++from) {
      for (int to = 0; to < topology.gpus_per_node; ++to) {
        if (from != to) asked.route(to, from);
      }
    }
    const Route *a = asked.route(0, 1), *b = fresh.route(0, 1);
    RC_ASSERT((a == nullptr) == (b == nullptr));
    if (a != nullptr) RC_ASSERT(a->links == b->links);
  });
}

TEST_CASE("of two equal ways the one with the lower links is taken", "[sim]") {
  Topology topology = test::full_mesh(2, 1e9, 1);
  topology.links.push_back(topology.links[0]);
  REQUIRE(Network(topology).route(0, 1)->links == std::vector<int>{0});
  topology.links[2].bytes_per_s = 2e9;  // but a wider one is better
  REQUIRE(Network(topology).route(0, 1)->links == std::vector<int>{2});
}

TEST_CASE("no GPU forwards", "[sim]") {
  Topology chain = test::full_mesh(3, 1e9, 1);
  std::erase_if(chain.links, [](const model::Link& l) { return l.from + l.to == 2; });  // 0 and 2
  Network network(chain);
  REQUIRE(network.route(0, 1) != nullptr);
  REQUIRE(network.route(0, 2) == nullptr);
}

TEST_CASE("in a cluster routes stay in the node, or take its network card", "[sim]") {
  const Topology topology = test::cluster({256, 8, 50e9, 300, 25e9, 4000});
  Network network(topology);
  REQUIRE(network.route(0, 7)->links.size() == 1);
  REQUIRE(network.route(0, 7)->latency == from_nanos(300));
  const Route* across = network.route(3, 8 * 255 + 3);
  REQUIRE(across->links.size() == 4);
  REQUIRE(across->latency == from_nanos(4000));
  REQUIRE(topology.vertices[topology.links[across->links[0]].to].name == "nic3");
}

}  // namespace tally::sim
