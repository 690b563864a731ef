#pragma once

// Everything in a run that could have gone otherwise is chosen here: which thread goes on, and what
// the memory system does in its own time. The same choices give the same run.

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/emulator/access.h"

namespace tally::kernels::emulator {

/// A set of slots.
class SlotSet {
 public:
  void resize(int slots) {
    words_.resize((slots + 63) / 64);
    position_.resize(slots);
  }
  void insert(int slot);
  void erase(int slot);
  bool contains(int slot) const { return (words_[slot / 64] & bit(slot)) != 0; }
  int size() const { return static_cast<int>(members_.size()); }
  bool empty() const { return members_.empty(); }
  /// Member number n, 0 <= n < size(), in an order that depends on what was inserted and erased.
  int any(int n) const { return members_[n]; }
  /// The n-th smallest member, 0 <= n < size().
  int nth(int n) const;
  /// The smallest member above `slot`, else the smallest of all; the set is not empty.
  int after(int slot) const;
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1) {
        visit(static_cast<int>(64 * w) + std::countr_zero(left));
      }
    }
  }

 private:
  static std::uint64_t bit(int slot) { return std::uint64_t{1} << (slot % 64); }
  std::vector<std::uint64_t> words_;
  std::vector<int> members_, position_;  // position_[slot] in members_
};

/// What a thread is about to do when it goes on.
struct Upcoming {
  Place place;
  const Access* access = nullptr;  // null: it begins, or comes from a barrier or a shuffle
};

/// What the next thread is chosen from.
struct Candidates {
  const SlotSet& runnable;             // not empty
  int current;                         // the one that ran last, or -1 where it cannot go on
  std::span<const Upcoming> upcoming;  // [slot]

  /// Who goes on where nobody interferes: the current one, else the next by slot.
  int usual(int last) const { return current >= 0 ? current : runnable.after(last); }
};

/// A choice that was not the usual one: the usual thread goes on until it cannot, and the memory
/// does at once what it is asked to, with what is newest.
struct Deviation {
  std::int64_t at;  // number of the choice, over threads and memory together
  int chosen;       // the slot, or which of the memory's ways
  friend bool operator==(const Deviation&, const Deviation&) = default;
};

/// "12:3,57:1", "" where there is none; and back, nothing where the text is no such list.
std::string text(std::span<const Deviation> deviations);
std::optional<std::vector<Deviation>> parse_deviations(std::string_view text);

/// What the memory system chooses: when a store that is under way is performed, what happens by
/// itself meanwhile, and how old the line is that a load finds.
enum class MemoryChoice : std::uint8_t { delay, progress, age };

class Choices {
 public:
  virtual ~Choices() = default;

  /// The slot of the thread that goes on. Asked before every access of a thread and whenever one
  /// cannot go on.
  int thread(const Candidates& candidates) {
    const int usual = candidates.usual(last_);
    last_ = choose_thread(candidates, usual);
    if (last_ != usual) deviations_.push_back({made_, last_});
    ++made_;
    return last_;
  }
  /// One of so many ways, 0 being the usual one.
  int memory(int ways, MemoryChoice kind = MemoryChoice::delay) {
    const int chosen = choose_memory(ways, kind);
    if (chosen != 0) deviations_.push_back({made_, chosen});
    ++made_;
    return chosen;
  }

  const std::vector<Deviation>& deviations() const { return deviations_; }
  std::int64_t made() const { return made_; }

 protected:
  virtual int choose_thread(const Candidates& candidates, int usual) = 0;
  virtual int choose_memory(int ways, MemoryChoice kind) = 0;

 private:
  std::vector<Deviation> deviations_;
  std::int64_t made_ = 0;
  int last_ = -1;
};

/// SplitMix64 (Steele, Lea, Flood 2014): the whole state is one word.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }
  /// Below `n`, which is at least 1.
  int below(int n) {
    return static_cast<int>((next() >> 32) * static_cast<std::uint64_t>(n) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// How likely the memory system of one run is to do each kind of thing other than is usual. Drawn
/// for the run: a bug may need all stores late, or all but one at once.
class MemoryMood {
 public:
  explicit MemoryMood(SplitMix& random);
  int choose(SplitMix& random, int ways, MemoryChoice kind) const;

 private:
  int per_mille_[3];  // by MemoryChoice
};

/// A random walk. A thread goes on for a random number of accesses, whose mean is drawn for the
/// run; `coarse` interrupts one only before it stores a flag.
class RandomWalk : public Choices {
 public:
  enum class Grain : std::uint8_t { coarse, fine };
  explicit RandomWalk(std::uint64_t seed, Grain grain = Grain::fine);

 private:
  int choose_thread(const Candidates& candidates, int usual) override;
  int choose_memory(int ways, MemoryChoice kind) override;

  SplitMix random_;
  MemoryMood mood_;
  int mean_, left_ = 0;
};

/// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): the thread with the highest
/// priority goes on; at depth - 1 random ones of `steps` choices the running one falls to the
/// lowest. Finds a bug of that depth among n threads with probability 1 / (n steps^(depth - 1)).
class Pct : public Choices {
 public:
  Pct(std::uint64_t seed, int depth, std::int64_t steps);

 private:
  int choose_thread(const Candidates& candidates, int usual) override;
  int choose_memory(int ways, MemoryChoice kind) override;

  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  SplitMix random_;
  MemoryMood mood_;
  std::vector<std::int64_t> changes_;     // at which choices; the next one is the last
  std::vector<std::int64_t> priorities_;  // [slot], drawn when first seen; lowered ones are below 0
  std::int64_t lowest_ = 0;
};

/// The deviations of an earlier run, and otherwise what is usual. One that cannot be followed is
/// left out.
class Scripted : public Choices {
 public:
  explicit Scripted(std::vector<Deviation> script) : script_(std::move(script)) {}

 private:
  int choose_thread(const Candidates& candidates, int usual) override;
  int choose_memory(int ways, MemoryChoice kind) override;
  const Deviation* due();

  std::vector<Deviation> script_;
  std::size_t next_ = 0;
};

}  // namespace tally::kernels::emulator
