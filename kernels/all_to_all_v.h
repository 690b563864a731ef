#pragma once

// all_to_all with counts in device memory, which the host does not know: it knows a bound of each,
// a.count. Blocks lie one behind the other in input and output; where each begins is the sum of the
// counts before it (NCCLX: deviceAllToAllv in meta-pytorch/torchcomms, which checks no bound).
//
//   counts   [block][sender]             each rank stores what it sends into the receiver's memory,
//                                        for each of its blocks, since only equal blocks meet
//
// A rank with a count below 0 or above the bound sends nothing, and tells all ranks so by a count
// of -1. Then nobody writes to its output, and received_counts is -1 for each such rank, 0 for the
// others. Per link beside the elements: 8 bytes a block.

#include "kernels/blocks.h"

namespace tally::kernels {

/// What `sender` sends to `to`, as told to the equal block of `to`.
template <class R, class Gpu>
TALLY_DEVICE std::int64_t* told_count(Gpu& gpu, const typename R::Arguments& a, int to,
                                      int sender) {
  return a.peers->counts[to] + gpu.block() * kMaxRanks + sender;
}

/// Whether all counts of the own rank are within the bound.
template <class R, class Gpu>
TALLY_DEVICE bool counts_fit(Gpu& gpu, const typename R::Arguments& a) {
  bool fit = true;
  for (int to = 0; to < a.ranks; ++to) {
    const std::int64_t count = gpu.load(a.send_counts + to);
    fit = fit && R::Plan::fits(count, a.count);
  }
  return fit;
}

/// Tells each rank its count, and stages its block.
template <class R, class Gpu>
TALLY_DEVICE void send(Gpu& gpu, const typename R::Arguments& a, const typename R::Codec& codec) {
  const bool fit = counts_fit<R>(gpu, a);
  std::int64_t first = 0;
  for (int to = 0; to < a.ranks; ++to) {
    const std::int64_t count = fit ? gpu.load(a.send_counts + to) : -1;
    if (gpu.thread() == 0) gpu.store(told_count<R>(gpu, a, to, a.rank), count);
    if (!fit) continue;
    const Span mine = my_part_of_block<R>(gpu, codec, count);
    stage_block<R>(gpu, a, codec, a.input + first, to * slot_length<R>(a), mine);
    first += count;
  }
}

/// Whether all ranks sent. Leaves the received counts, or who is to blame.
template <class R, class Gpu>
TALLY_DEVICE bool all_sent(Gpu& gpu, const typename R::Arguments& a) {
  bool sent = true;
  for (int from = 0; from < a.ranks; ++from) {
    sent = sent && gpu.load(told_count<R>(gpu, a, a.rank, from)) >= 0;
  }
  if (gpu.block() != 0 || gpu.thread() != 0) return sent;
  for (int from = 0; from < a.ranks; ++from) {
    const std::int64_t count = gpu.load(told_count<R>(gpu, a, a.rank, from));
    gpu.store(a.received_counts + from, sent || count < 0 ? count : 0);
  }
  return sent;
}

template <class R, class Gpu>
TALLY_DEVICE void receive(Gpu& gpu, const typename R::Arguments& a,
                          const typename R::Codec& codec) {
  const std::int64_t slot = slot_length<R>(a);
  std::int64_t first = 0;
  for (int from = 0; from < a.ranks; ++from) {
    const std::int64_t count = gpu.load(told_count<R>(gpu, a, a.rank, from));
    const Span mine = my_part_of_block<R>(gpu, codec, count);
    fetch_block<R>(gpu, a, codec, from, a.rank * slot, mine, first);
    first += count;
  }
}

template <class R, class Gpu>
TALLY_DEVICE void all_to_all_v_flat(Gpu& gpu, const typename R::Arguments& a) {
  const auto codec = codec_of_slots<R>(a);
  Barrier<R, Gpu> barrier(gpu, a);
  send<R>(gpu, a, codec);
  barrier.meet();
  if (all_sent<R>(gpu, a)) receive<R>(gpu, a, codec);
  barrier.leave();
  barrier.finish();
}

}  // namespace tally::kernels
