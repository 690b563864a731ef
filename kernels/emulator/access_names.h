#pragma once

// What accesses are called in sentences and charts.

#include <string>
#include <string_view>

#include "kernels/emulator/access.h"

namespace tally::kernels::emulator {

inline std::string_view name(Order order) {
  constexpr std::string_view kNames[] = {"plain",   "nontemporal", "relaxed", "acquire",
                                         "release", "acq_rel",     "seq_cst"};
  return kNames[static_cast<int>(order)];
}

inline std::string_view name(Scope scope) {
  constexpr std::string_view kNames[] = {"wavefront", "workgroup", "agent", "system"};
  return kNames[static_cast<int>(scope)];
}

/// "rank 0 block 1 thread 3".
inline std::string name(const ThreadId& id) {
  return "rank " + std::to_string(id.rank) + " block " + std::to_string(id.block) + " thread " +
         std::to_string(id.thread);
}

}  // namespace tally::kernels::emulator
