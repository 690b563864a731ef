#pragma once

// Protocols of collectives by themselves, without a collective around them: each as it should be,
// and with the fault that people met in it. Two ranks of one block.

#include <span>

#include "kernels/emulator/kernel_table.h"

namespace tally::kernels::emulator {

enum class Form : std::uint8_t { healthy, faulty };

struct LitmusOutcome {
  Trace trace;
  std::vector<std::string> races;  // of the trace, and stale reads, as sentences
  std::string wrong;               // the first value that is; empty where all are right
};

struct LitmusKernel {
  PlantedFault fault;  // of the faulty form
  LitmusOutcome (*run)(Form, Choices&, const Settings&);
};
std::span<const LitmusKernel> litmus_kernels();

}  // namespace tally::kernels::emulator
