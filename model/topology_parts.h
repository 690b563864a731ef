#pragma once

// What files of topologies leave out: the GPU's numbers, and what their links are worth.

#include <string>
#include <string_view>

#include "model/machine_file.h"

namespace tally::model {

/// A link of one kind, one direction.
struct LinkWorth {
  double bytes_per_s, latency_ns;
};

/// One xGMI link from GPU to GPU: RCCL's constants of the architecture.
LinkWorth xgmi_link(std::string_view arch);
/// One NVLink from GPU to GPU: NCCL's constants of the architecture.
LinkWorth nvlink(std::string_view arch);
/// Between the sockets of a node, by what RCCL/NCCL topologies say of a CPU.
LinkWorth between_cpus(std::string_view arch, std::string_view vendor, int model);

/// Latencies of PCIe: under a switch, between a switch and its CPU.
double pci_latency_ns();
double pci_uplink_latency_ns();

/// The preset whose GPU has that architecture (gfx942, sm_90, ...); where there is none, mi300x
/// for AMD's and h100 for others.
const MachineFile& preset_for(std::string_view arch);

/// The GPU of preset_for(arch). Each source begins with how it came to that: `reason`. Unless the
/// architecture is `certain`, and the preset has it, every number is assumed.
GpuFacts gpu_for(const std::string& arch, const std::string& reason, bool certain);

}  // namespace tally::model
