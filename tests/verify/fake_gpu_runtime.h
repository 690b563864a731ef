#pragma once

// A runtime whose devices are host memory: what runs in their streams is what the host put there,
// in turns, when somebody asks whether a stream has ended.

#include <memory>

#include "kernels/hardware/gpu_runtime.h"

namespace tally::test {

/// With so many devices, and `memory_bytes` in each allocation at most.
std::unique_ptr<kernels::hardware::GpuRuntime> fake_gpu_runtime(
    int devices, std::size_t memory_bytes = std::size_t{1} << 30);

}  // namespace tally::test
