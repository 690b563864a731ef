#pragma once

// The parts of the kernel table. Each is compiled by itself, since templates take long.

#include <string>
#include <unordered_map>

#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/kernel_table.h"
#include "kernels/recipes.h"

namespace tally::kernels::emulator {

/// One recipe's kernel with a rank's arguments; the arithmetic holds what is no part of the recipe.
using BindRecipe = Kernel (*)(const Session&, const Call&, int rank, const model::Arithmetic&);

template <class Algorithm, class R>
Kernel bind_kernel(const Session& session, const Call& call, int rank,
                   const model::Arithmetic& arithmetic) {
  return [a = bind<R>(session, call, rank, arithmetic)](EmulatedGpu& gpu) {
    Algorithm::template run<R>(gpu, a);
  };
}

class KernelList {
 public:
  BindRecipe find(const KernelKey& key) const {
    const auto found = kernels_.find(name(key));
    return found == kernels_.end() ? nullptr : found->second;
  }

  template <class Algorithm, class R>
  void add(const model::Arithmetic& arithmetic, std::string_view fault = "") {
    kernels_[name({Algorithm::kName, arithmetic, fault, Algorithm::kCollective})] =
        bind_kernel<Algorithm, R>;
  }
  /// In every algorithm that reduces with the recipe.
  template <class R>
  void add_all(const model::Arithmetic& arithmetic, std::string_view fault = "") {
    for_each_reduction<R>([&]<class Algorithm>() { add<Algorithm, R>(arithmetic, fault); });
  }
  /// What for_each_kernel_of() and its like visit with.
  auto adder() {
    return [this]<class Algorithm, class R>(const model::Arithmetic& arithmetic) {
      this->add<Algorithm, R>(arithmetic);
    };
  }

 private:
  static std::string name(const KernelKey& key) {
    return kernel_name(key.collective, key.algorithm, key.arithmetic) + '/' +
           std::string(key.fault);
  }

  std::unordered_map<std::string, BindRecipe> kernels_;
};

void add_f32_kernels(KernelList& list);
void add_f16_kernels(KernelList& list);
void add_bf16_kernels(KernelList& list);
void add_raw_kernels(KernelList& list);
void add_faulty_plans(KernelList& list);
void add_faulty_blocks(KernelList& list);
void add_faulty_order(KernelList& list);
void add_faulty_arithmetic(KernelList& list);

}  // namespace tally::kernels::emulator
