#pragma once

// The time of a library with NCCL's interface, as it is, and with symmetric windows where it has
// them.

#include "verify/replay_clock.h"
#include "verify/timing.h"

namespace tally::verify {

/// Empty where the library fails, or has no such collective.
std::vector<Timed> time_library(kernels::hardware::GpuRuntime& runtime, ReplayClock& clock,
                                const kernels::hardware::nccl::Api& library, const TimedCall& call);

}  // namespace tally::verify
