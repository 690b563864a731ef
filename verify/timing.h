#pragma once

// How long collectives take on the GPUs of this process, ours and those of a library with NCCL's
// interface in the same run: one rank on each device, calls in captured graphs.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/hardware/gpu_runtime.h"
#include "kernels/hardware/nccl_api.h"
#include "verify/case.h"

namespace tally::verify {

/// One collective of one size.
struct TimedCall {
  model::Collective collective = model::Collective::all_reduce;
  model::Arithmetic arithmetic;
  std::int64_t count = 0;
};

/// One way to perform a call: an algorithm of ours and its launch, or what the library does.
struct Timed {
  std::string algorithm;  // ours, "library", or "library, symmetric windows"
  std::optional<LaunchShape> launch;
  double microseconds = 0;  // of one call, the median of the replays
};

struct TimedRow {
  TimedCall call;
  int ranks = 0;
  std::int64_t size_bytes = 0;  // of the larger buffer of a rank
  std::vector<Timed> all;
  double floor_microseconds = 0;  // what has to cross a link one way, at the speed of a peer copy

  const Timed* best_of_ours() const;
  const Timed* best_of_library() const;
};

/// The bandwidth of a copy from one device to another while the other way is as busy, in bytes per
/// second; of a copy on the device where there is one only.
double peer_copy_bandwidth(kernels::hardware::GpuRuntime& runtime, const std::vector<int>& devices);

/// Times each call on these devices, and hands out its row. `library` may be null. The bandwidth is
/// what peer_copy_bandwidth() measured. Of what cannot be launched, or has no room, no time is in
/// the row; the counts of all_to_all_v are not the host's, and it is none of the calls.
void time_calls(kernels::hardware::GpuRuntime& runtime, const std::vector<int>& devices,
                const kernels::hardware::nccl::Api* library, const std::vector<TimedCall>& calls,
                double bandwidth, const std::function<void(const TimedRow&)>& on_row);

}  // namespace tally::verify
