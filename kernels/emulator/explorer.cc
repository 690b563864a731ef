#include "kernels/emulator/explorer.h"

#include <algorithm>

#include "model/check.h"

namespace tally::kernels::emulator {

bool Explorer::interfere(const Step& a, const Step& b) {
  return (a.writes || b.writes) && a.address < b.address + b.bytes &&
         b.address < a.address + a.bytes;
}

void Explorer::join(Past& into, const Past& from) {
  for (int slot = 0; slot < kMostSlots; ++slot) into[slot] = std::max(into[slot], from[slot]);
}

Explorer::Run::Run(Explorer& explorer) : explorer_(explorer) { explorer.begin_run(); }

int Explorer::Run::choose_thread(const Candidates& candidates, int usual) {
  return explorer_.choose(candidates, usual);
}

int Explorer::Run::choose_memory(int, MemoryChoice) {
  TALLY_CHECK(false, "an exploration is of strong memory, which chooses nothing");
  return 0;
}

void Explorer::begin_run() {
  depth_ = 0;
  is_redundant_ = false;
  enabled_ = 0;
  last_ = -1;
  known_ = {};
}

bool Explorer::advance() {
  ++runs_;
  redundant_runs_ += is_redundant_;
  while (!path_.empty()) {
    Node& node = path_.back();
    node.done |= bit(node.slot);
    const Slots left = node.wanted & ~node.done & ~node.asleep;
    if (left != 0) {
      if (runs_ == most_runs_) return false;
      node.slot = std::countr_zero(left);
      return true;
    }
    path_.pop_back();
  }
  return false;
}

int Explorer::choose(const Candidates& candidates, int usual) {
  TALLY_CHECK(candidates.upcoming.size() <= kMostSlots, "an exploration is of few threads");
  Slots enabled = 0, local = 0;
  candidates.runnable.for_each([&](int slot) {
    enabled |= bit(slot);
    if (candidates.upcoming[slot].access == nullptr) local |= bit(slot);
  });
  follow_meeting(candidates, enabled);
  enabled_ = enabled;
  if (local != 0) {
    last_ = (local & bit(usual)) != 0 ? usual : std::countr_zero(local);
  } else {
    last_ = next_step(candidates, enabled, usual);
  }
  return last_;
}

/// What the threads of a block did before a barrier, or in the kernel before, precedes what they
/// do behind it. Whom a store woke needs no such edge: its wait interferes with the store.
void Explorer::follow_meeting(const Candidates& candidates, Slots enabled) {
  const auto& upcoming = candidates.upcoming;
  const bool is_meeting =
      last_ >= 0 && (enabled & bit(last_)) != 0 && upcoming[last_].access == nullptr;
  if (!is_meeting) return;
  Slots mates = 0;
  for_each(enabled & ~enabled_, [&](int slot) {
    if (upcoming[slot].place.workgroup == upcoming[last_].place.workgroup) mates |= bit(slot);
  });
  for_each(mates, [&](int slot) { join(known_[last_], known_[slot]); });
  for_each(mates, [&](int slot) { join(known_[slot], known_[last_]); });
}

/// The next step of the run: the one that the path has, or a new one.
int Explorer::next_step(const Candidates& candidates, Slots enabled, int usual) {
  if (is_redundant_) return usual;
  const std::size_t number = depth_;
  if (number == path_.size()) {
    const Slots asleep = number == 0 ? 0 : still_asleep(path_.back());
    const Slots awake = enabled & ~asleep;
    if (awake == 0) {
      is_redundant_ = true;
      return usual;
    }
    Node& node = path_.emplace_back();
    node.slot = (awake & bit(usual)) != 0 ? usual : std::countr_zero(awake);
    node.wanted = bit(node.slot);
    node.enabled = enabled;
    node.asleep = asleep;
  }
  Node& node = path_[number];
  TALLY_CHECK(node.enabled == enabled, "the same choices give the same run");
  for_each(enabled, [&](int slot) {  // each run's memory has addresses of its own
    const Access& access = *candidates.upcoming[slot].access;
    node.steps[slot] = {reinterpret_cast<std::uintptr_t>(access.address), access.bytes,
                        access.writes()};
  });
  if (++depth_ == path_.size()) {
    take(number, node.slot);
  } else {
    known_[node.slot] = node.past;
  }
  return node.slot;
}

/// What was explored from there already need not go first behind the step that was taken, unless
/// that interferes with it.
Explorer::Slots Explorer::still_asleep(const Node& node) {
  Slots asleep = 0;
  for_each(node.asleep | node.done, [&](int slot) {
    if (!interfere(node.steps[node.slot], node.steps[slot])) asleep |= bit(slot);
  });
  return asleep;
}

/// Finds the earlier steps that the new one races with: those that interfere, and that nothing
/// between orders before it.
void Explorer::take(std::size_t number, int slot) {
  Node& node = path_[number];
  Past past = known_[slot];
  std::vector<std::size_t> races;
  for (std::size_t i = number; i-- > 0;) {
    const Node& earlier = path_[i];
    if (past[earlier.slot] > static_cast<int>(i)) continue;
    if (!interfere(earlier.steps[earlier.slot], node.steps[slot])) continue;
    races.push_back(i);
    join(past, earlier.past);
  }
  past[slot] = static_cast<int>(number) + 1;
  node.past = known_[slot] = past;
  for (const std::size_t earlier : races) reverse(earlier, number);
}

/// Wants a run in which `second` comes before `first`: one that begins, where `first` was taken,
/// with a step that nothing precedes among those that `first` does not precede.
void Explorer::reverse(std::size_t first, std::size_t second) {
  Node& node = path_[first];
  Slots seen = 0, initial = 0;
  Past begin{};  // of the slots that were seen, the first step
  for (std::size_t i = first + 1; i <= second; ++i) {
    const Node& step = path_[i];
    if (i != second && step.past[node.slot] > static_cast<int>(first)) continue;
    if ((seen & bit(step.slot)) != 0) continue;
    bool is_first = true;
    for_each(seen, [&](int slot) { is_first = is_first && step.past[slot] < begin[slot]; });
    seen |= bit(step.slot);
    begin[step.slot] = static_cast<int>(i) + 1;
    if (is_first) initial |= bit(step.slot);
  }
  if ((initial & (node.wanted | node.asleep)) != 0) return;
  // Where none of them could go on there, as who waits for `first` cannot, nothing can be reversed.
  const Slots able = initial & node.enabled;
  node.wanted |= able & -able;
}

}  // namespace tally::kernels::emulator
