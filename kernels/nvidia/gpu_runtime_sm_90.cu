// The runtime of a program for NVIDIA's sm_90.

#include "kernels/nvidia/nvidia_gpu.h"
// What it describes comes first.
#include "kernels/hardware/gpu_runtime.cuh"

namespace tally::kernels {

extern template std::vector<CompiledKernel> compiled_kernels<NvidiaGpu>();

namespace hardware {
namespace {

struct Nvidia {
  using Gpu = NvidiaGpu;
  static constexpr const char* kName = "cuda";

  static std::string architecture(const hipDeviceProp_t& p) {
    return "sm_" + std::to_string(p.major) + std::to_string(p.minor);
  }
  /// Its own, and the PTX that later ones can translate.
  static bool has_code_for(const hipDeviceProp_t& p) { return p.major >= 9; }
  /// Accesses at system scope are coherent in ordinary memory.
  static hipError_t allocate_shared(void** memory, std::size_t bytes) {
    return hipMalloc(memory, bytes);
  }
};

}  // namespace

GpuRuntime* linked_gpu_runtime() {
  static DeviceRuntime<Nvidia> runtime;
  return &runtime;
}

}  // namespace hardware
}  // namespace tally::kernels
