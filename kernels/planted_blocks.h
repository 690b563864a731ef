#pragma once

// Faults of the collectives that have a block for each rank. The host's only.

#include "kernels/planted_packets.h"

namespace tally::kernels {

/// Blocks are whole units: each begins too early, and the last elements belong to nobody.
/// RCCLX low-precision reduce_scatter, low_precision_reduce_scatter.cc.
struct ReduceScatterMisplaced : FaithfulPlan {
  static Span summed(std::int64_t count, int) { return {0, count / kUnit * kUnit}; }
  static std::int64_t block_begin(std::int64_t count, int rank) {
    return count / kUnit * kUnit * rank;
  }
};

/// The own block of an all_gather is copied; peers decode it.
struct OwnBlockUnquantised : FaithfulPlan {
  template <class R, class Gpu>
  static void store(Gpu& gpu, const typename R::Arguments& a, const Tile& tile,
                    const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    const std::int64_t first = tile.first - a.rank * a.count;
    if (first < 0 || first >= a.count) return FaithfulPlan::store<R>(gpu, a, tile, x);
    typename R::Element::Value exact[R::Codec::kPerWord];
    load_tile<typename R::Element>(gpu, a.input + first, tile.valid, exact);
    FaithfulPlan::store<R>(gpu, a, tile, exact);
  }
};

/// Of all that a peer staged, a rank takes the block that the peer has for itself.
struct BlockOfPeer : FaithfulPlan {
  template <class R, class Gpu>
  static auto load(Gpu& gpu, const typename R::Arguments& a, const typename R::Codec& codec,
                   int rank, const Tile& tile) {
    const std::int64_t distance = (rank - a.rank) * slot_length<R>(a);
    const Tile other{tile.word + distance / R::Codec::kPerWord, tile.first + distance, tile.valid};
    return codec.load(gpu, a.scratch(rank), other);
  }
};

/// Every count is taken for one within its bound.
struct UncheckedCounts : FaithfulPlan {
  static bool fits(std::int64_t, std::int64_t) { return true; }
};

/// A rank takes it that it receives as much from a peer as it sends there.
template <class Gpu>
class CountsOfSender : public OtherGpu<Gpu> {
 public:
  template <class Arguments>
  CountsOfSender(const Gpu& gpu, const Arguments& a)
      : OtherGpu<Gpu>(gpu, a),
        told_(a.peers->counts[a.rank] + gpu.block() * kMaxRanks),
        sent_(a.send_counts) {}
  using OtherGpu<Gpu>::load;
  /// No other counts are loaded than those that are sent, and those that the block was told.
  std::int64_t load(const std::int64_t* count) {
    const bool was_told = count >= told_ && count < told_ + kMaxRanks;
    return Gpu::load(was_told ? sent_ + (count - told_) : count);
  }

 private:
  const std::int64_t *told_, *sent_;
};

/// Whoever sent nothing is passed over, and so is the count of it.
template <class Gpu>
class ReceivedCountLost : public OtherGpu<Gpu> {
 public:
  template <class Arguments>
  ReceivedCountLost(const Gpu& gpu, const Arguments& a)
      : OtherGpu<Gpu>(gpu, a), received_(a.received_counts), end_(received_ + a.ranks) {}
  using OtherGpu<Gpu>::store;
  void store(std::int64_t* count, std::int64_t value) {
    const bool is_received = count >= received_ && count < end_;
    if (!is_received || value != 0) Gpu::store(count, value);
  }

 private:
  const std::int64_t *received_, *end_;
};

}  // namespace tally::kernels
