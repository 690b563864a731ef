#pragma once

// Direct Data Access reduce_scatter: stage all blocks, meet, sum the own block of all ranks; in
// rounds.
//
//   block    0          1                each works on its own part of every rank's block
//
// Per GPU and link, one way: ceil(count / kPerWord) words. A barrier for each round, and one
// more. Scratch: a slot a rank.

#include "kernels/blocks.h"

namespace tally::kernels {

template <class R, class Gpu>
TALLY_DEVICE void reduce_scatter_flat(Gpu& gpu, const typename R::Arguments& a) {
  const auto codec = codec_of_slots<R>(a);
  const std::int64_t slot = slot_length<R>(a);
  const Span mine = my_part_of_block<R>(gpu, codec, a.count);
  Barrier<R, Gpu> barrier(gpu, a);
  const auto stage = [&](Span part) TALLY_INLINE {
    for (int to = 0; to < a.ranks; ++to) {
      stage_block<R>(gpu, a, codec, a.input + R::Plan::block_begin(a.count, to), to * slot, part);
    }
  };
  const auto sum = [&](Span part) TALLY_INLINE {
    for_my_tiles(gpu, codec, part, [&](const Tile& tile) {
      typename R::Element::Value x[R::Codec::kPerWord];
      reduce_tile<R>(gpu, a, codec, in_slot<R>(tile, a.rank * slot), x);
      R::Plan::template store<R>(gpu, a, tile, x);
    });
  };
  in_rounds<R, Gpu>(barrier, a, mine, codec.unit_bits(), stage, sum);
  barrier.leave();
  barrier.finish();
}

}  // namespace tally::kernels
