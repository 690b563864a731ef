#pragma once

// All runs of a small program on strong memory that can differ in their results, one after the
// other: dynamic partial-order reduction with source sets and sleep sets (Flanagan and Godefroid,
// POPL 2005; Abdulla, Aronis, Jonsson and Sagonas, POPL 2014, algorithm 1).
//
//   Explorer explorer;
//   do {
//     Explorer::Run choices(explorer);
//     ... the program, with these choices ...
//   } while (explorer.advance());
//
// Two runs that differ only in the order of steps that do not interfere are one: of each such class
// at least one run is made. A step is an access and what its thread does up to the next; steps of
// two threads interfere where their bytes overlap and one of them writes. What a thread does before
// its first access, or behind a barrier, interferes with nothing and is never put off. Copies
// between kernels are no steps: where one runs beside a kernel, its other orders are not explored.
// A wait's condition has to go on to hold once it does, as it does for flags that count up: that a
// thread comes too late to see it is not looked for.

#include <array>
#include <bit>

#include "kernels/emulator/choices.h"

namespace tally::kernels::emulator {

class Explorer {
 public:
  static constexpr int kMostSlots = 64;

  class Run : public Choices {
   public:
    explicit Run(Explorer& explorer);

   private:
    int choose_thread(const Candidates& candidates, int usual) override;
    int choose_memory(int ways, MemoryChoice kind) override;

    Explorer& explorer_;
  };

  explicit Explorer(std::int64_t most_runs = 1'000'000) : most_runs_(most_runs) {}

  /// False when the run that has just ended was the last, or one run more would be too many.
  bool advance();
  std::int64_t runs() const { return runs_; }
  /// Of these, those that turned out on the way to be like one before.
  std::int64_t redundant_runs() const { return redundant_runs_; }
  /// Whether there was nothing left to explore.
  bool is_exhausted() const { return path_.empty(); }

 private:
  using Slots = std::uint64_t;               // a set of them
  using Past = std::array<int, kMostSlots>;  // of each slot the last step, counted from 1

  struct Step {
    std::uintptr_t address = 0;
    std::uint32_t bytes = 0;
    bool writes = false;
  };
  /// One step of the run, and what else there was to choose.
  struct Node {
    int slot = -1;
    std::array<Step, kMostSlots> steps;  // of the enabled slots
    Slots enabled = 0;
    Slots wanted = 0;  // to be explored from here; a source set in the end
    Slots done = 0;    // explored from here
    Slots asleep = 0;  // what follows these first was explored elsewhere
    Past past{};       // what precedes the step that was taken, and that step
  };

  static Slots bit(int slot) { return Slots{1} << slot; }
  template <class Visit>
  static void for_each(Slots slots, Visit visit) {
    for (; slots != 0; slots &= slots - 1) visit(std::countr_zero(slots));
  }
  static Slots still_asleep(const Node& node);
  static bool interfere(const Step& a, const Step& b);
  static void join(Past& into, const Past& from);

  void begin_run();
  int choose(const Candidates& candidates, int usual);
  void follow_meeting(const Candidates& candidates, Slots enabled);
  int next_step(const Candidates& candidates, Slots enabled, int usual);
  void take(std::size_t number, int slot);
  void reverse(std::size_t first, std::size_t second);

  const std::int64_t most_runs_;
  std::int64_t runs_ = 0, redundant_runs_ = 0;
  std::vector<Node> path_;
  // Of this run.
  std::size_t depth_ = 0;
  bool is_redundant_ = false;
  Slots enabled_ = 0;                   // before the step that was taken last
  int last_ = -1;                       // who took it
  std::array<Past, kMostSlots> known_;  // what precedes each slot's next step
};

}  // namespace tally::kernels::emulator
