#pragma once

// Direct Data Access all_to_all: stage all blocks, meet, fetch the own block of everybody; in
// rounds.
//
//   block    0          1                each works on its own part of every rank's block
//
// Per GPU and link, one way: ceil(count / kPerWord) words. A barrier for each round, and one
// more. Scratch: a slot a rank.

#include "kernels/blocks.h"

namespace tally::kernels {

template <class R, class Gpu>
TALLY_DEVICE void all_to_all_flat(Gpu& gpu, const typename R::Arguments& a) {
  const auto codec = codec_of_slots<R>(a);
  const std::int64_t slot = slot_length<R>(a);
  const Span mine = my_part_of_block<R>(gpu, codec, a.count);
  Barrier<R, Gpu> barrier(gpu, a);
  const auto stage = [&](Span part) TALLY_INLINE { stage_blocks<R>(gpu, a, codec, part); };
  const auto fetch = [&](Span part) TALLY_INLINE {
    for (int distance = 0; distance < a.ranks; ++distance) {
      const int from = (a.rank + distance) % a.ranks;  // not all ask rank 0 first
      fetch_block<R>(gpu, a, codec, from, a.rank * slot, part, R::Plan::block_begin(a.count, from));
    }
  };
  in_rounds<R, Gpu>(barrier, a, mine, codec.unit_bits(), stage, fetch);
  barrier.leave();
  barrier.finish();
}

}  // namespace tally::kernels
