#pragma once

// The kernels as a GPU's runtime launches them. The source that includes this names its Gpu and is
// compiled for that GPU.

#include <vector>

#include "kernels/recipes.h"

namespace tally::kernels {

/// The largest block that a kernel may be launched with. can_launch() says what else a block must
/// be.
inline constexpr int kMaxThreads = 512;

// What a __global__ function is given stays where it is: nobody copies the tables of a Launch.
#if defined(__CUDACC__)
#define TALLY_IN_PLACE __grid_constant__
#else
#define TALLY_IN_PLACE
#endif

/// In a grid of blocks x places.
template <class Algorithm, class R, class Gpu>
__global__ void __launch_bounds__(kMaxThreads)
    collective_kernel(const TALLY_IN_PLACE Launch launch) {
  Gpu gpu;
  const typename R::Arguments a = arguments<R>(launch, blockIdx.y);
  Algorithm::template run<R>(gpu, a);
}

/// A kernel with its kernel_name(). `function` takes a Launch by value.
struct CompiledKernel {
  std::string name;
  const void* function;
};

template <class Gpu>
std::vector<CompiledKernel> compiled_kernels() {
  std::vector<CompiledKernel> all;
  for_each_kernel([&]<class Algorithm, class R>(const model::Arithmetic& arithmetic) {
    void (*const kernel)(Launch) = &collective_kernel<Algorithm, R, Gpu>;
    all.push_back({kernel_name(Algorithm::kCollective, Algorithm::kName, arithmetic),
                   reinterpret_cast<const void*>(kernel)});
  });
  return all;
}

}  // namespace tally::kernels
