#include "tests/kernels/assembly/word_rule.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tally::kernels::assembly {

namespace {

/// Between which block barriers, by how many have been passed, a kernel moves scratch alone.
struct Phases {
  int barriers;  // that there are
  std::vector<int> stores, loads;
  std::vector<int> stores_among_flags = {};  // as the former, but flags are stored there too
  bool has_counts = false;                   // which are told among the words
};

Phases phases(const Kernel& kernel) {
  if (kernel.algorithm == "ring") return {6, {}, {}};
  if (kernel.algorithm == "tree") return {6, {0, 2}, {2, 4}};
  if (kernel.collective == model::Collective::all_to_all_v) return {4, {0}, {2}, {}, true};
  return {5, {0}, {3}, {1}};
}

/// Accesses of one kind in a phase.
struct Accesses {
  int whole = 0, narrow = 0;
  /// Beside each word there may be a scale, in each of three sizes.
  bool are_words_and_scales() const { return whole > 0 && narrow <= 3 * whole; }
  bool are_words() const { return whole > 0; }
};

bool contains(const std::vector<int>& all, int one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::string moves_whole_words(const Kernel& kernel, const Operations& names) {
  const auto is = [](const Instruction& i, std::string_view prefix) {
    return i.operation.rfind(prefix, 0) == 0;
  };
  const Phases due = phases(kernel);
  const bool may_be_narrow = kernel.has_blocks() || due.has_counts;
  const auto barriers = std::count_if(kernel.code.begin(), kernel.code.end(),
                                      [&](const auto& i) { return is(i, names.barrier); });
  if (barriers != due.barriers) return std::to_string(barriers) + " block barriers";
  std::array<Accesses, 7> loads{}, stores{};  // by how many barriers stand before them
  int passed = 0;
  for (const Instruction& i : kernel.code) {
    if (is(i, names.barrier)) ++passed;
    if (is(i, names.load) && i.operation != names.pointer_load) {
      const bool is_whole = is(i, names.whole_load);
      if (!is_whole && contains(due.loads, passed) && !may_be_narrow) {
        return broken(i, "narrow load");
      }
      ++(is_whole ? loads[passed].whole : loads[passed].narrow);
    }
    if (is(i, names.store)) {
      const bool is_whole = is(i, names.whole_store);
      if (!is_whole && contains(due.stores, passed) && !may_be_narrow) {
        return broken(i, "narrow store");
      }
      ++(is_whole ? stores[passed].whole : stores[passed].narrow);
    }
  }
  if (kernel.algorithm == "ring") {
    int whole_loads = 0, whole_stores = 0;
    const auto three_loads = std::count_if(
        kernel.code.begin(), kernel.code.end(),
        [&](const Instruction& i) { return !names.three_load.empty() && is(i, names.three_load); });
    for (const Accesses& all : loads) whole_loads += all.whole;
    for (const Accesses& all : stores) whole_stores += all.whole;
    const bool are_whole = whole_loads >= 3 && whole_loads + three_loads >= 7 && whole_stores >= 7;
    return are_whole ? "" : "scratch is not moved in whole words";
  }
  const auto moves = [&](const Accesses& found) {
    return due.has_counts ? found.are_words() : found.are_words_and_scales();
  };
  for (const int phase : due.stores) {
    if (!moves(stores[phase])) return "scratch is not stored where it should be";
  }
  for (const int phase : due.stores_among_flags) {
    if (!stores[phase].are_words()) return "scratch is not stored where it should be";
  }
  for (const int phase : due.loads) {
    if (!moves(loads[phase])) return "scratch is not loaded where it should be";
  }
  return "";
}

}  // namespace tally::kernels::assembly
