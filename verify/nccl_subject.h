#pragma once

// A library with NCCL's C API as the subject: one process, one rank for each GPU.

#include <functional>
#include <memory>
#include <vector>

#include "kernels/hardware/gpu_runtime.h"
#include "kernels/hardware/nccl_api.h"
#include "verify/subject.h"

namespace tally::verify {

struct NcclOptions {
  /// Calls that have not ended by then hang; their communicator is aborted, and replaced.
  double timeout_seconds = 60;
  std::function<double()> now = {};  // a clock in seconds; empty: the steady one
  std::vector<int> devices = {};     // [rank]: its GPU; empty: all, in their order
};

/// Runs cases on GPUs by the library, whose communicators are kept for each number of ranks. An
/// error that the library returns is a sentence in Observation::broken. Its order of summation is
/// its own (fixes_order). Stops the program where the runtime has no GPU.
std::unique_ptr<Subject> nccl_subject(kernels::hardware::GpuRuntime& runtime,
                                      std::shared_ptr<const kernels::hardware::nccl::Api> library,
                                      NcclOptions options = {});

}  // namespace tally::verify
