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
  const auto stage = [&](Span part) TALLY_INLINE { stage_blocks<R>(gpu, a, codec, part); };
  const auto sum = [&](Span part)
                       TALLY_INLINE { reduce_span<R>(gpu, a, codec, part, a.rank * slot); };
  in_rounds<R, Gpu>(barrier, a, mine, codec.unit_bits(), stage, sum);
  barrier.leave();
  barrier.finish();
}

}  // namespace tally::kernels
