#pragma once

// How the same block of all ranks meets.
//
//   every thread:        fence(release)            its own stores leave this GPU's caches; where a
//                                                  release does not see to that
//   block barrier
//   thread p:            flag[peer p][block][me] = epoch   (release)
//                        until flag[me][block][p] reaches epoch   (acquire)
//   block barrier                                  the other threads may now read what peers wrote
//
// The half before the epoch is stored is a signal, the other one a wait: of pipelined rounds the
// signal for one is given before the wait for the round before it. A barrier signals all peers and
// waits for all; a hop of the ring signals one and waits for one. Either way the epoch advances by
// one, on all ranks alike, so that algorithms may follow each other in any order. Epochs count up
// for ever, in device memory: a flag is never reset, a replayed graph needs no new arguments, and a
// peer that is already one meeting ahead still satisfies the wait. The fence in every thread is
// beside the release because clang's code for gfx942, before LLVM pull request 178316, may not wait
// for a write-back of other waves' stores that the flag's own wave starts.

#include "kernels/movement.h"

namespace tally::kernels {

/// The meetings of one call by one block. All threads of the block make the same calls.
template <class R, class Gpu>
class PeerBarrier {
 public:
  TALLY_DEVICE PeerBarrier(Gpu& gpu, const typename R::Arguments& a)
      : gpu_(gpu), a_(a), signalled_(gpu.load(a.epochs + gpu.block())), awaited_(signalled_) {}

  /// Orders all that the ranks' blocks did before it before all that they do after it. After a
  /// wait that gave up (a_.stuck says where) it goes on: the results are then worthless.
  TALLY_DEVICE void meet() {
    signal();
    await();
  }
  /// The halves of it: the n-th await() waits for the peers' n-th signal().
  TALLY_DEVICE void signal() { signal(0, a_.ranks); }
  TALLY_DEVICE void await() { await(0, a_.ranks); }
  /// Orders what rank `from`'s block did before its hop() or leave() before what this does after
  /// its own; and what this did before what rank `to`'s does after.
  TALLY_DEVICE void hop(int to, int from) {
    signal(to, to + 1);
    await(from, from + 1);
  }
  /// The last meeting of a call: until then peers may need this rank's scratch.
  TALLY_DEVICE void leave() { meet(); }
  /// The last hop of a call waits for one peer but tells all, lest the flags of ranks that are no
  /// neighbours fall 2^31 epochs behind.
  TALLY_DEVICE void leave(int from) {
    signal();
    await(from, from + 1);
  }

  /// Leaves the count for the next call. The block's last meeting precedes it.
  TALLY_DEVICE void finish() {
    if (gpu_.thread() == 0) gpu_.store(a_.epochs + gpu_.block(), signalled_);
  }

 private:
  TALLY_DEVICE void signal(int to, int end) {
    ++signalled_;
    if (!R::Plan::meets(signals_++)) return;
    if constexpr (!Gpu::kReleaseCoversBlock) gpu_.fence(Release{}, System{});
    gpu_.block_barrier();
    for (int peer = to + gpu_.thread(); peer < end; peer += gpu_.threads()) {
      if (peer != a_.rank) gpu_.store_flag(flag(peer, a_.rank), signalled_, Release{}, System{});
    }
  }
  TALLY_DEVICE void await(int from, int end) {
    ++awaited_;
    if (!R::Plan::meets(waits_++)) return;
    for (int peer = from + gpu_.thread(); peer < end; peer += gpu_.threads()) {
      if (peer == a_.rank) continue;
      if (!gpu_.wait(flag(a_.rank, peer), Reached{awaited_}, Acquire{}, System{})) {
        give_up(gpu_, a_.stuck, {1, gpu_.block(), peer, awaited_});
      }
    }
    gpu_.block_barrier();
  }
  TALLY_DEVICE std::uint32_t* flag(int owner, int sender) const {
    return a_.peers->flags[owner] + gpu_.block() * kMaxRanks + sender;
  }

  Gpu& gpu_;
  const typename R::Arguments& a_;
  std::uint32_t signalled_, awaited_;  // epochs
  int signals_ = 0, waits_ = 0;        // of this call
};

/// The barrier of a recipe's plan.
template <class R, class Gpu>
using Barrier = typename R::Plan::template Barrier<R, Gpu>;

/// Stages round after round, and works on each when all ranks have staged it, one round behind, so
/// that links are busy while the next round is staged. stage(part), work(part): both are given the
/// same parts of `span`, of whole units, in order.
template <class R, class Gpu, class Stage, class Work>
TALLY_DEVICE void in_rounds(Barrier<R, Gpu>& barrier, const typename R::Arguments& a, Span span,
                            int unit_bits, Stage stage, Work work) {
  const auto part = [&](int round) { return piece(span, round, a.rounds, unit_bits); };
  stage(part(0));
  barrier.signal();
  for (int round = 0; round < a.rounds; ++round) {
    if (round + 1 < a.rounds) {
      stage(part(round + 1));
      barrier.signal();
    }
    barrier.await();
    work(part(round));
  }
}

}  // namespace tally::kernels
