#pragma once

// A process for each GPU; kernels on the GPU's own runtime.

#include "kernels/comm/backend.h"
#include "kernels/comm/rendezvous.h"
#include "kernels/hardware/gpu_runtime.h"

namespace tally::comm {

struct GpuOptions {
  std::string name;  // of the communicator
  Capacity capacity;
  Milliseconds timeout{600'000};
  int device = 0;
  kernels::hardware::Stream stream = nullptr;  // null: one of the communicator's own
  Grid grid{16, 256, 1};                       // of a launch that does not say
  int max_blocks = 16;                         // of the largest
  bool check_calls = false;
};

/// Why this program cannot use that GPU; nothing where it can.
std::optional<model::Error> gpu_unavailable(int device);

/// Kernels give up a wait after kWaitLimitNanoseconds (kernels/gpu.h), whatever the timeout: then a
/// rank's error says for whom it waited, and what the rendezvous knows of that rank. The timeout is
/// the rendezvous's.

/// All ranks call this together, on GPUs that they can use. The communicator keeps the rendezvous:
/// over it the processes hand out their memory, compare calls where they are asked to, and leave
/// together.
model::Result<std::unique_ptr<Backend>> gpu_backend(const GpuOptions& options, int rank, int ranks,
                                                    std::unique_ptr<Rendezvous> rendezvous);

}  // namespace tally::comm
