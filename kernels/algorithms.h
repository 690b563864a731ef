#pragma once

// The all-reduce algorithms, by name.

#include <string_view>

#include "kernels/all_reduce_flat.h"
#include "kernels/all_reduce_flat_ll.h"
#include "kernels/all_reduce_ring.h"
#include "kernels/all_reduce_tree.h"

namespace tally::kernels {

struct Flat {
  static constexpr std::string_view kName = "flat";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_flat<R>(gpu, a);
  }
};

struct FlatLl {
  static constexpr std::string_view kName = "flat_ll";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_flat_ll<R>(gpu, a);
  }
};

struct Tree {
  static constexpr std::string_view kName = "tree";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_tree<R>(gpu, a);
  }
};

struct Ring {
  static constexpr std::string_view kName = "ring";
  template <class R, class Gpu>
  TALLY_DEVICE static void run(Gpu& gpu, const typename R::Arguments& a) {
    all_reduce_ring<R>(gpu, a);
  }
};

/// Calls visit<Algorithm>() for each that there is with recipe R: packets carry words alone, and
/// where its hops carry elements the ring cannot sum in f32.
template <class R, class Visit>
void for_each_algorithm(Visit visit) {
  visit.template operator()<Flat>();
  if constexpr (kTravelsInPackets<typename R::Codec>) visit.template operator()<FlatLl>();
  visit.template operator()<Tree>();
  constexpr bool in_f32 = R::Accumulator::kAccumulate == model::Accumulate::f32;
  if constexpr (!(R::Codec::kCarriesElements && in_f32)) visit.template operator()<Ring>();
}

}  // namespace tally::kernels
