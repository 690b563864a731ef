#include "kernels/emulator/kernel_table.h"

#include "kernels/emulator/kernel_list.h"
#include "model/schedule.h"

namespace tally::kernels::emulator {

Binder find_binder(const KernelKey& key) {
  static const KernelList list = [] {
    KernelList all;
    add_f32_kernels(all);
    add_f16_kernels(all);
    add_bf16_kernels(all);
    add_faulty_plans(all);
    add_faulty_order(all);
    add_faulty_arithmetic(all);
    return all;
  }();
  const BindRecipe bind_recipe = list.find(key);
  if (bind_recipe == nullptr) return nullptr;
  return [bind_recipe, wire = key.arithmetic.wire](const Session& session, const Call& call,
                                                   int rank) {
    return bind_recipe(session, call, rank, wire);
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

std::size_t scratch_bytes(const model::Arithmetic& arithmetic, std::int64_t count) {
  const model::Wire& wire = arithmetic.wire;
  const std::int64_t words =
      model::ceil_divide(wire.code_bytes(count, arithmetic.element), model::kWordBytes);
  const std::int64_t more = model::ceil_divide(wire.scale_bytes(count), model::kWordBytes);
  return static_cast<std::size_t>(model::kWordBytes * (words + more));
}

std::size_t packet_bytes(std::string_view algorithm, const model::Arithmetic& arithmetic, int ranks,
                         std::int64_t count) {
  if (algorithm != FlatLl::kName) return 0;
  return packet_bytes_of_word(scratch_bytes(arithmetic, count)) * ranks;
}

}  // namespace tally::kernels::emulator
