#pragma once

// Runs cases on a subject, on all cores, and hands out the results in the cases' order.

#include <functional>
#include <map>

#include "verify/judge.h"

namespace tally::verify {

struct CaseResult {
  Case c;
  Judgement judgement;
  std::int64_t elements = 0;  // output elements compared, over ranks, calls and interleavings
  Substance substance;
  std::uint64_t fingerprint = 0;  // of rank 0's outputs, all NaN alike
};

struct Summary {
  std::int64_t cases = 0, ok = 0, mismatch = 0, hang = 0, skipped = 0;
  std::int64_t elements = 0;
  double seconds = 0;
  /// Built-in inputs other than corner of whose outputs less than 90 % were finite and not zero.
  std::vector<std::string> idle_inputs;

  /// 0: everything held; 1: something did not, or an input tested nothing.
  int exit_status() const { return mismatch + hang > 0 || !idle_inputs.empty() ? 1 : 0; }
};

/// Runs one case: every interleaving until one fails.
CaseResult run_case(const Case& c, const Subject& subject);

/// Runs all cases. Beside each case's own judgement, flat and tree must give the same bits where
/// the wire is none. on_result is called in order, by one thread at a time; `now` reads a clock in
/// seconds.
Summary run_campaign(const std::vector<Case>& cases, const Subject& subject,
                     const std::function<void(const CaseResult&)>& on_result,
                     const std::function<double()>& now);

}  // namespace tally::verify
