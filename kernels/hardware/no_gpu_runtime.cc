// The runtime of a program without a GPU's.

#include "kernels/hardware/gpu_runtime.h"

namespace tally::kernels::hardware {

GpuRuntime* linked_gpu_runtime() { return nullptr; }

}  // namespace tally::kernels::hardware
