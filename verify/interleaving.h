#pragma once

// Which interleavings of a case are tried. Each is a function of the case's seed and its number.

#include <memory>

#include "kernels/emulator/choices.h"
#include "verify/case.h"

namespace tally::verify {

/// One of the interleavings of a case.
struct Interleaving {
  int number = 0;
  /// How many choices number 0 makes: what the others' changes are spread over.
  std::int64_t steps = 0;
};

/// Number 0 is a coarse random walk, cheap and good for values. The others take turns: a fine
/// random walk, and probabilistic concurrency testing of depth 1 to 5. Of a case with a script
/// there is only that.
std::unique_ptr<kernels::emulator::Choices> choices_of(const Case& c, const Interleaving& which);

}  // namespace tally::verify
