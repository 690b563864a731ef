#pragma once

// A case that is ready to be run, as often as wanted: its inputs, and what must come out.

#include "verify/judge.h"

namespace tally::verify {

class Trial {
 public:
  Trial(const Case& c, const Subject& subject);

  struct Outcome {
    Judgement judgement;
    Observation seen;
    bool fails() const { return judgement.verdict != Verdict::ok; }
  };
  Outcome run(const Run& how) const;

  /// Runs interleavings [first, end) in order until `stop` says so of one; all but number 0 need
  /// to know how many choices that makes, so that it is run for them where it is not among them.
  template <class Stop>
  void search(int first, int end, Stop stop) const {
    std::int64_t steps = first > 0 ? run({}).seen.choices : 0;
    for (int i = first; i < end; ++i) {
      const Outcome outcome = run({.interleaving = {i, steps}});
      if (i == 0) steps = outcome.seen.choices;
      if (stop(i, outcome)) return;
    }
  }

  /// Output elements over ranks and calls: what one run compares.
  std::int64_t elements() const { return elements_; }
  Substance substance() const { return verify::substance(case_, wanted_); }

 private:
  Case case_;
  const Subject& subject_;
  std::vector<reference::RankBuffers> inputs_, wanted_;  // [call][rank]; of flat, if of any order
  std::int64_t elements_ = 0;
};

}  // namespace tally::verify
