#pragma once

// Direct Data Access all-reduce, flat (one shot): stage, meet, read all ranks' staging, sum. In
// rounds, since no element needs another: one is staged while the one before it is read.
//
//   block    0          1                each sums its own part of [0, count), in every rank
//   word     t, t+T...                   thread t of T takes every T-th word of the part
//
// Per GPU and link, one way: ceil(count / kPerWord) words. A barrier for each round, and one more.
// Scratch: one input.

#include "kernels/barrier.h"

namespace tally::kernels {

template <class R, class Gpu>
TALLY_DEVICE void all_reduce_flat(Gpu& gpu, const typename R::Arguments& a) {
  const auto codec = codec_of<R>(a);
  const Span all = R::Plan::summed(a.count, a.ranks);
  const Span mine = piece(all, gpu.block(), gpu.blocks(), codec.unit_bits());
  Barrier<R, Gpu> barrier(gpu, a);
  in_rounds<R, Gpu>(
      barrier, a, mine, codec.unit_bits(), [&](Span part) TALLY_INLINE { stage<R>(gpu, a, part); },
      [&](Span part) TALLY_INLINE { reduce_span<R>(gpu, a, codec, part, 0); });
  barrier.leave();
  barrier.finish();
}

}  // namespace tally::kernels
