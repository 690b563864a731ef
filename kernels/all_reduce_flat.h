#pragma once

// Direct Data Access all-reduce, flat (one shot): stage, meet, read all ranks' staging, sum.
//
//   block    0          1                each sums its own part of [0, count), in every rank
//   word     t, t+T...                   thread t of T takes every T-th word of the part
//
// Per GPU and link, one way: ceil(count / kPerWord) words. Two barriers. Scratch: one input.

#include "kernels/barrier.h"

namespace tally::kernels {

template <class R, class Gpu>
TALLY_DEVICE void all_reduce_flat(Gpu& gpu, const typename R::Arguments& a) {
  const Span mine = piece(R::Plan::summed(a.count, a.ranks), gpu.block(), gpu.blocks());
  PeerBarrier<R, Gpu> barrier(gpu, a);
  stage<R>(gpu, a, mine);
  barrier.meet();
  for_my_tiles<typename R::Codec>(gpu, mine, [&](auto word, auto first, auto valid) {
    typename R::Element::Value sum[R::Codec::kPerWord];
    sum_word<R>(gpu, a, word, sum);
    R::Plan::template store<R>(gpu, a, first, valid, sum);
  });
  barrier.meet();  // until then peers read this rank's scratch
  barrier.finish();
}

}  // namespace tally::kernels
