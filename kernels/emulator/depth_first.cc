#include "kernels/emulator/depth_first.h"

#include "model/check.h"

namespace tally::kernels::emulator {

int DepthFirst::choose(std::size_t depth, int ways) {
  if (depth == path_.size()) path_.push_back({ways, 0});
  TALLY_CHECK(path_[depth].ways == ways, "the same choices give the same run");
  return path_[depth].chosen;
}

bool DepthFirst::advance() {
  ++runs_;
  while (!path_.empty() && path_.back().chosen + 1 == path_.back().ways) path_.pop_back();
  if (path_.empty() || runs_ == most_runs_) return false;
  ++path_.back().chosen;
  return true;
}

/// The way of number 0 is the usual thread, the others follow by slot.
int DepthFirst::Run::choose_thread(const Candidates& candidates, int usual) {
  const int ways = candidates.runnable.size();
  if (ways == 1) return usual;
  const int way = search_.choose(depth_++, ways);
  if (way == 0) return usual;
  const int slot = candidates.runnable.nth(way - 1);
  return slot < usual ? slot : candidates.runnable.nth(way);
}

int DepthFirst::Run::choose_memory(int ways, MemoryChoice) {
  return search_.choose(depth_++, ways);
}

}  // namespace tally::kernels::emulator
