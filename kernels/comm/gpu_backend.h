#pragma once

// A process for each GPU; kernels on the GPU's own runtime.

#include "kernels/comm/backend.h"
#include "kernels/comm/rendezvous.h"

namespace tally::comm {

struct GpuOptions {
  std::string name;  // of the communicator
  Capacity capacity;
  Milliseconds timeout{600'000};
  int device = 0;
  int blocks = 16, threads = 256;
  bool check_calls = false;
};

/// All ranks call this together. The communicator keeps the rendezvous: over it the processes hand
/// out their memory, compare calls where they are asked to, and leave together.
model::Result<std::unique_ptr<Backend>> gpu_backend(const GpuOptions& options, int rank, int ranks,
                                                    std::unique_ptr<Rendezvous> rendezvous);

}  // namespace tally::comm
