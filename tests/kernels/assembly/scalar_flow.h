#pragma once

// Which scalar registers of a kernel for gfx942 hold addresses of constants, at each instruction,
// whatever the order in which the compiler laid out the blocks.

#include <set>
#include <vector>

#include "tests/kernels/assembly/listing.h"

namespace tally::kernels::assembly::gfx942 {

/// What is known before an instruction.
struct ScalarState {
  bool is_reachable = false;
  bool may_have_waited = false;  // on some path a flag or a packet was loaded, or caches dropped
  // On every path: registers computed from preloaded ones alone. Above 1000, lanes of vector
  // registers that keep such a one.
  std::set<int> constants;
};

/// The scalar registers s5, s[2:3] of an operand.
std::set<int> scalar_registers(const std::string& operand);

/// The states before every instruction, by a fixed point over the kernel's branches. The first
/// `preloaded` registers hold addresses when the kernel starts: its arguments, and what describes
/// its launch. What is computed from a constant is one; what is loaded is none.
std::vector<ScalarState> scalar_states(const Kernel& kernel, int preloaded);

}  // namespace tally::kernels::assembly::gfx942
