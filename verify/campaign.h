#pragma once

// Runs cases on a subject, on all cores, and hands out the results in the cases' order.

#include <functional>
#include <map>

#include "verify/shrink.h"

namespace tally::verify {

struct CaseResult {
  Case c;
  Judgement judgement;
  int interleavings = 0;      // that were run: up to the first that failed
  std::int64_t elements = 0;  // output elements compared, over ranks, calls and interleavings
  Substance substance;
  std::uint64_t fingerprint = 0;  // of rank 0's outputs, all NaN alike
  std::optional<Shrunk> shrunk;   // where it failed and was worth it
};

struct Summary {
  std::string description;  // of the subject: Subject::description()
  std::int64_t cases = 0, ok = 0, mismatch = 0, hang = 0, skipped = 0;
  std::int64_t interleavings = 0, elements = 0;
  double seconds = 0;
  /// Built-in inputs other than corner of whose outputs less than 90 % were finite and not zero.
  std::vector<std::string> idle_inputs;

  /// 0: everything held; 1: something did not, or an input tested nothing; 3: all was skipped.
  int exit_status() const {
    if (mismatch + hang > 0 || !idle_inputs.empty()) return 1;
    return cases > 0 && skipped == cases ? 3 : 0;
  }
};

/// Runs one case: its interleavings in order until one fails, which is then shrunk where
/// finds_races(case).
CaseResult run_case(const Case& c, const Subject& subject);

/// Runs all cases, the interleavings of a case on several cores where they are many, with the same
/// results as run_case, but that only the first three failures are shrunk. Beside each case's own
/// judgement, flat, flat_ll and tree must give the same bits where the wire is none. on_result is
/// called in the cases' order, by one thread at a time; `now` reads a clock in seconds.
Summary run_campaign(const std::vector<Case>& cases, const Subject& subject,
                     const std::function<void(const CaseResult&)>& on_result,
                     const std::function<double()>& now);

}  // namespace tally::verify
