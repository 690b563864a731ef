#pragma once

// Low latency packets: data that needs neither barrier nor fence, since its flag comes with it.
//
//   packet     data (low 4 bytes) | flag (high 4 bytes)    one store and one load of 8 bytes
//   scratch    [half][sender][part][word]                  a word of the codec is parts of 4 bytes;
//                                                          neighbouring threads write neighbours
//
// A sender pushes its packets into a slot of its own in every rank's scratch, a receiver looks at
// each until its flag is the epoch of the call. An aligned atomic of 8 bytes is seen whole on both
// GPUs, so who sees the flag sees the data (NCCL's LL rests on the same: NVIDIA/nccl#824); all
// other accesses of a call are to what its rank alone has, so relaxed order is enough.
//
// The epoch counts the calls that have elements, for ever, in device memory: a flag is never reset,
// and a replayed graph needs no new arguments. Each block has an epoch, which its first thread
// advances when all have read it; all are equal, since a call also advances those of blocks that
// only larger launches have. They have to be: which thread writes a packet depends on the call's
// count, and if blocks counted their own work, one could find the flag that it waits for in what
// another left.
//
// Two halves, by the epoch's parity, are enough. A rank overwrites in call n + 2 what call n left,
// and begins n + 2 when its whole kernel of n + 1 has ended. Some thread of that received a packet
// of n + 1 from each rank, which was sent by a kernel that began when that rank's whole kernel of n
// had ended, and with it all reading of n. Threads and blocks without elements wait for nobody, but
// kernels follow each other as wholes. A call in which no thread has any does not count.
//
// After 2^32 calls a flag comes again, and a packet that only large calls use may still hold the
// old one (NVIDIA/nccl#926). So calls whose epoch is 0 or 1 modulo 2^30 write all packets of their
// half, also those that they have no data for; the period is even, so each half has its turn, and
// goes on evenly through the wrap, since it divides 2^32. Whatever a sender's slot holds when a
// call begins was written at most 2^30 calls ago, and is no flag of the future. In a new
// communicator epochs and packets are zero: flag 0 is due after 2^32 calls, when all has been
// written.

#include <type_traits>

#include "kernels/codec.h"
#include "kernels/gpu.h"

namespace tally::kernels {

/// What a communicator has for packets alone, beside them, so that nothing else is ever taken for
/// one.
struct PacketScratch {
  std::int64_t words;  // of the largest call; Peers::packets is [2][ranks][parts of a word][words]
  std::uint32_t* epochs;  // own, [blocks]: calls with elements so far
  std::int32_t blocks;    // of the largest launch
};

/// Whether a codec's words are all that crosses: a packet has no place for a scale.
template <class Codec>
inline constexpr bool kTravelsInPackets =
    std::is_same_v<typename Codec::Held, typename Codec::Packet>;

/// The packets of one call, as one thread sends and receives them. A word is the same thread's on
/// all ranks.
template <class R, class Gpu>
class PacketExchange {
  using CodecWord = typename R::Codec::Packet;
  static constexpr int kParts = static_cast<int>(sizeof(CodecWord) / sizeof(std::uint32_t));
  struct Parts {
    std::uint32_t at[kParts];
  };
  /// What is due: a packet of this call. Where nothing is to be waited for, whatever there is.
  struct Arrived {
    std::uint32_t target;
    bool is_due;
    TALLY_DEVICE bool operator()(std::uint64_t packet) const {
      return !is_due || static_cast<std::uint32_t>(packet >> 32) == target;
    }
  };

 public:
  TALLY_DEVICE PacketExchange(Gpu& gpu, const typename R::Arguments& a)
      : gpu_(gpu),
        a_(a),
        me_(gpu.block() * gpu.threads() + gpu.thread()),
        all_(gpu.blocks() * gpu.threads()),
        epoch_(gpu.load(a.packets.epochs + gpu.block()) + 1),
        is_due_(R::Plan::meets(0)) {}

  /// A word for all ranks, the own one too.
  TALLY_DEVICE void send(std::int64_t word, const CodecWord& codes) {
    const auto parts = __builtin_bit_cast(Parts, codes);
    for_each_rank([&](int to) {
      for (int part = 0; part < kParts; ++part) store(to, part, word, parts.at[part]);
    });
  }

  /// Sends what keeps old flags from being taken for new ones, where this call has to. Its own
  /// words are the first `used`.
  TALLY_DEVICE void refresh(std::int64_t used) {
    if ((epoch_ & (R::Plan::kRefreshPeriod - 1)) > 1) return;
    for_each_rank([&](int to) {
      for (std::int64_t word = used + me_; word < a_.packets.words; word += all_) {
        for (int part = 0; part < kParts; ++part) store(to, part, word, 0);
      }
    });
  }

  /// The word that `sender` sent. After a wait that gave up (a_.stuck says where) it waits for
  /// nothing any more: the results are then worthless.
  TALLY_DEVICE CodecWord receive(int sender, std::int64_t word) {
    std::uint64_t seen[kParts];
    if (!gpu_.wait_packets(place(a_.rank, sender, 0, word), a_.packets.words,
                           Arrived{epoch_, is_due_}, seen, Relaxed{}, System{})) {
      give_up(gpu_, a_.stuck, {1, gpu_.block(), sender, epoch_});
      is_due_ = false;
    }
    Parts parts;
    for (int part = 0; part < kParts; ++part)
      parts.at[part] = static_cast<std::uint32_t>(seen[part]);
    return __builtin_bit_cast(CodecWord, parts);
  }

  /// Leaves the count for the next call.
  TALLY_DEVICE void finish() {
    for (int block = gpu_.blocks() + me_; block < a_.packets.blocks; block += all_) {
      gpu_.store(a_.packets.epochs + block, epoch_);
    }
    gpu_.block_barrier();  // all have read the own one
    if (gpu_.thread() == 0) gpu_.store(a_.packets.epochs + gpu_.block(), epoch_);
  }

 private:
  /// Beginning with the own one, so that not all write to one rank first.
  template <class Work>
  TALLY_DEVICE void for_each_rank(Work work) {
    int rank = a_.rank;
    for (int i = 0; i < a_.ranks; ++i) {
      work(rank);
      rank = rank + 1 < a_.ranks ? rank + 1 : 0;
    }
  }
  TALLY_DEVICE void store(int to, int part, std::int64_t word, std::uint32_t data) {
    const std::uint64_t packet = static_cast<std::uint64_t>(epoch_) << 32 | data;
    gpu_.store_packet(place(to, a_.rank, part, word), packet, Relaxed{}, System{});
  }
  TALLY_DEVICE std::uint64_t* place(int owner, int sender, int part, std::int64_t word) const {
    const int row = (R::Plan::half(epoch_) * a_.ranks + sender) * kParts + part;
    return a_.peers->packets[owner] + row * a_.packets.words + word;
  }

  Gpu& gpu_;
  const typename R::Arguments& a_;
  const std::int32_t me_, all_;  // this thread's number in the launch, and how many there are
  const std::uint32_t epoch_;
  bool is_due_;
};

}  // namespace tally::kernels
