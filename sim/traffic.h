#pragma once

// What a way of moving data asks of a machine, whatever the library: hops, and bytes on its links.

#include <cstdint>
#include <string_view>

#include "model/collective.h"
#include "model/machine.h"

namespace tally::sim {

/// ring: to the next neighbour, N - 1 times, and for all_reduce once more. one_shot: every rank
/// reads all (of all_reduce) or its share from all. two_shot: reduce_scatter, then all_gather, each
/// in one shot. nvls: the switch reduces and multicasts. tree: two binary trees over nodes, a chain
/// inside each.
enum class Movement : std::uint8_t { ring, one_shot, two_shot, nvls, tree };

/// Of one GPU, for a message of one byte (size as the tests print it: of the larger buffer).
struct Traffic {
  double hops;        // between neighbours in a node; of the shots, the peers whose flags count
  double node_hops;   // from node to node
  double port_bytes;  // that leave the busiest GPU's links
};

/// Sources: ring, tree: NVIDIA/nccl, src/graph/tuning.cc (nsteps, nInterSteps), and Thakur,
/// Rabenseifner, Gropp 2005; nvls: bytes in and out of the switch, n (1 + 1/N); the shots: RCCLX's
/// kernels (meta-pytorch/torchcomms, comms/common/algorithms).
Traffic traffic(Movement movement, model::Collective collective, int ranks, int nodes);

/// What the links of a machine carry away from one GPU.
struct Ports {
  enum class Kind : std::uint8_t { mesh, gpu_switch, pcie };
  Kind kind;
  int gpus_per_node;
  double link_bytes_per_s;  // mesh: to one peer; else a GPU's own port
  double node_bytes_per_s;  // all network interfaces of a node; 0 where there is none
};
Ports ports_of(const model::Topology& topology);
std::string_view name(Ports::Kind kind);  // mesh, switch, pcie

/// For `ranks` ranks over `nodes` nodes, per second: how much leaves a GPU where all its links are
/// busy. A mesh gives each peer a link. Over nodes as many rings as GPUs in a node pass through
/// each, and each takes one link of every GPU and one interface.
double port_bandwidth(const Ports& ports, int ranks, int nodes);

}  // namespace tally::sim
