#pragma once

// Direct Data Access all-reduce, flat, with low latency packets: push the own input to all ranks,
// take theirs as they come, sum. Same bits as all_reduce_flat.h.
//
//   block    0          1                each sums its own part of [0, count), in every rank
//   word     t, t+T...                   thread t of T sends and sums every T-th word of the part
//
// Per GPU and link, one way: twice ceil(count / kPerWord) words. No barrier of ranks; one of
// the block, at its end.
// Scratch: 4 times the inputs of all ranks.
//
// In place: a thread has loaded all its words of the input, and sent them, before it stores the
// first one of the output; no other thread of any rank reads these.

#include "kernels/movement.h"

namespace tally::kernels {

template <class R, class Gpu>
TALLY_DEVICE void all_reduce_flat_ll(Gpu& gpu, const typename R::Arguments& a) {
  const auto codec = codec_of<R>(a);
  const Span all = R::Plan::summed(a.count, a.ranks);
  if (all.begin == all.end) return;  // nobody has anything to send: the call does not count
  const Span mine = piece(all, gpu.block(), gpu.blocks(), codec.unit_bits());
  PacketExchange<R, Gpu> packets(gpu, a);
  for_my_input<R>(gpu, a, codec, mine,
                  [&](const Tile& tile, const auto& codes) { packets.send(tile.word, codes); });
  packets.refresh((all.end + R::Codec::kPerWord - 1) / R::Codec::kPerWord);
  for_my_tiles(gpu, codec, mine, [&](const Tile& tile) {
    typename R::Element::Value x[1][R::Codec::kPerWord];
    const auto receive = [&](int sender, int) { return packets.receive(sender, tile.word); };
    reduce<R, Gpu>(a, codec, receive, x);
    R::Plan::template store<R>(gpu, a, tile, x[0]);
  });
  packets.finish();
}

}  // namespace tally::kernels
