#pragma once

// The algorithms of all collectives, by name.

#include <string_view>

#include "kernels/all_gather.h"
#include "kernels/all_reduce_flat.h"
#include "kernels/all_reduce_flat_ll.h"
#include "kernels/all_reduce_ring.h"
#include "kernels/all_reduce_tree.h"
#include "kernels/all_to_all.h"
#include "kernels/all_to_all_v.h"
#include "kernels/reduce_scatter.h"

namespace tally::kernels {

template <model::Collective collective>
struct Algorithm {
  static constexpr model::Collective kCollective = collective;
};

struct Flat : Algorithm<model::Collective::all_reduce> {
  static constexpr std::string_view kName = "flat";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_flat<R>(gpu, a);
  }
};

struct FlatLl : Algorithm<model::Collective::all_reduce> {
  static constexpr std::string_view kName = "flat_ll";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_flat_ll<R>(gpu, a);
  }
};

struct Tree : Algorithm<model::Collective::all_reduce> {
  static constexpr std::string_view kName = "tree";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_tree<R>(gpu, a);
  }
};

struct Ring : Algorithm<model::Collective::all_reduce> {
  static constexpr std::string_view kName = "ring";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_ring<R>(gpu, a);
  }
};

struct ReduceScatterFlat : Algorithm<model::Collective::reduce_scatter> {
  static constexpr std::string_view kName = "flat";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    reduce_scatter_flat<R>(gpu, a);
  }
};

struct AllGatherFlat : Algorithm<model::Collective::all_gather> {
  static constexpr std::string_view kName = "flat";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_gather_flat<R>(gpu, a);
  }
};

struct AllToAllFlat : Algorithm<model::Collective::all_to_all> {
  static constexpr std::string_view kName = "flat";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_to_all_flat<R>(gpu, a);
  }
};

struct AllToAllVFlat : Algorithm<model::Collective::all_to_all_v> {
  static constexpr std::string_view kName = "flat";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_to_all_v_flat<R>(gpu, a);
  }
};

/// Calls visit<Algorithm>() for each that reduces with recipe R: packets carry words alone, and
/// where its hops carry elements the ring cannot sum in f32.
template <class R, class Visit>
void for_each_reduction(Visit visit) {
  visit.template operator()<Flat>();
  if constexpr (kTravelsInPackets<typename R::Codec>) visit.template operator()<FlatLl>();
  visit.template operator()<Tree>();
  constexpr bool in_f32 = R::Accumulator::kAccumulate == model::Accumulate::f32;
  if constexpr (!(R::Codec::kCarriesElements && in_f32)) visit.template operator()<Ring>();
  visit.template operator()<ReduceScatterFlat>();
}

/// The same for each that only moves elements.
template <class Visit>
void for_each_movement(Visit visit) {
  visit.template operator()<AllGatherFlat>();
  visit.template operator()<AllToAllFlat>();
  visit.template operator()<AllToAllVFlat>();
}

}  // namespace tally::kernels
