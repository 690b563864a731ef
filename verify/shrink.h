#pragma once

// From a case that fails in one of its interleavings to a small one that fails in the same way,
// in an interleaving with few switches, and the picture of that.

#include "verify/trial.h"

namespace tally::verify {

struct Shrunk {
  Case c;  // with a script
  Judgement judgement;
  std::string chart;
};

/// What finding it may cost. It depends on nothing else, so that it is the same every time.
struct ShrinkLimits {
  std::int64_t choices = 20'000'000;  // of all runs together
  int interleavings = 48;             // of each smaller case, beside the usual one
};

/// Interleaving `failing` of `c` fails. The result is caught by the same detector, and for an order
/// fault at the same lines; of a case with a script it is the case itself. Fewer ranks, blocks,
/// threads and calls and smaller counts are tried in a fixed order, then fewer deviations by delta
/// debugging (Zeller and Hildebrandt, IEEE TSE 28(2), 2002). Nothing where the failure does not
/// come again when it is replayed.
std::optional<Shrunk> shrink(const Case& c, int failing, const Subject& subject,
                             const ShrinkLimits& limits = {});

}  // namespace tally::verify
