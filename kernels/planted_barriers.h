#pragma once

// Faults of order that people met: plans whose ranks meet wrongly, or work on what they did not
// meet for. Most barriers here are the healthy one, on a GPU that does one thing in another way.
// The host's only: they use orders and scopes that only the emulator's Gpu has.

#include "kernels/algorithms.h"
#include "kernels/weaker_orders.h"

namespace tally::kernels {

/// What GPUs that do something wrong derive from.
template <class Gpu>
struct OtherGpu : Gpu {
  template <class Arguments>
  OtherGpu(const Gpu& gpu, const Arguments&) : Gpu(gpu) {}
};

/// The healthy barrier on a GPU that does something wrong.
template <template <class> class FaultyGpu>
struct MeetOn : FaithfulPlan {
  template <class R, class Gpu>
  class Barrier : private FaultyGpu<Gpu>, public PeerBarrier<R, FaultyGpu<Gpu>> {
   public:
    Barrier(Gpu& gpu, const typename R::Arguments& a)
        : FaultyGpu<Gpu>(gpu, a), PeerBarrier<R, FaultyGpu<Gpu>>(*this, a) {}
  };
};

// What a flag orders.

/// A flag says nothing about what was stored before it.
template <class Gpu>
struct NoRelease : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  void fence(Release, System) {}
  void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    Gpu::store_flag(flag, value, Relaxed{}, System{});
  }
};

/// Who saw a flag may still read what was there before.
template <class Gpu>
struct NoAcquire : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  template <class Predicate>
  bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    return Gpu::wait(flag, predicate, Relaxed{}, System{});
  }
};

/// Neither orders anything, and the poll is the own GPU's business.
template <class Gpu>
struct RelaxedFlags : NoRelease<Gpu> {
  using NoRelease<Gpu>::NoRelease;
  template <class Predicate>
  bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    return Gpu::wait(flag, predicate, Relaxed{}, Agent{});
  }
};

/// All is ordered, for the own GPU.
template <class Gpu>
struct AgentScopeFlags : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  void fence(Release, System) { Gpu::fence(Release{}, Agent{}); }
  void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    Gpu::store_flag(flag, value, Release{}, Agent{});
  }
  template <class Predicate>
  bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    return Gpu::wait(flag, predicate, Acquire{}, Agent{});
  }
};

/// A cached line is polled.
template <class Gpu>
struct PlainPoll : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  template <class Predicate>
  bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    return Gpu::wait(flag, predicate, Plain{}, System{});
  }
};

/// Flags stay in the cache of who stored them.
template <class Gpu>
struct PlainFlagStore : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    Gpu::store_flag(flag, value, Plain{}, System{});
  }
};

/// A flag is stored first, and what it stands for is released then.
template <class Gpu>
struct SignalBeforeFence : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  void fence(Release, System) {}
  void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    Gpu::store_flag(flag, value, Relaxed{}, System{});
    Gpu::fence(Release{}, System{});
  }
};

/// The first meeting of a call takes it that nothing was stored before.
template <class Gpu>
class StartWithoutRelease : public OtherGpu<Gpu> {
 public:
  using OtherGpu<Gpu>::OtherGpu;
  void fence(Release, System) {
    if (++meetings_ > 1) Gpu::fence(Release{}, System{});
  }
  void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    if (meetings_ > 1) return Gpu::store_flag(flag, value, Release{}, System{});
    Gpu::store_flag(flag, value, Relaxed{}, System{});
  }

 private:
  int meetings_ = 0;
};

/// Flags are stored while other threads of the block still store what they stand for. The second
/// block barrier of a meeting is there.
template <class Gpu>
class LeaderSignalsEarly : public OtherGpu<Gpu> {
 public:
  using OtherGpu<Gpu>::OtherGpu;
  void block_barrier() {
    if (is_second_) Gpu::block_barrier();
    is_second_ = !is_second_;
  }

 private:
  bool is_second_ = false;
};

// What a flag's value means.

/// The only value that ends a wait, so that a peer must not be ahead.
struct Exactly {
  std::uint32_t target;
  bool operator()(std::uint32_t value) const { return value == target; }
};

template <class Gpu>
struct SingleCounter : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  bool wait(const std::uint32_t* flag, Reached reached, Acquire, System) {
    return Gpu::wait(flag, Exactly{reached.target}, Acquire{}, System{});
  }
};

/// What is waited for wraps around, what is stored does not.
template <class Gpu>
struct FlagsModuloThree : OtherGpu<Gpu> {
  using OtherGpu<Gpu>::OtherGpu;
  bool wait(const std::uint32_t* flag, Reached reached, Acquire, System) {
    return Gpu::wait(flag, Reached{reached.target % 3}, Acquire{}, System{});
  }
};

/// Epochs are counted by the host, and so frozen in a graph that is captured.
template <class Gpu>
class FlagInGraph : public OtherGpu<Gpu> {
 public:
  template <class Arguments>
  FlagInGraph(Gpu& gpu, const Arguments& a) : OtherGpu<Gpu>(gpu, a), number_(a.number) {}
  using OtherGpu<Gpu>::load;
  /// No other word is loaded than the block's epoch.
  std::uint32_t load(const std::uint32_t*) { return number_ * kMeetings; }

 private:
  static constexpr std::uint32_t kMeetings = 2 * kMaxRanks;  // no call has more
  std::uint32_t number_;
};

/// At the end of a call each rank sets its flags back, also those of peers that have begun the
/// next call.
struct EpochsReset : FaithfulPlan {
  template <class R, class Gpu>
  class Barrier : public PeerBarrier<R, Gpu> {
   public:
    Barrier(Gpu& gpu, const typename R::Arguments& a)
        : PeerBarrier<R, Gpu>(gpu, a), gpu_(gpu), a_(a) {}
    void finish() {
      std::uint32_t* flags = a_.peers->flags[a_.rank] + gpu_.block() * kMaxRanks;
      for (int sender = gpu_.thread(); sender < a_.ranks; sender += gpu_.threads()) {
        gpu_.store_flag(flags + sender, 0, Release{}, System{});
      }
      if (gpu_.thread() == 0) gpu_.store(a_.epochs + gpu_.block(), std::uint32_t{0});
    }

   private:
    Gpu& gpu_;
    const typename R::Arguments& a_;
  };
};

// Who meets, and for what.

/// Nobody waits until all have read its scratch.
struct NoExitBarrier : FaithfulPlan {
  template <class R, class Gpu>
  struct Barrier : PeerBarrier<R, Gpu> {
    using PeerBarrier<R, Gpu>::PeerBarrier;
    void leave() {}
    void leave(int) {}
  };
};

/// The last part of a chunk is summed by the first block; the last one meets for it.
struct TailOfAnotherBlock : FaithfulPlan {
  static int summed_part(int block, int blocks) { return blocks - 1 - block; }
};

/// Rank 1 finds that it cannot move whole words, which its peers do not know, and runs the ring.
template <class Algorithm>
struct GateOnLocalAlignment {
  static constexpr model::Collective kCollective = Algorithm::kCollective;
  static constexpr std::string_view kName = Algorithm::kName;
  template <class R, class Gpu>
  static void run(Gpu& gpu, const typename R::Arguments& a) {
    if (a.rank == 1) return all_reduce_ring<R>(gpu, a);
    Algorithm::template run<R>(gpu, a);
  }
};

}  // namespace tally::kernels
