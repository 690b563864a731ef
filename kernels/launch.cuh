#pragma once

// The kernels as a GPU's runtime launches them. The source that includes this names its Gpu and is
// compiled for that GPU.

#include <string_view>
#include <vector>

#include "kernels/algorithms.h"
#include "kernels/recipes.h"

namespace tally::kernels {

/// The largest block that a kernel may be launched with. can_launch() says what else a block must
/// be.
inline constexpr int kMaxThreads = 512;

template <class Algorithm, class R, class Gpu>
__global__ void __launch_bounds__(kMaxThreads) all_reduce_kernel(typename R::Arguments a) {
  Gpu gpu;
  Algorithm::template run<R>(gpu, a);
}

/// A kernel by what it computes; recipe_name() of its arithmetic tells it from others. `function`
/// takes AllReduceArguments by value.
struct CompiledKernel {
  std::string_view algorithm;
  model::Arithmetic arithmetic;
  const void* function;
};

template <class Gpu>
std::vector<CompiledKernel> compiled_kernels() {
  std::vector<CompiledKernel> all;
  for_each_recipe([&]<class R>(const model::Arithmetic& arithmetic) {
    for_each_algorithm<R>([&]<class Algorithm>() {
      void (*const kernel)(typename R::Arguments) = &all_reduce_kernel<Algorithm, R, Gpu>;
      all.push_back({Algorithm::kName, arithmetic, reinterpret_cast<const void*>(kernel)});
    });
  });
  return all;
}

}  // namespace tally::kernels
