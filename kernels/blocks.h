#pragma once

// What reduce_scatter, all_gather and the all_to_alls share: buffers of one block for each rank.
//
//   input, output   0.......1.......2.......    block b begins at b * count
//   scratch         0.......  1.......  2...    slot b begins at a whole unit, so that no word and
//                                               no block of a wire is of two ranks

#include "kernels/barrier.h"

namespace tally::kernels {

/// Elements from one slot of the scratch to the next.
template <class R>
TALLY_DEVICE std::int64_t slot_length(const typename R::Arguments& a) {
  const int bits = codec_of<R>(a).unit_bits();
  return (a.count + (std::int64_t{1} << bits) - 1) >> bits << bits;
}

/// The codec of a scratch that has a slot for each rank.
template <class R>
TALLY_DEVICE typename R::Codec codec_of_slots(const typename R::Arguments& a) {
  return typename R::Codec(a.codec, a.ranks * slot_length<R>(a));
}

/// The part of a block of `count` elements that this thread's block works on.
template <class R, class Gpu>
TALLY_DEVICE Span my_part_of_block(Gpu& gpu, const typename R::Codec& codec, std::int64_t count) {
  return piece(R::Plan::summed(count, 1), gpu.block(), gpu.blocks(), codec.unit_bits());
}

/// Own scratch, from `begin` on = `span` of the own input's block at `block`, encoded.
template <class R, class Gpu>
TALLY_DEVICE void stage_block(Gpu& gpu, const typename R::Arguments& a,
                              const typename R::Codec& codec,
                              const typename R::Element::Storage* block, std::int64_t begin,
                              Span span) {
  for_my_tiles(gpu, codec, R::Plan::staged(span), [&](const Tile& tile) {
    typename R::Element::Value x[R::Codec::kPerWord];
    load_input<R>(gpu, a, block + tile.first, tile.valid, x);
    codec.store(gpu, a.scratch(a.rank), further<R>(tile, begin), codec.encode(gpu, tile, x));
  });
}

/// Own scratch, each slot = `span` of the own input's block for that rank, encoded.
template <class R, class Gpu>
TALLY_DEVICE void stage_blocks(Gpu& gpu, const typename R::Arguments& a,
                               const typename R::Codec& codec, Span span) {
  const std::int64_t slot = slot_length<R>(a);
  for (int to = 0; to < a.ranks; ++to) {
    stage_block<R>(gpu, a, codec, a.input + R::Plan::block_begin(a.count, to), to * slot, span);
  }
}

/// Output, from `to` on = `span` of what `owner` staged from `begin` on.
template <class R, class Gpu>
TALLY_DEVICE void fetch_block(Gpu& gpu, const typename R::Arguments& a,
                              const typename R::Codec& codec, int owner, std::int64_t begin,
                              Span span, std::int64_t to) {
  constexpr int most = kTilesAtOnce<typename R::Codec, Gpu>;
  const auto fetch = [&]<int count>(const Tile(&tiles)[count]) TALLY_INLINE {
    typename R::Codec::Held held[count];
    for (int i = 0; i < count; ++i) {
      held[i] = R::Plan::template load<R>(gpu, a, codec, owner, further<R>(tiles[i], begin));
    }
    for (int i = 0; i < count; ++i) {
      typename R::Element::Value x[R::Codec::kPerWord];
      codec.template decode<Gpu>(held[i], x);
      const Tile& tile = tiles[i];
      R::Plan::template store<R>(gpu, a, {tile.word, to + tile.first, tile.valid}, x);
    }
  };
  for_my_tiles_at_once<most>(gpu, codec, span, fetch);
}

}  // namespace tally::kernels
