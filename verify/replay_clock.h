#pragma once

// Times what is put into the streams of several devices, in captured graphs.

#include <functional>
#include <vector>

#include "kernels/hardware/gpu_runtime.h"

namespace tally::verify {

/// A rank's buffers on its device. Their contents are drawn, not zero.
struct RankMemory {
  void *input = nullptr, *output = nullptr;
};

/// One stream, input and output on each of these devices, which are ranks in this order.
class ReplayClock {
 public:
  ReplayClock(kernels::hardware::GpuRuntime& runtime, std::int64_t input_bytes,
              std::int64_t output_bytes, std::vector<int> devices);
  ~ReplayClock();
  ReplayClock(const ReplayClock&) = delete;
  ReplayClock& operator=(const ReplayClock&) = delete;

  const std::vector<int>& devices() const { return devices_; }
  int ranks() const { return static_cast<int>(devices_.size()); }
  const RankMemory& memory(int rank) const { return memory_[rank]; }
  kernels::hardware::Stream stream(int rank) const { return streams_[rank]; }

  /// Microseconds of one call: `put` puts one into every stream. A graph has several of them, so
  /// that launching it is a small part; of each replay the device counts that began last, which
  /// did not wait for the others; of 25 replays after 3 of warm-up the median.
  double median(const std::function<void()>& put);

 private:
  double replay(const std::vector<kernels::hardware::Graph>& graphs);

  kernels::hardware::GpuRuntime& runtime_;
  const std::vector<int> devices_;
  const int calls_;  // in a graph
  std::vector<kernels::hardware::Stream> streams_;
  std::vector<kernels::hardware::Event> begin_, end_;
  std::vector<RankMemory> memory_;
};

}  // namespace tally::verify
