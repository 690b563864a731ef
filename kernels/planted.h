#pragma once

// Faults that people met, as wrong policies: each differs in one function from what it derives
// from, a plan here; planted_barriers.h, planted_packets.h and faulty_policies.h have the others.
// They are there to be caught; emulator/planted_faults.cc says what each stands for.

#include "kernels/movement.h"

namespace tally::kernels {

/// Slices are whole units of every rank: the last elements belong to nobody.
/// RCCLX low-precision all-reduce, low_precision_allreduce.cc.
struct TailDropped : FaithfulPlan {
  TALLY_DEVICE static Span summed(std::int64_t count, int ranks) {
    const std::int64_t slice = kUnit * ranks;
    return {0, count / slice * slice};
  }
};

/// The last elements are not staged, but what the scratch held before is summed and shown.
struct StaleScratch : FaithfulPlan {
  TALLY_DEVICE static Span staged(Span span) {
    return {span.begin, span.begin + (span.end - span.begin) / kUnit * kUnit};
  }
};

struct RankLost : FaithfulPlan {
  TALLY_DEVICE static int terms(int ranks) { return ranks - 1; }
};

struct RankDoubled : FaithfulPlan {
  TALLY_DEVICE static int terms(int ranks) { return ranks + 1; }
  TALLY_DEVICE static int term(int k, int ranks) { return k % ranks; }
};

struct OtherOrder : FaithfulPlan {
  TALLY_DEVICE static int term(int k, int ranks) { return ranks - 1 - k; }
};

/// Peers' staging is read before they have staged.
struct MissingBarrier : FaithfulPlan {
  TALLY_DEVICE static bool meets(int number) { return number != 0; }
};

struct OutputNotWritten : FaithfulPlan {
  template <class R, class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, const Tile& tile,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    const bool is_last = tile.first + tile.valid == a.count;
    store_tile<typename R::Element>(gpu, a.output + tile.first, tile.valid - (is_last ? 1 : 0), x);
  }
};

struct WritePastEnd : FaithfulPlan {
  template <class R, class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, const Tile& tile,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    using E = typename R::Element;
    store_tile<E>(gpu, a.output + tile.first, tile.valid, x);
    if (tile.first + tile.valid == a.count)
      gpu.store(a.output + a.count, E::template storage<Gpu>(x[0]));
  }
};

struct InputModified : FaithfulPlan {
  template <class R, class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, const Tile& tile,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    using E = typename R::Element;
    store_tile<E>(gpu, a.output + tile.first, tile.valid, x);
    store_tile<E>(gpu, const_cast<typename E::Storage*>(a.input) + tile.first, tile.valid, x);
  }
};

/// Codes of other ranks are decoded with the scales that this rank staged.
struct OtherRanksScale : FaithfulPlan {
  template <class R, class Gpu>
  TALLY_DEVICE static auto load(Gpu& gpu, const typename R::Arguments& a,
                                const typename R::Codec& codec, int rank, const Tile& tile) {
    auto held = codec.load(gpu, a.scratch(rank), tile);
    held.scale = codec.load(gpu, a.scratch(a.rank), tile).scale;
    return held;
  }
};

/// The owner of a chunk outputs what it summed, its peers what they decode of it.
struct OwnerKeepsUnquantised : FaithfulPlan {
  TALLY_DEVICE static bool fetches(int owner, int rank) { return owner != rank; }
  template <class R, class Gpu>
  TALLY_DEVICE static void keep(Gpu& gpu, const typename R::Arguments& a, const Tile& tile,
                                const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    FaithfulPlan::store<R>(gpu, a, tile, x);
  }
};

}  // namespace tally::kernels
