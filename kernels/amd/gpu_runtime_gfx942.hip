// The runtime of a program for AMD's gfx942, and for gfx950 where the compiler knows it.

#include "kernels/amd/amd_gpu.h"
// What it describes comes first.
#include "kernels/hardware/gpu_runtime.cuh"

namespace tally::kernels {

extern template std::vector<CompiledKernel> compiled_kernels<AmdGpu>();

namespace hardware {
namespace {

struct Amd {
  using Gpu = AmdGpu;
  static constexpr const char* kName = "hip";

  /// Without its features: gfx942, of gfx942:sramecc+:xnack-.
  static std::string architecture(const hipDeviceProp_t& p) {
    const std::string name = p.gcnArchName;
    return name.substr(0, name.find(':'));
  }
  static bool has_code_for(const hipDeviceProp_t& p) {
    const std::string found = architecture(p);
    return (',' + std::string(TALLY_GFX_ARCHITECTURES) + ',').find(',' + found + ',') !=
           std::string::npos;
  }
  /// Uncached, so that no cache holds a peer's store back. HIP 5.2 has no name for the flag.
  static hipError_t allocate_shared(void** memory, std::size_t bytes) {
    constexpr unsigned kDeviceMallocUncached = 0x3;
    return hipExtMallocWithFlags(memory, bytes, kDeviceMallocUncached);
  }
};

}  // namespace

GpuRuntime* linked_gpu_runtime() {
  static DeviceRuntime<Amd> runtime;
  return &runtime;
}

}  // namespace hardware
}  // namespace tally::kernels
