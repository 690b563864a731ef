#pragma once

// Generated faults: each line of the kernels that orders something, weakened or dropped, one at a
// time, by the emulator. No kernel is touched.

#include "kernels/emulator/mutation.h"
#include "model/builders.h"
#include "verify/exhibit.h"

namespace tally::verify {

/// The report of an exhibit that is none of people's.
inline constexpr std::string_view kGenerated = "generated";

struct Mutant {
  const model::Builder* kernel;
  kernels::emulator::Mutation mutation;
  std::string name() const;  // "flat barrier.h:54 fence drop"
};

/// Every change of every ordering line that the healthy kernel of each algorithm passes; a change
/// that leaves a line as it is is none.
std::vector<Mutant> mutants();

/// What catches it, in memory that is as LLVM's model has it; else in memory as compilers before
/// LLVM pull request 178316 make it.
Detection detect(const Mutant& mutant);

std::vector<Exhibit> mutant_exhibits();

}  // namespace tally::verify
