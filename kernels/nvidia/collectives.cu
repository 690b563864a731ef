// The kernels for NVIDIA's sm_90.

#include "kernels/launch.cuh"
#include "kernels/nvidia/nvidia_gpu.h"

namespace tally::kernels {

template std::vector<CompiledKernel> compiled_kernels<NvidiaGpu>();

}  // namespace tally::kernels
