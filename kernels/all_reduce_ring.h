#pragma once

// Ring all-reduce. Sums of a chunk pass up the ring, each rank adding its own elements, until they
// are complete at the chunk's owner; then the complete chunks pass up to all. Every hop is a store
// into the next rank's scratch, where each chunk has one place.
//
//   hop          0   1   2 |     0   1   2   3       4 ranks; seen from rank r
//   sums of    r-1 r-2 r-3 | r   r r-1 r-2 r-3       chunk (modulo ranks) that is passed on
//                            '-- completed, in own scratch
//   block        each works on its own part of every chunk, in every rank
//
// Per GPU and link, to the next rank only: 2 (ranks - 1) / ranks of the input's words. Meetings:
// 2 (ranks - 1) hops, and one more so that the rank below may begin another call. Scratch: one
// input.

#include "kernels/barrier.h"

namespace tally::kernels {

/// `to`'s scratch, chunk `owner` = the sum that arrived in own scratch and the own input, encoded;
/// of the first rank that a chunk passes, the own input alone. A sum of all ranks is complete.
template <class R, class Gpu>
TALLY_DEVICE void add_own(Gpu& gpu, const typename R::Arguments& a, int owner, int to,
                          bool is_first) {
  using E = typename R::Element;
  constexpr int n = R::Codec::kPerWord;
  const auto codec = codec_of<R>(a);
  for_my_tiles(gpu, codec, my_part<R>(gpu, a, owner), [&](const Tile& tile) {
    typename E::Value x[n];
    if (is_first) {
      load_input<R>(gpu, a, a.input + tile.first, tile.valid, x);
    } else {
      typename E::Value own[n];
      codec.template decode<Gpu>(codec.load(gpu, a.scratch(a.rank), tile), x);
      load_input<R>(gpu, a, a.input + tile.first, tile.valid, own);
      for (int i = 0; i < n; ++i) {
        using Operation = typename R::Operation;
        x[i] = R::Accumulator::template combine<Gpu, E, Operation>(x[i], own[i]);
        if (owner == a.rank) x[i] = Operation::template complete<E>(x[i], a);
      }
    }
    codec.store(gpu, a.scratch(to), tile, codec.encode(gpu, tile, x));
  });
}

/// Output, chunk `owner` = what own scratch holds of it, complete; so is the next rank's scratch,
/// unless that is where the chunk came from.
template <class R, class Gpu>
TALLY_DEVICE void pass_on(Gpu& gpu, const typename R::Arguments& a, int owner, int next) {
  const auto codec = codec_of<R>(a);
  for_my_tiles(gpu, codec, my_part<R>(gpu, a, owner), [&](const Tile& tile) {
    typename R::Element::Value x[R::Codec::kPerWord];
    const auto held = codec.load(gpu, a.scratch(a.rank), tile);
    if (next != owner) codec.store(gpu, a.scratch(next), tile, held);
    codec.template decode<Gpu>(held, x);
    R::Plan::template store<R>(gpu, a, tile, x);
  });
}

template <class R, class Gpu>
TALLY_DEVICE void all_reduce_ring(Gpu& gpu, const typename R::Arguments& a) {
  const int next = (a.rank + 1) % a.ranks, previous = (a.rank + a.ranks - 1) % a.ranks;
  const auto below = [&](int distance) { return (a.rank + a.ranks - distance) % a.ranks; };
  Barrier<R, Gpu> barrier(gpu, a);
  for (int hop = 0; hop < a.ranks - 1; ++hop) {
    add_own<R>(gpu, a, below(hop + 1), next, hop == 0);
    barrier.hop(next, previous);
  }
  add_own<R>(gpu, a, a.rank, a.rank, a.ranks == 1);
  for (int hop = 0; hop < a.ranks; ++hop) {
    pass_on<R>(gpu, a, below(hop), next);
    if (hop < a.ranks - 1) barrier.hop(next, previous);
  }
  if (a.ranks == 1) return;  // it met nobody, and has no epoch to leave
  barrier.leave(next);
  barrier.finish();
}

}  // namespace tally::kernels
