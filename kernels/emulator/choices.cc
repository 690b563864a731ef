#include "kernels/emulator/choices.h"

#include <algorithm>
#include <charconv>

namespace tally::kernels::emulator {

void SlotSet::insert(int slot) {
  if (contains(slot)) return;
  words_[slot / 64] |= bit(slot);
  position_[slot] = size();
  members_.push_back(slot);
}

void SlotSet::erase(int slot) {
  if (!contains(slot)) return;
  words_[slot / 64] &= ~bit(slot);
  const int last = members_.back();
  members_[position_[slot]] = last;
  position_[last] = position_[slot];
  members_.pop_back();
}

int SlotSet::nth(int n) const {
  int slot = after(-1);
  while (n-- > 0) slot = after(slot);
  return slot;
}

int SlotSet::after(int slot) const {
  const int from = slot + 1;
  for (std::size_t w = from / 64; w < words_.size(); ++w) {
    const bool is_first = w == static_cast<std::size_t>(from / 64);
    const std::uint64_t left =
        is_first ? words_[w] & (~std::uint64_t{0} << (from % 64)) : words_[w];
    if (left != 0) return static_cast<int>(64 * w) + std::countr_zero(left);
  }
  return after(-1);
}

std::string text(std::span<const Deviation> deviations) {
  std::string list;
  for (const Deviation& one : deviations) {
    if (!list.empty()) list += ',';
    list += std::to_string(one.at) + ':' + std::to_string(one.chosen);
  }
  return list;
}

std::optional<std::vector<Deviation>> parse_deviations(std::string_view text) {
  std::vector<Deviation> all;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    Deviation one{};
    const auto [colon, bad_at] = std::from_chars(at, end, one.at);
    if (bad_at != std::errc() || colon == end || *colon != ':') return std::nullopt;
    const auto [behind, bad_choice] = std::from_chars(colon + 1, end, one.chosen);
    if (bad_choice != std::errc() || one.at < 0 || one.chosen < 0) return std::nullopt;
    if (!all.empty() && one.at <= all.back().at) return std::nullopt;
    all.push_back(one);
    if (behind == end) break;
    if (*behind != ',' || behind + 1 == end) return std::nullopt;
    at = behind + 1;
  }
  return all;
}

MemoryMood::MemoryMood(SplitMix& random) {
  constexpr int kLikelihoods[] = {0, 50, 300, 700, 1000};
  for (int& one : per_mille_) one = kLikelihoods[random.below(std::size(kLikelihoods))];
}

int MemoryMood::choose(SplitMix& random, int ways, MemoryChoice kind) const {
  if (random.below(1000) >= per_mille_[static_cast<int>(kind)]) return 0;
  return 1 + random.below(ways - 1);
}

RandomWalk::RandomWalk(std::uint64_t seed, Grain grain) : random_(seed), mood_(random_) {
  constexpr int kMeans[] = {1, 3, 10, 30, 100};
  mean_ = grain == Grain::coarse ? 0 : kMeans[random_.below(std::size(kMeans))];
}

int RandomWalk::choose_thread(const Candidates& candidates, int) {
  if (candidates.current >= 0) {
    const Access* access = candidates.upcoming[candidates.current].access;
    const bool is_coarse = mean_ == 0;
    const bool tells = access == nullptr || (is_atomic(access->order) && access->writes());
    if (is_coarse ? !tells : left_-- > 0) return candidates.current;
  }
  left_ = mean_ > 1 ? random_.below(2 * mean_) : 0;
  return candidates.runnable.any(random_.below(candidates.runnable.size()));
}

int RandomWalk::choose_memory(int ways, MemoryChoice kind) {
  return mood_.choose(random_, ways, kind);
}

Pct::Pct(std::uint64_t seed, int depth, std::int64_t steps) : random_(seed), mood_(random_) {
  const auto range = static_cast<std::uint64_t>(std::max<std::int64_t>(steps, 1));
  for (int i = 1; i < depth; ++i) {
    changes_.push_back(static_cast<std::int64_t>(random_.next() % range));
  }
  std::sort(changes_.begin(), changes_.end(), std::greater<>());  // the next one is the last
}

int Pct::choose_thread(const Candidates& candidates, int) {
  if (priorities_.size() < candidates.upcoming.size()) {
    priorities_.resize(candidates.upcoming.size(), kUnknown);
  }
  if (candidates.current >= 0 && !changes_.empty() && changes_.back() <= made()) {
    priorities_[candidates.current] = --lowest_;
    changes_.pop_back();
  }
  int best = -1;
  candidates.runnable.for_each([&](int slot) {
    if (priorities_[slot] == kUnknown) {
      priorities_[slot] = static_cast<std::int64_t>(random_.next() >> 1);
    }
    if (best < 0 || priorities_[slot] > priorities_[best]) best = slot;
  });
  return best;
}

int Pct::choose_memory(int ways, MemoryChoice kind) { return mood_.choose(random_, ways, kind); }

const Deviation* Scripted::due() {
  while (next_ < script_.size() && script_[next_].at < made()) ++next_;
  return next_ < script_.size() && script_[next_].at == made() ? &script_[next_] : nullptr;
}

int Scripted::choose_thread(const Candidates& candidates, int usual) {
  const Deviation* one = due();
  const bool can = one != nullptr && one->chosen < static_cast<int>(candidates.upcoming.size()) &&
                   candidates.runnable.contains(one->chosen);
  return can ? one->chosen : usual;
}

int Scripted::choose_memory(int ways, MemoryChoice) {
  const Deviation* one = due();
  return one != nullptr && one->chosen < ways ? one->chosen : 0;
}

}  // namespace tally::kernels::emulator
