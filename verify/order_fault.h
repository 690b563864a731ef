#pragma once

// What a run's clocks found, in words that outlive the run.

#include <source_location>
#include <string>
#include <vector>

#include "kernels/emulator/emulator.h"

namespace tally::verify {

/// Accesses that nothing orders, or a read that missed a store which was ordered before it.
struct OrderFault {
  std::string what;   // a sentence
  std::string lines;  // of the kernels: "all_reduce.h:187 and all_reduce.h:203"
};

std::vector<OrderFault> order_faults(const kernels::emulator::Trace& trace,
                                     const kernels::emulator::Memory& memory);

/// The two lines in alphabetical order, since which access comes first differs between runs.
std::string lines_of(const kernels::emulator::Race& race);
std::string lines_of(const kernels::emulator::StaleRead& stale);

/// "all_reduce.h:187": no two files have the same name.
std::string source_line(const std::source_location& where);

}  // namespace tally::verify
