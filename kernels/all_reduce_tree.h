#pragma once

// Direct Data Access all-reduce, tree (two shots): stage, meet, each rank sums its own chunk in
// place in its scratch, meet, fetch all chunks. The name is RCCLX's; there is no tree in it.
//
//   chunk    0 | 1 | 2 | 3               chunk r is summed by rank r
//   block    0 1 | 0 1 | 0 1 | 0 1       each works on its own part of every chunk, in every rank,
//                                        so that a barrier between equal blocks is enough
//
// Per GPU and link, one way: about 2 / ranks of the input's words. Three barriers.

#include "kernels/barrier.h"

namespace tally::kernels {

/// The part of chunk `owner` that block `block` works on.
template <class R, class Gpu>
TALLY_DEVICE Span my_part(Gpu& gpu, const typename R::Arguments& a, int owner) {
  const Span chunk = piece(R::Plan::summed(a.count, a.ranks), owner, a.ranks);
  return piece(chunk, gpu.block(), gpu.blocks());
}

/// Own scratch, own chunk = the encoded sum of all ranks' scratch.
template <class R, class Gpu>
TALLY_DEVICE void sum_chunk(Gpu& gpu, const typename R::Arguments& a) {
  using Codec = typename R::Codec;
  for_my_tiles<Codec>(gpu, my_part<R>(gpu, a, a.rank), [&](auto word, auto, auto) {
    typename R::Element::Value sum[Codec::kPerWord];
    sum_word<R>(gpu, a, word, sum);
    gpu.store(a.scratch[a.rank] + word, Codec::template encode<Gpu>(sum));
  });
}

/// Output, chunk `owner` = what its owner summed.
template <class R, class Gpu>
TALLY_DEVICE void fetch_chunk(Gpu& gpu, const typename R::Arguments& a, int owner) {
  using Codec = typename R::Codec;
  for_my_tiles<Codec>(gpu, my_part<R>(gpu, a, owner), [&](auto word, auto first, auto valid) {
    typename R::Element::Value x[Codec::kPerWord];
    Codec::template decode<Gpu>(gpu.load(a.scratch[owner] + word), x);
    R::Plan::template store<R>(gpu, a, first, valid, x);
  });
}

template <class R, class Gpu>
TALLY_DEVICE void all_reduce_tree(Gpu& gpu, const typename R::Arguments& a) {
  PeerBarrier<R, Gpu> barrier(gpu, a);
  for (int owner = 0; owner < a.ranks; ++owner) stage<R>(gpu, a, my_part<R>(gpu, a, owner));
  barrier.meet();
  sum_chunk<R>(gpu, a);
  barrier.meet();
  for (int distance = 0; distance < a.ranks; ++distance) {
    fetch_chunk<R>(gpu, a, (a.rank + distance) % a.ranks);  // not all ask rank 0 first
  }
  barrier.meet();  // until then peers read this rank's scratch
  barrier.finish();
}

}  // namespace tally::kernels
