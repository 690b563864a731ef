#pragma once

// The kernels on real GPUs, as the subject.

#include <memory>
#include <vector>

#include "kernels/hardware/gpu_runtime.h"
#include "verify/subject.h"

namespace tally::verify {

/// Runs cases on these GPUs of the process; none named: on all. A case's ranks are shared out among
/// them evenly. Scratch, flags and epochs are kept from case to case, for each number of ranks.
/// Cases come from several threads, but run one at a time. A wait that gives up is a hang. What
/// does not fit into memory is a sentence in Observation::broken. Stops the program where the
/// runtime lacks such a device.
std::unique_ptr<Subject> gpu_subject(kernels::hardware::GpuRuntime& runtime,
                                     std::vector<int> devices = {});

}  // namespace tally::verify
