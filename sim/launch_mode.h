#pragma once

// How the ranks of a call are started.

#include <cstdint>
#include <string_view>

#include "model/result.h"

namespace tally::sim {

/// All by one host thread, each by a process of its own, or as a graph that is replayed.
enum class Launch : std::uint8_t { single_process, process_per_gpu, graph };

std::string_view name(Launch launch);
model::Result<Launch> parse_launch(std::string_view name);

}  // namespace tally::sim
