#pragma once

// The kernels as a GPU's runtime launches them. The source that includes this names its Gpu and is
// compiled for that GPU.

#include <string_view>
#include <vector>

#include "kernels/all_reduce_flat.h"
#include "kernels/all_reduce_tree.h"
#include "kernels/recipes.h"

namespace tally::kernels {

/// The largest block that a kernel may be launched with.
inline constexpr int kMaxThreads = 512;

template <class R, class Gpu>
__global__ void __launch_bounds__(kMaxThreads) flat_kernel(typename R::Arguments a) {
  Gpu gpu;
  all_reduce_flat<R>(gpu, a);
}

template <class R, class Gpu>
__global__ void __launch_bounds__(kMaxThreads) tree_kernel(typename R::Arguments a) {
  Gpu gpu;
  all_reduce_tree<R>(gpu, a);
}

/// A kernel by what it computes. `function` takes AllReduceArguments by value.
struct CompiledKernel {
  std::string_view algorithm;
  model::Arithmetic arithmetic;
  const void* function;
};

template <class Gpu>
std::vector<CompiledKernel> compiled_kernels() {
  std::vector<CompiledKernel> all;
  for_each_recipe([&]<class R>(const model::Arithmetic& arithmetic) {
    all.push_back({"flat", arithmetic, reinterpret_cast<const void*>(&flat_kernel<R, Gpu>)});
    all.push_back({"tree", arithmetic, reinterpret_cast<const void*>(&tree_kernel<R, Gpu>)});
  });
  return all;
}

}  // namespace tally::kernels
