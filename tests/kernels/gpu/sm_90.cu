// Virtual ranks on NVIDIA's sm_90.

#include "kernels/nvidia/nvidia_gpu.h"

namespace tally::kernels::test {
using ThisGpu = NvidiaGpu;
}

#include "tests/kernels/gpu/compare_conversions.cuh"
#include "tests/kernels/gpu/virtual_ranks.cuh"
