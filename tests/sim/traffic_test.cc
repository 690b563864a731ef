// Goal: what a way of moving data asks of links and hops is what the published formulas say.
// Method: counts written out for small cases; each against NCCL's own step counts; machines' ports.

#include "sim/traffic.h"

#include "tests/support/catch.h"

namespace tally::sim {
namespace {

using model::Collective;

Ports ports_of_preset(const char* name, int nodes) {
  const auto machine = model::find_machine(name, nodes);
  REQUIRE(machine);
  return ports_of(machine->topology);
}

}  // namespace

TEST_CASE("a ring takes the steps and the bytes that NCCL counts", "[sim]") {
  const Traffic all_reduce = traffic(Movement::ring, Collective::all_reduce, 8, 1);
  CHECK(all_reduce.hops == 14);
  CHECK(all_reduce.node_hops == 0);
  CHECK(all_reduce.port_bytes == 1.75);
  const Traffic over_nodes = traffic(Movement::ring, Collective::all_reduce, 16, 2);
  CHECK(over_nodes.hops == 28);
  CHECK(over_nodes.node_hops == 2);
  CHECK(over_nodes.port_bytes == 1.875);
  const Traffic gather = traffic(Movement::ring, Collective::all_gather, 4, 1);
  CHECK(gather.hops == 3);
  CHECK(gather.port_bytes == 0.75);
}

TEST_CASE("one shot carries all of a message from every peer, two shots a share twice", "[sim]") {
  CHECK(traffic(Movement::one_shot, Collective::all_reduce, 8, 1).port_bytes == 7);
  CHECK(traffic(Movement::two_shot, Collective::all_reduce, 8, 1).port_bytes == 1.75);
  for (const Collective c :
       {Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all}) {
    CHECK(traffic(Movement::one_shot, c, 8, 1).port_bytes == 0.875);
  }
}

TEST_CASE("the switch reduces: n (1 + 1/N) bytes leave a GPU", "[sim]") {
  CHECK(traffic(Movement::nvls, Collective::all_reduce, 8, 1).port_bytes == 1.125);
}

TEST_CASE("a tree has a chain in each node and a level for each doubling of nodes", "[sim]") {
  const Traffic t = traffic(Movement::tree, Collective::all_reduce, 64, 8);
  CHECK(t.hops == 14);
  CHECK(t.node_hops == 6);
}

TEST_CASE("one rank sends nothing", "[sim]") {
  for (const Movement m : {Movement::ring, Movement::one_shot, Movement::two_shot}) {
    CHECK(traffic(m, Collective::all_reduce, 1, 1).port_bytes == 0);
  }
}

TEST_CASE("a mesh gives each peer a link, a switch one port for all", "[sim]") {
  const Ports mesh = ports_of_preset("mi300x", 1), port = ports_of_preset("h100", 1);
  CHECK(mesh.kind == Ports::Kind::mesh);
  CHECK(port_bandwidth(mesh, 8, 1) == 7 * mesh.link_bytes_per_s);
  CHECK(port_bandwidth(mesh, 2, 1) == mesh.link_bytes_per_s);
  CHECK(port.kind == Ports::Kind::gpu_switch);
  CHECK(port_bandwidth(port, 8, 1) == port.link_bytes_per_s);
  CHECK(port_bandwidth(port, 2, 1) == port.link_bytes_per_s);
  CHECK(ports_of_preset("rtxpro6000", 1).kind == Ports::Kind::pcie);
}

TEST_CASE("over nodes the narrower of a GPU's link and its interface decides", "[sim]") {
  const Ports mesh = ports_of_preset("mi300x", 2);
  CHECK(mesh.node_bytes_per_s == 8 * 50e9);
  CHECK(port_bandwidth(mesh, 16, 2) == 8 * mesh.link_bytes_per_s);  // 48 of 50 GB/s
  const Ports port = ports_of_preset("h100", 2);
  CHECK(port_bandwidth(port, 16, 2) == port.node_bytes_per_s);
}

}  // namespace tally::sim
