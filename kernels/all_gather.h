#pragma once

// Direct Data Access all_gather: stage the own block, meet, fetch everybody's.
//
//   block    0          1                each works on its own part of every rank's block
//
// Per GPU and link, one way: ceil(count / kPerWord) words. Two barriers. Scratch: one block.

#include "kernels/blocks.h"

namespace tally::kernels {

template <class R, class Gpu>
TALLY_DEVICE void all_gather_flat(Gpu& gpu, const typename R::Arguments& a) {
  const auto codec = codec_of<R>(a);
  const Span mine = my_part_of_block<R>(gpu, codec, a.count);
  Barrier<R, Gpu> barrier(gpu, a);
  stage_block<R>(gpu, a, codec, a.input, 0, mine);
  barrier.meet();
  for (int distance = 0; distance < a.ranks; ++distance) {
    const int owner = (a.rank + distance) % a.ranks;  // not all ask rank 0 first
    fetch_block<R>(gpu, a, codec, owner, 0, mine, R::Plan::block_begin(a.count, owner));
  }
  barrier.leave();
  barrier.finish();
}

}  // namespace tally::kernels
