#pragma once

// Tally's own file of a machine: JSON, in which a number is {"value", "evidence", "source"} and the
// end of its name its unit. The presets are such files (model/machines).

#include <span>
#include <string>
#include <string_view>

#include "model/fabric.h"
#include "model/machine.h"

namespace tally::model {

struct MachineFile {
  std::string name;
  GpuFacts gpu;
  Fabric fabric;
  Network network;
};

/// The machine in the text of a file, whose name is for errors. Members that nobody knows are
/// errors too, and so is a link that is faster than its peak.
Result<MachineFile> parse_machine_file(const std::string& file, std::string_view text);

/// The numbers of GpuFacts by their names in a file.
struct GpuNumber {
  std::string_view name;
  Sourced GpuFacts::* member;
};
std::span<const GpuNumber> gpu_numbers();

/// Bounds of what files may ask for, so that a slip of the pen does not take all memory.
inline constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
inline constexpr int kMostGpusOfNode = 1024;
inline constexpr int kMostGpus = 1 << 20;

}  // namespace tally::model
