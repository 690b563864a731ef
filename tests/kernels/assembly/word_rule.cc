#include "tests/kernels/assembly/word_rule.h"

#include <algorithm>
#include <array>

namespace tally::kernels::assembly {

std::string moves_whole_words(const Kernel& kernel, const Operations& names) {
  const auto is = [](const Instruction& i, std::string_view prefix) {
    return i.operation.rfind(prefix, 0) == 0;
  };
  const bool is_tree = kernel.algorithm == "tree";
  const auto barriers = std::count_if(kernel.code.begin(), kernel.code.end(),
                                      [&](const auto& i) { return is(i, names.barrier); });
  if (barriers != (is_tree ? 6 : 4)) return std::to_string(barriers) + " block barriers";
  std::array<int, 7> loads{}, stores{};  // by how many barriers stand before them
  int passed = 0;
  for (const Instruction& i : kernel.code) {
    if (is(i, names.barrier)) ++passed;
    const bool loads_scratch = passed == 2 || (is_tree && passed == 4);
    const bool stores_scratch = passed == 0 || (is_tree && passed == 2);
    if (loads_scratch && is(i, names.load)) {
      if (i.operation == names.pointer_load) continue;
      if (!is(i, names.whole_load)) return broken(i, "a narrow load");
      ++loads[passed];
    }
    if (stores_scratch && is(i, names.store)) {
      if (!is(i, names.whole_store)) return broken(i, "a narrow store");
      ++stores[passed];
    }
  }
  const bool moves = stores[0] > 0 && loads[2] > 0;
  const bool moves_twice = stores[2] > 0 && loads[4] > 0;
  return moves && (!is_tree || moves_twice) ? "" : "scratch is not moved where it should be";
}

}  // namespace tally::kernels::assembly
