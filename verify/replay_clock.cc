#include "verify/replay_clock.h"

#include <algorithm>
#include <random>

#include "model/check.h"

namespace tally::verify {
namespace {

using namespace kernels::hardware;

/// Calls in a graph: many of short ones.
int calls_in_graph(std::int64_t bytes) {
  return static_cast<int>(std::clamp<std::int64_t>((std::int64_t{1} << 24) / (bytes + 1), 4, 50));
}

/// Bits of numbers of moderate size, whatever the type: an exponent that is not extreme.
void fill_with_numbers(GpuRuntime& runtime, void* memory, std::int64_t bytes, Stream stream) {
  constexpr std::int64_t kPattern = 1 << 20;
  std::vector<std::uint16_t> pattern(kPattern / 2);
  std::mt19937 random(1);
  for (std::uint16_t& one : pattern) one = static_cast<std::uint16_t>(0x3F00 | (random() & 0x80FF));
  for (std::int64_t at = 0; at < bytes; at += kPattern) {
    runtime.copy(static_cast<std::byte*>(memory) + at, pattern.data(),
                 static_cast<std::size_t>(std::min(kPattern, bytes - at)), stream);
  }
  runtime.synchronize(stream);
}

}  // namespace

ReplayClock::ReplayClock(GpuRuntime& runtime, std::int64_t input_bytes, std::int64_t output_bytes,
                         std::vector<int> devices)
    : runtime_(runtime),
      devices_(std::move(devices)),
      calls_(calls_in_graph(std::max(input_bytes, output_bytes))) {
  for (const int device : devices_) {
    runtime_.use(device);
    for (const int peer : devices_) runtime_.enable_peer(peer);
    streams_.push_back(runtime_.create_stream());
    begin_.push_back(runtime_.create_event());
    end_.push_back(runtime_.create_event());
    memory_.push_back({runtime_.allocate(static_cast<std::size_t>(input_bytes) + 16),
                       runtime_.allocate(static_cast<std::size_t>(output_bytes) + 16)});
    TALLY_CHECK(memory_.back().input != nullptr && memory_.back().output != nullptr,
                "the GPU has memory for what is timed");
    fill_with_numbers(runtime_, memory_.back().input, input_bytes, streams_.back());
    fill_with_numbers(runtime_, memory_.back().output, output_bytes, streams_.back());
  }
}

ReplayClock::~ReplayClock() {
  for (int rank = 0; rank < ranks(); ++rank) {
    runtime_.use(devices_[rank]);
    runtime_.destroy(begin_[rank]);
    runtime_.destroy(end_[rank]);
    runtime_.destroy(streams_[rank]);
    runtime_.free(memory_[rank].input);
    runtime_.free(memory_[rank].output);
  }
}

double ReplayClock::median(const std::function<void()>& put) {
  constexpr int kWarmUp = 3, kReplays = 25;
  for (int rank = 0; rank < ranks(); ++rank) {
    runtime_.use(devices_[rank]);
    runtime_.begin_capture(streams_[rank]);
  }
  for (int call = 0; call < calls_; ++call) put();
  std::vector<Graph> graphs;
  for (int rank = 0; rank < ranks(); ++rank) {
    runtime_.use(devices_[rank]);
    graphs.push_back(runtime_.end_capture(streams_[rank]));
  }
  std::vector<double> microseconds;
  for (int i = 0; i < kWarmUp + kReplays; ++i) {
    const double one = replay(graphs);
    if (i >= kWarmUp) microseconds.push_back(one / calls_);
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    runtime_.use(devices_[rank]);
    runtime_.destroy(graphs[rank]);
  }
  std::nth_element(microseconds.begin(), microseconds.begin() + kReplays / 2, microseconds.end());
  return microseconds[kReplays / 2];
}

double ReplayClock::replay(const std::vector<Graph>& graphs) {
  for (int rank = 0; rank < ranks(); ++rank) {
    runtime_.use(devices_[rank]);
    runtime_.record(begin_[rank], streams_[rank]);
    runtime_.replay(graphs[rank], streams_[rank]);
    runtime_.record(end_[rank], streams_[rank]);
  }
  double least = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    runtime_.use(devices_[rank]);
    runtime_.synchronize(streams_[rank]);
    const double one = runtime_.microseconds(begin_[rank], end_[rank]);
    least = rank == 0 ? one : std::min(least, one);
  }
  return least;
}

}  // namespace tally::verify
