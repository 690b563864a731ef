// The all-reduce kernels for NVIDIA's sm_90.

#include "kernels/nvidia/nvidia_gpu.h"

#include "kernels/launch.cuh"

namespace tally::kernels {

template std::vector<CompiledKernel> compiled_kernels<NvidiaGpu>();

}  // namespace tally::kernels
