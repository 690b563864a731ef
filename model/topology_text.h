#pragma once

// The tables that `rocm-smi --showtopo` and `nvidia-smi topo -m` print.

#include <string>
#include <string_view>

#include "model/machine_file.h"

namespace tally::model {

/// One node. What the tables do not say is assumed: the GPU, by its links and by a name such as
/// gfx942 anywhere in the text; the rates of links, by the GPU; and the GPU's NICs. Errors name the
/// line.
/// rocm-smi: an xGMI pair of weight 15 has a link, a heavier one is several links apart
/// (ROCm/rocm-systems pull 7372: 15 for each hop); every GPU hangs off the CPU of its NUMA node.
/// nvidia-smi: NV# is # links between two GPUs, or to switches where a GPU would have more than 18;
/// PIX and PXB share a PCIe switch, PHB and NODE a CPU, SYS is across.
Result<Machine> parse_topology_text(const std::string& file, std::string_view text);

}  // namespace tally::model
