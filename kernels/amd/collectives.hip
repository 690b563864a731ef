// The kernels for AMD's gfx942.

#include "kernels/amd/amd_gpu.h"
#include "kernels/launch.cuh"

namespace tally::kernels {

template std::vector<CompiledKernel> compiled_kernels<AmdGpu>();

}  // namespace tally::kernels
