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

/// Own scratch, own chunk = the encoded sum of all ranks' scratch.
template <class R, class Gpu>
TALLY_DEVICE void sum_chunk(Gpu& gpu, const typename R::Arguments& a) {
  const auto codec = codec_of<R>(a);
  const int index = R::Plan::summed_part(gpu.block(), gpu.blocks());
  for_my_tiles(gpu, codec, part<R>(a, a.rank, index, gpu.blocks()), [&](const Tile& tile) {
    typename R::Element::Value x[R::Codec::kPerWord];
    reduce_tile<R>(gpu, a, codec, tile, x);
    R::Plan::template keep<R>(gpu, a, tile, x);
    codec.store(gpu, a.scratch(a.rank), tile, codec.encode(gpu, tile, x));
  });
}

/// Output, chunk `owner` = what its owner summed.
template <class R, class Gpu>
TALLY_DEVICE void fetch_chunk(Gpu& gpu, const typename R::Arguments& a, int owner) {
  const auto codec = codec_of<R>(a);
  for_my_tiles(gpu, codec, my_part<R>(gpu, a, owner), [&](const Tile& tile) {
    typename R::Element::Value x[R::Codec::kPerWord];
    codec.template decode<Gpu>(codec.load(gpu, a.scratch(owner), tile), x);
    R::Plan::template store<R>(gpu, a, tile, x);
  });
}

template <class R, class Gpu>
TALLY_DEVICE void all_reduce_tree(Gpu& gpu, const typename R::Arguments& a) {
  Barrier<R, Gpu> barrier(gpu, a);
  for (int owner = 0; owner < a.ranks; ++owner) stage<R>(gpu, a, my_part<R>(gpu, a, owner));
  barrier.meet();
  sum_chunk<R>(gpu, a);
  barrier.meet();
  for (int distance = 0; distance < a.ranks; ++distance) {
    const int owner = (a.rank + distance) % a.ranks;  // not all ask rank 0 first
    if (R::Plan::fetches(owner, a.rank)) fetch_chunk<R>(gpu, a, owner);
  }
  barrier.leave();
  barrier.finish();
}

}  // namespace tally::kernels
