#pragma once

// The topology files of RCCL and NCCL (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): the tree of PCIe with
// its GPUs and NICs, and the links between GPUs.

#include <string>
#include <string_view>

#include "model/machine_file.h"

namespace tally::model {

/// One node. GPUs are in the order of their ranks, where the file has them, else in the file's.
/// Elements c2c and pcilink are not looked at. Errors name the line. Source: NVIDIA/nccl,
/// src/graph/topo.cc (ncclTopoGetSystemFromXml).
Result<Machine> parse_topology_xml(const std::string& file, std::string_view text);

}  // namespace tally::model
