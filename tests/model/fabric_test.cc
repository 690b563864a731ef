// Goal: a fabric in few words stands for exactly the links that it names, on any number of nodes.
// Method: count links and vertices, and follow routes; drawn sizes.

#include "model/fabric.h"

#include <algorithm>

#include "tests/model/routes.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::model {
namespace {

Sourced number(double value) { return {value, Evidence::assumed, "a test"}; }

Fabric fabric_of(Fabric::Kind kind, int gpus) {
  return {kind, gpus, number(20), number(10), number(3), {}, false, {}, {}, {}, {}};
}

const Network kNetwork{2, number(5), number(100), number(8), number(30)};

double egress(const Topology& topology, int vertex) {
  double sum = 0;
  for (const Link& link : topology.links) sum += link.from == vertex ? link.bytes_per_s : 0;
  return sum;
}

}  // namespace

TEST_CASE("in a mesh every GPU has a link to each other", "[model]") {
  test::property("its egress is peers x link", [] {
    const int gpus = *rc::gen::inRange(1, 20).as("gpus");
    const Topology topology = lay_out(fabric_of(Fabric::Kind::mesh, gpus), {});
    RC_ASSERT(std::ssize(topology.links) == gpus * (gpus - 1));
    for (int gpu = 0; gpu < gpus; ++gpu) RC_ASSERT(egress(topology, gpu) == (gpus - 1) * 10.0);
  });
}

TEST_CASE("on a switch every way has two links", "[model]") {
  const Topology topology = lay_out(fabric_of(Fabric::Kind::gpu_switch, 5), {});
  REQUIRE(topology.links.size() == 10);
  const test::Route way = test::route(topology, 4, 1);
  REQUIRE((way.links == 2 && way.bytes_per_s == 10 && way.latency_ns == 6));
}

TEST_CASE("PCIe switches are crossed by their uplinks and roots", "[model]") {
  Fabric fabric = fabric_of(Fabric::Kind::pcie, 6);
  fabric.switch_roots = {0, 0, 1};
  fabric.uplink_bytes_per_s = number(7), fabric.uplink_latency_ns = number(20);
  fabric.root_bytes_per_s = number(4), fabric.root_latency_ns = number(1000);
  const Topology topology = lay_out(fabric, {});
  const test::Route same = test::route(topology, 0, 1), shared = test::route(topology, 0, 2),
                    separate = test::route(topology, 0, 5);
  REQUIRE((same.links == 2 && same.bytes_per_s == 10 && same.latency_ns == 6));
  REQUIRE((shared.links == 4 && shared.bytes_per_s == 7 && shared.latency_ns == 46));
  REQUIRE((separate.links == 5 && separate.bytes_per_s == 4 && separate.latency_ns == 1046));
}

TEST_CASE("nodes are copies that share the network", "[model]") {
  const Topology node = lay_out(fabric_of(Fabric::Kind::mesh, 4), kNetwork);
  REQUIRE(node.vertices.back().kind == Vertex::Kind::network);
  const Topology three = repeat(node, 3);
  REQUIRE(three.vertices.size() == 3 * (node.vertices.size() - 1) + 1);
  REQUIRE(three.links.size() == 3 * node.links.size());
  for (int gpu = 0; gpu < 12; ++gpu) {
    REQUIRE(three.vertices[gpu].kind == Vertex::Kind::gpu);
    REQUIRE(three.vertices[gpu].node == gpu / 4);
  }
  REQUIRE(is_connected(three));
  const test::Route inside = test::route(three, 4, 7), across = test::route(three, 0, 8);
  REQUIRE((inside.links == 1 && inside.bytes_per_s == 10));
  REQUIRE((across.links == 4 && across.bytes_per_s == 5 && across.latency_ns == 260));
}

TEST_CASE("a topology that falls apart is not connected", "[model]") {
  Topology topology = lay_out(fabric_of(Fabric::Kind::gpu_switch, 3), {});
  REQUIRE(is_connected(topology));
  topology.links.erase(topology.links.begin(), topology.links.begin() + 2);
  REQUIRE(!is_connected(topology));
}

}  // namespace tally::model
