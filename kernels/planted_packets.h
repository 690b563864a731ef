#pragma once

// Faults of low latency packets that people met. The host's only.

#include "kernels/planted_barriers.h"

namespace tally::kernels {

/// A healthy algorithm on a GPU that does one thing in another way.
template <class Algorithm, template <class> class FaultyGpu>
struct RunOn {
  static constexpr model::Collective kCollective = Algorithm::kCollective;
  static constexpr std::string_view kName = Algorithm::kName;
  template <class R, class Gpu>
  static void run(Gpu& gpu, const typename R::Arguments& a) {
    FaultyGpu<Gpu> faulty(gpu, a);
    Algorithm::template run<R>(faulty, a);
  }
};

/// Data and flag are stored one after the other.
template <class Gpu>
struct LlSplitPacket : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    auto* halves = reinterpret_cast<std::uint32_t*>(packet);
    Gpu::store_flag(halves, static_cast<std::uint32_t>(value), Relaxed{}, System{});
    Gpu::store_flag(halves + 1, static_cast<std::uint32_t>(value >> 32), Relaxed{}, System{});
  }
};

/// Whether a packet is of this call or a later one, of which there are none behind the largest.
struct AtLeast {
  std::uint32_t target;
  bool operator()(std::uint64_t packet) const { return packet >> 32 >= target; }
};

/// Flags are compared by size. They begin where they soon wrap around: the third call has flag 0.
template <class Gpu>
class LlFlagWrap : public OtherGpu<Gpu> {
 public:
  using OtherGpu<Gpu>::OtherGpu;
  using OtherGpu<Gpu>::load;
  using OtherGpu<Gpu>::store;
  // Nothing else of 32 bits is an integer than the blocks' epochs.
  std::uint32_t load(const std::uint32_t* epoch) { return Gpu::load(epoch) + kBegin; }
  void store(std::uint32_t* epoch, std::uint32_t value) { Gpu::store(epoch, value - kBegin); }
  template <class Arrived, int n>
  bool wait_packets(const std::uint64_t* first, std::int64_t stride, Arrived arrived,
                    std::uint64_t (&seen)[n], Relaxed, System) {
    return Gpu::wait_packets(first, stride, AtLeast{arrived.target}, seen, Relaxed{}, System{});
  }

 private:
  static constexpr std::uint32_t kBegin = 0xFFFF'FFFD;
};

/// A call writes over packets that a slow peer has not read.
struct LlOneBuffer : FaithfulPlan {
  static int half(std::uint32_t) { return 0; }
};

}  // namespace tally::kernels
