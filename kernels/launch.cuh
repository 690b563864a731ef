#pragma once

// The kernels as a GPU's runtime launches them. The source that includes this names its Gpu and is
// compiled for that GPU.

#include <string_view>
#include <vector>

#include "kernels/algorithms.h"
#include "kernels/launch.h"
#include "kernels/recipes.h"

namespace tally::kernels {

#if defined(__CUDACC__)
#define TALLY_GRID_CONSTANT __grid_constant__
#else
#define TALLY_GRID_CONSTANT
#endif

/// The arguments of one place of a launch.
template <class R>
TALLY_DEVICE typename R::Arguments arguments_of(const Launch& l, int place) {
  using E = typename R::Element;
  typename R::Arguments a{};
  a.input = static_cast<const typename E::Storage*>(l.calls[place].input);
  a.output = static_cast<typename E::Storage*>(l.calls[place].output);
  a.count = l.count;
  a.rank = l.first_rank + place;
  a.ranks = l.ranks;
  if constexpr (requires { a.codec = l.wire; }) a.codec = l.wire;
  for (int r = 0; r < l.ranks; ++r) {
    a.scratch[r] = static_cast<typename R::Codec::Packet*>(l.peers.scratch[r]);
    a.flags[r] = l.peers.flags[r];
    a.packets.of_rank[r] = l.peers.packets[r];
  }
  a.epochs = l.own.epochs + place * l.own.max_blocks;
  constexpr int kParts = sizeof(typename R::Codec::Packet) / sizeof(std::uint32_t);
  a.packets.words = l.own.bytes_of_packets / (2 * kParts * sizeof(std::uint64_t) * l.ranks);
  a.packets.epochs = l.own.packet_epochs + place * l.own.max_threads;
  a.packets.threads = l.own.max_threads;
  a.stuck = l.own.stuck + place;
  return a;
}

template <class Algorithm, class R, class Gpu>
__global__ void __launch_bounds__(kMaxThreads)
    collective_kernel(const TALLY_GRID_CONSTANT Launch launch) {
  Gpu gpu;
  Algorithm::template run<R>(gpu, arguments_of<R>(launch, blockIdx.y));
}

/// A kernel by what it computes; recipe_name() of its arithmetic tells it from others. `function`
/// takes a Launch by value.
struct CompiledKernel {
  model::Collective collective;
  std::string_view algorithm;
  model::Arithmetic arithmetic;
  const void* function;
};

template <class Gpu>
std::vector<CompiledKernel> compiled_kernels() {
  std::vector<CompiledKernel> all;
  for_each_recipe([&]<class R>(const model::Arithmetic& arithmetic) {
    for_each_algorithm<R>([&]<class Algorithm>() {
      void (*const kernel)(Launch) = &collective_kernel<Algorithm, R, Gpu>;
      all.push_back({model::Collective::all_reduce, Algorithm::kName, arithmetic,
                     reinterpret_cast<const void*>(kernel)});
    });
  });
  return all;
}

}  // namespace tally::kernels
