#include "verify/timing.h"

#include <algorithm>
#include <map>
#include <memory>

#include "kernels/hardware/gpu_session.h"
#include "kernels/scratch_size.h"
#include "model/check.h"
#include "model/schedule.h"
#include "verify/foreign_timing.h"
#include "verify/replay_clock.h"

namespace tally::verify {
namespace {

using namespace kernels::hardware;

constexpr std::int64_t kMostPacketed = 1 << 20;  // bytes of a call in packets

/// Launches that are tried. More threads and blocks hide more latency, more rounds hide staging.
std::vector<LaunchShape> shapes_of(const std::string& algorithm, std::int64_t bytes, int wave) {
  std::vector<LaunchShape> all;
  const bool is_packeted = algorithm == "flat_ll";
  for (const int threads : {256, 512}) {
    for (const int blocks : {1, 4, 16, 32, 64, 132, 264, 528}) {
      if (bytes / 16 < blocks * wave && blocks > 1) continue;            // most would have no word
      if (bytes / 16 > std::int64_t{blocks} * threads * 1024) continue;  // nobody would try
      for (const int rounds : {1, 2, 4, 8, 16, 32}) {
        if (rounds > 1 && (is_packeted || bytes / 16 / blocks / threads < 2 * rounds)) continue;
        all.push_back({blocks, threads, wave, rounds});
      }
    }
  }
  return all;
}

/// The calls of our kernels, one rank for each device.
class OurCalls {
 public:
  OurCalls(GpuRuntime& runtime, ReplayClock& clock, const TimedCall& call)
      : clock_(clock), call_(call) {
    const int ranks = clock.ranks();
    SessionOptions options{
        kernels::scratch_bytes(call.collective, call.arithmetic, ranks, call.count),
        is_short() ? kernels::packet_bytes("flat_ll", call.arithmetic, ranks, call.count) : 0, 528};
    std::vector<Share> shares = share_out(ranks, ranks);
    for (Share& share : shares) share.device = clock.devices()[share.first_rank];
    auto session = GpuSession::create(runtime, alone_, shares, options);
    if (session) session_ = std::move(*session);
  }

  /// Nothing where there is no memory, or the kernel cannot be launched so.
  std::optional<double> time(const std::string& algorithm, const LaunchShape& launch) {
    if (!session_ || session_->is_broken()) return std::nullopt;
    if (algorithm == "flat_ll" && !is_short()) return std::nullopt;
    std::vector<GroupCall> calls;
    for (int rank = 0; rank < clock_.ranks(); ++rank) {
      const RankMemory& memory = clock_.memory(rank);
      buffers_[rank] = {memory.input, memory.output, nullptr, nullptr};
      calls.push_back({{call_.collective, algorithm, call_.arithmetic},
                       launch.blocks,
                       launch.threads,
                       call_.count,
                       model::premultiplier(call_.arithmetic, clock_.ranks()),
                       {&buffers_[rank], 1},
                       launch.rounds});
      if (session_->cannot_launch(rank, calls.back())) return std::nullopt;
    }
    const double microseconds = clock_.median([&] {
      for (int rank = 0; rank < clock_.ranks(); ++rank) {
        session_->launch(rank, clock_.stream(rank), calls[rank]);
      }
    });
    if (session_->lost()) return std::nullopt;
    return microseconds;
  }

 private:
  bool is_short() const {
    return call_.arithmetic.wire.bytes(call_.count, call_.arithmetic.element) <= kMostPacketed;
  }

  ReplayClock& clock_;
  const TimedCall& call_;
  NoExchange alone_;
  std::unique_ptr<GpuSession> session_;
  kernels::RankCall buffers_[kernels::kMaxRanks] = {};
};

/// The bytes that have to cross the busiest link one way.
double floor_bytes(const TimedCall& call, int ranks) {
  const auto bytes =
      static_cast<double>(call.arithmetic.wire.bytes(call.count, call.arithmetic.element));
  return call.collective == model::Collective::all_reduce ? 2.0 * bytes / ranks : bytes;
}

const Timed* fastest(const std::vector<Timed>& all, bool is_ours) {
  const Timed* best = nullptr;
  for (const Timed& one : all) {
    if (one.launch.has_value() != is_ours) continue;
    if (best == nullptr || one.microseconds < best->microseconds) best = &one;
  }
  return best;
}

}  // namespace

const Timed* TimedRow::best_of_ours() const { return fastest(all, true); }
const Timed* TimedRow::best_of_library() const { return fastest(all, false); }

double peer_copy_bandwidth(GpuRuntime& runtime, const std::vector<int>& devices) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 28;
  ReplayClock clock(runtime, kBytes, kBytes, devices);
  const double microseconds = clock.median([&] {
    for (int rank = 0; rank < clock.ranks(); ++rank) {
      const RankMemory& from = clock.memory((rank + 1) % clock.ranks());
      runtime.use(devices[rank]);
      runtime.copy(clock.memory(rank).output, from.input, kBytes, clock.stream(rank));
    }
  });
  return kBytes / microseconds * 1e6;
}

void time_calls(GpuRuntime& runtime, const std::vector<int>& devices, const nccl::Api* library,
                const std::vector<TimedCall>& calls, double bandwidth,
                const std::function<void(const TimedRow&)>& on_row) {
  const int ranks = static_cast<int>(devices.size());
  for (const TimedCall& call : calls) {
    const std::int64_t element = call.arithmetic.element.bytes();
    const std::int64_t input = element * input_elements(call.collective, ranks, call.count);
    const std::int64_t output = element * output_elements(call.collective, ranks, call.count);
    ReplayClock clock(runtime, input, output, devices);
    TimedRow row{call, ranks, std::max(input, output), {}, 0};
    row.floor_microseconds = floor_bytes(call, ranks) / bandwidth * 1e6;
    OurCalls ours(runtime, clock, call);
    for (const model::Builder& builder : model::builders()) {
      if (builder.collective != call.collective) continue;
      const std::string algorithm(builder.algorithm);
      if (model::disallowed(call.collective, algorithm, call.arithmetic)) continue;
      for (const LaunchShape& shape : shapes_of(algorithm, input, runtime.devices()[0].wave)) {
        if (algorithm != "flat" && shape.rounds > 1) continue;
        const auto microseconds = ours.time(algorithm, shape);
        if (microseconds) row.all.push_back({algorithm, shape, *microseconds});
      }
    }
    if (library != nullptr && call.arithmetic.wire.is_none()) {
      for (Timed& one : time_library(runtime, clock, *library, call)) {
        row.all.push_back(std::move(one));
      }
    }
    on_row(row);
  }
}

}  // namespace tally::verify
