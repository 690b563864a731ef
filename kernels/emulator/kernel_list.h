#pragma once

// The parts of the kernel table. Each is compiled by itself, since templates take long.

#include <string>
#include <unordered_map>

#include "kernels/algorithms.h"
#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/kernel_table.h"
#include "kernels/recipes.h"

namespace tally::kernels::emulator {

/// One recipe's kernel with a rank's arguments; the wire holds what is no part of the recipe.
using BindRecipe = Kernel (*)(const Session&, const Call&, int rank, const model::Wire&);

template <class Algorithm, class R>
Kernel bind_kernel(const Session& session, const Call& call, int rank, const model::Wire& wire) {
  return [a = bind<R>(session, call, rank, wire)](EmulatedGpu& gpu) {
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
    kernels_[name({Algorithm::kName, arithmetic, fault})] = bind_kernel<Algorithm, R>;
  }
  /// In every algorithm that there is for the recipe.
  template <class R>
  void add_all(const model::Arithmetic& arithmetic, std::string_view fault = "") {
    for_each_algorithm<R>([&]<class Algorithm>() { add<Algorithm, R>(arithmetic, fault); });
  }
  /// Every healthy kernel of an element.
  template <class E>
  void add_element() {
    for_each_recipe_of<E>([this]<class R>(const model::Arithmetic& a) { this->add_all<R>(a); });
  }

 private:
  static std::string name(const KernelKey& key) {
    std::string text(key.algorithm);
    text += '/' + recipe_name(key.arithmetic) + '/';
    text += key.fault;
    return text;
  }

  std::unordered_map<std::string, BindRecipe> kernels_;
};

void add_f32_kernels(KernelList& list);
void add_f16_kernels(KernelList& list);
void add_bf16_kernels(KernelList& list);
void add_faulty_plans(KernelList& list);
void add_faulty_order(KernelList& list);
void add_faulty_arithmetic(KernelList& list);

}  // namespace tally::kernels::emulator
