// Virtual ranks on AMD's gfx942.

#include "kernels/amd/amd_gpu.h"

namespace tally::kernels::test {
using ThisGpu = AmdGpu;
}

#include "tests/kernels/gpu/compare_conversions.cuh"
#include "tests/kernels/gpu/virtual_ranks.cuh"
