#pragma once

// Ranks as threads of one process, on virtual GPUs.

#include "kernels/comm/backend.h"
#include "kernels/comm/rendezvous.h"
#include "kernels/emulator/emulator.h"

namespace tally::comm {

struct EmulatorOptions {
  std::string name;  // of the communicator
  Capacity capacity;
  Milliseconds timeout{600'000};
  kernels::emulator::MemoryKind memory = kernels::emulator::MemoryKind::strong;
  kernels::emulator::Geometry geometry;
  std::uint64_t seed = 1;
};

/// A rank's view of a machine that all share. A call is run when its last rank has issued it, by
/// that rank's thread; tensors are copied into the virtual GPUs' memory and back. Calls of ranks
/// that differ are an error on each, and nothing is run; the communicator lives on.
model::Result<std::unique_ptr<Backend>> emulator_backend(const EmulatorOptions& options, int rank,
                                                         int ranks, Rendezvous& rendezvous);

}  // namespace tally::comm
