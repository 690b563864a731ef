#include "tests/kernels/assembly/word_rule.h"

#include <algorithm>
#include <array>

namespace tally::kernels::assembly {

namespace {

/// What may stand where `passed` block barriers have been passed.
struct Phase {
  bool loads_only_scratch, stores_only_scratch;
};

Phase phase(std::string_view algorithm, int passed) {
  if (algorithm == "ring") return {false, false};
  const bool is_tree = algorithm == "tree";
  return {passed == 2 || (is_tree && passed == 4), passed == 0 || (is_tree && passed == 2)};
}

/// Accesses of one kind in a phase.
struct Accesses {
  int whole = 0, narrow = 0;
  /// Beside each word there may be a scale, in each of three sizes.
  bool are_words_and_scales() const { return whole > 0 && narrow <= 3 * whole; }
};

}  // namespace

std::string moves_whole_words(const Kernel& kernel, const Operations& names) {
  const auto is = [](const Instruction& i, std::string_view prefix) {
    return i.operation.rfind(prefix, 0) == 0;
  };
  const bool is_flat = kernel.algorithm == "flat";
  const auto barriers = std::count_if(kernel.code.begin(), kernel.code.end(),
                                      [&](const auto& i) { return is(i, names.barrier); });
  if (barriers != (is_flat ? 4 : 6)) return std::to_string(barriers) + " block barriers";
  std::array<Accesses, 7> loads{}, stores{};  // by how many barriers stand before them
  int passed = 0;
  for (const Instruction& i : kernel.code) {
    if (is(i, names.barrier)) ++passed;
    const auto [loads_only_scratch, stores_only_scratch] = phase(kernel.algorithm, passed);
    if (is(i, names.load) && i.operation != names.pointer_load) {
      const bool is_whole = is(i, names.whole_load);
      if (!is_whole && loads_only_scratch && !kernel.has_blocks()) return broken(i, "narrow load");
      ++(is_whole ? loads[passed].whole : loads[passed].narrow);
    }
    if (is(i, names.store)) {
      const bool is_whole = is(i, names.whole_store);
      if (!is_whole && stores_only_scratch && !kernel.has_blocks())
        return broken(i, "narrow store");
      ++(is_whole ? stores[passed].whole : stores[passed].narrow);
    }
  }
  if (kernel.algorithm == "ring") {
    int whole_loads = 0, whole_stores = 0;
    for (const Accesses& all : loads) whole_loads += all.whole;
    for (const Accesses& all : stores) whole_stores += all.whole;
    return whole_loads >= 7 && whole_stores >= 7 ? "" : "scratch is not moved in whole words";
  }
  const bool moves = stores[0].are_words_and_scales() && loads[2].are_words_and_scales();
  const bool moves_twice = stores[2].are_words_and_scales() && loads[4].are_words_and_scales();
  return moves && (is_flat || moves_twice) ? "" : "scratch is not moved where it should be";
}

}  // namespace tally::kernels::assembly
