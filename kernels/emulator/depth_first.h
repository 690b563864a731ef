#pragma once

// All runs of a tiny program, one after the other:
//
//   DepthFirst search;
//   do {
//     DepthFirst::Run choices(search);
//     ... the program, with these choices ...
//   } while (search.advance());

#include "kernels/emulator/choices.h"

namespace tally::kernels::emulator {

/// Each run makes the same choices as the one before it up to the last that has a way left, takes
/// the next way there, and goes on with what is usual. The first run is all usual.
class DepthFirst {
 public:
  class Run : public Choices {
   public:
    explicit Run(DepthFirst& search) : search_(search) {}

   private:
    int choose_thread(const Candidates& candidates, int usual) override;
    int choose_memory(int ways, MemoryChoice kind) override;

    DepthFirst& search_;
    std::size_t depth_ = 0;
  };

  explicit DepthFirst(std::int64_t most_runs = 1'000'000) : most_runs_(most_runs) {}

  /// False when the run that has just ended was the last, or one run more would be too many.
  bool advance();
  std::int64_t runs() const { return runs_; }
  /// Whether there was nothing left to choose.
  bool is_exhausted() const { return path_.empty(); }

 private:
  struct Choice {
    int ways, chosen;
  };
  int choose(std::size_t depth, int ways);

  const std::int64_t most_runs_;
  std::int64_t runs_ = 0;
  std::vector<Choice> path_;
};

}  // namespace tally::kernels::emulator
