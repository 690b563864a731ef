#pragma once

// What a simulation needs to know of a machine beside its topology.

#include <span>
#include <string_view>

#include "model/collective.h"
#include "model/machine.h"
#include "sim/launch_mode.h"
#include "sim/units.h"

namespace tally::sim {

/// How a library's ring puts data and flags on a link. Of `wire_bytes` that cross, `data_bytes` are
/// the user's.
struct Protocol {
  std::string_view library, name;
  std::int64_t wire_bytes, data_bytes;
  double hop_ns;  // from a store at one rank until the next one has seen its flag
  std::string_view source;
};
/// LL, LL128 and Simple of NCCL over NVLink and of RCCL over xGMI.
std::span<const Protocol> protocols();
/// Null where there is none of that name.
const Protocol* find_protocol(std::string_view library, std::string_view name);

/// Rates of 0 are unknown, and bind nothing.
struct Costs {
  Picos launch;       // of the kernel, from the host's call to its first instruction
  Picos copy_launch;  // of a copy that the host enqueues before; 0: there is none
  Picos signal;       // from a signal until a wait sees it, besides the latency of the route
  double memory_bytes_per_s = 0;
  double codec_bytes_per_s = 0;
  /// Of what crosses between ranks, `data_bytes` of each `wire_bytes` are the user's.
  std::int64_t wire_bytes = 1, data_bytes = 1;
};

Costs costs_of(const model::GpuFacts& gpu, Launch launch);
Costs with_protocol(Costs costs, const Protocol& protocol);

}  // namespace tally::sim
