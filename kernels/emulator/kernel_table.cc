#include "kernels/emulator/kernel_table.h"

#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

Binder find_binder(const KernelKey& key) {
  static const KernelList list = [] {
    KernelList all;
    add_f32_kernels(all);
    add_f16_kernels(all);
    add_bf16_kernels(all);
    add_raw_kernels(all);
    add_faulty_plans(all);
    add_faulty_blocks(all);
    add_faulty_order(all);
    add_faulty_arithmetic(all);
    return all;
  }();
  const BindRecipe bind_recipe = list.find(key);
  if (bind_recipe == nullptr) return nullptr;
  return [bind_recipe, arithmetic = key.arithmetic](const Session& session, const Call& call,
                                                    int rank) {
    return bind_recipe(session, call, rank, arithmetic);
  };
}

Launcher find_kernel(const KernelKey& key) {
  const Binder bind = find_binder(key);
  if (bind == nullptr) return nullptr;
  return [bind](Emulator& emulator, const Session& session, const Call& call) {
    for (int rank = 0; rank < session.ranks; ++rank) {
      emulator.launch(rank, session.geometry, bind(session, call, rank));
    }
  };
}

bool can_launch(const model::Arithmetic& arithmetic, const Geometry& geometry) {
  return kernels::can_launch(arithmetic.wire, geometry.threads, geometry.wave);
}

}  // namespace tally::kernels::emulator
