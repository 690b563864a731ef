#pragma once

// How the same block of all ranks meets.
//
//   every thread:        fence(release)            its own stores leave this GPU's caches
//   block barrier
//   thread p:            flag[peer p][block][me] = epoch   (release)
//                        until flag[me][block][p] reaches epoch   (acquire)
//   block barrier                                  the other threads may now read what peers wrote
//
// A barrier signals all peers and waits for all; a hop of the ring signals one and waits for
// one. Either way the epoch advances by one, on all ranks alike, so that algorithms may follow each
// other in any order. Epochs count up for ever, in device memory: a flag is never reset, a replayed
// graph needs no new arguments, and a peer that is already one meeting ahead still satisfies the
// wait. The fence in every thread is beside the release because clang's code for gfx942, before
// LLVM pull request 178316, may not wait for a write-back of other waves' stores that the flag's
// own wave starts.

#include "kernels/movement.h"

namespace tally::kernels {

/// The meetings of one call by one block. All threads of the block make the same calls.
template <class R, class Gpu>
class PeerBarrier {
 public:
  TALLY_DEVICE PeerBarrier(Gpu& gpu, const typename R::Arguments& a)
      : gpu_(gpu), a_(a), epoch_(gpu.load(a.epochs + gpu.block())) {}

  /// Orders all that the ranks' blocks did before it before all that they do after it. After a
  /// wait that gave up (a_.stuck says where) it goes on: the results are then worthless.
  TALLY_DEVICE void meet() { advance(0, a_.ranks, 0, a_.ranks); }
  /// Orders what rank `from`'s block did before its hop() or leave() before what this does after
  /// its own; and what this did before what rank `to`'s does after.
  TALLY_DEVICE void hop(int to, int from) { advance(to, to + 1, from, from + 1); }
  /// The last meeting of a call: until then peers may need this rank's scratch.
  TALLY_DEVICE void leave() { meet(); }
  /// The last hop of a call waits for one peer but tells all, lest the flags of ranks that are no
  /// neighbours fall 2^31 epochs behind.
  TALLY_DEVICE void leave(int from) { advance(0, a_.ranks, from, from + 1); }

  /// Leaves the count for the next call. The block's last meeting precedes it.
  TALLY_DEVICE void finish() {
    if (gpu_.thread() == 0) gpu_.store(a_.epochs + gpu_.block(), epoch_);
  }

 private:
  /// Signals the peers in [to, to_end) and waits for those in [from, from_end).
  TALLY_DEVICE void advance(int to, int to_end, int from, int from_end) {
    ++epoch_;
    if (!R::Plan::meets(number_++)) return;
    gpu_.fence(Release{}, System{});
    gpu_.block_barrier();
    for (int peer = to + gpu_.thread(); peer < to_end; peer += gpu_.threads()) {
      if (peer != a_.rank) gpu_.store_flag(flag(peer, a_.rank), epoch_, Release{}, System{});
    }
    for (int peer = from + gpu_.thread(); peer < from_end; peer += gpu_.threads()) {
      if (peer == a_.rank) continue;
      if (!gpu_.wait(flag(a_.rank, peer), Reached{epoch_}, Acquire{}, System{})) {
        give_up(gpu_, a_.stuck, {1, gpu_.block(), peer, epoch_});
      }
    }
    gpu_.block_barrier();
  }
  TALLY_DEVICE std::uint32_t* flag(int owner, int sender) const {
    return a_.peers->flags[owner] + gpu_.block() * kMaxRanks + sender;
  }

  Gpu& gpu_;
  const typename R::Arguments& a_;
  std::uint32_t epoch_;
  int number_ = 0;
};

/// The barrier of a recipe's plan.
template <class R, class Gpu>
using Barrier = typename R::Plan::template Barrier<R, Gpu>;

}  // namespace tally::kernels
