#pragma once

// Faults that people met, as wrong plans: each differs from FaithfulPlan in one function. They are
// there to be caught; kCatalogue in emulator/kernel_table.cc says what each stands for.

#include "kernels/all_reduce.h"

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
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, std::int64_t first,
                                 std::int64_t valid,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    const bool is_last = first + valid == a.count;
    store_tile<typename R::Element>(gpu, a.output + first, is_last ? valid - 1 : valid, x);
  }
};

struct WritePastEnd : FaithfulPlan {
  template <class R, class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, std::int64_t first,
                                 std::int64_t valid,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    using E = typename R::Element;
    store_tile<E>(gpu, a.output + first, valid, x);
    if (first + valid == a.count) gpu.store(a.output + a.count, E::template storage<Gpu>(x[0]));
  }
};

struct InputModified : FaithfulPlan {
  template <class R, class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, std::int64_t first,
                                 std::int64_t valid,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    using E = typename R::Element;
    store_tile<E>(gpu, a.output + first, valid, x);
    store_tile<E>(gpu, const_cast<typename E::Storage*>(a.input) + first, valid, x);
  }
};

}  // namespace tally::kernels
