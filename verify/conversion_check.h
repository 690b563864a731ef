#pragma once

// Whether GPUs convert as the kernels' software does, for every input.

#include <iosfwd>
#include <vector>

#include "kernels/hardware/gpu_runtime.h"

namespace tally::verify {

/// Compares on each of the devices, or on all where none is named, and writes a JSON object on a
/// line for each conversion: "first" is the least input that differs. True where none did.
bool check_conversions(kernels::hardware::GpuRuntime& runtime, std::vector<int> devices,
                       std::ostream& out);

}  // namespace tally::verify
