#pragma once

// The Gpu that every kernel is a template over. Three exist: amd/amd_gpu.h, nvidia/nvidia_gpu.h
// and emulator/emulated_gpu.h. On a GPU each function is the instruction it names, no more.
//
//   int thread(), threads(), block(), blocks()      position, in one dimension
//   void block_barrier()                            all threads of the block; orders their accesses
//                                                   among themselves, not toward other GPUs
//   uint32 shuffle(uint32 value, int source, int width)
//   uint32 shuffle_xor(uint32 value, int mask, int width)
//                                                   the value of thread `source`, or of thread
//                                                   own ^ mask, among the `width` neighbours whose
//                                                   numbers begin at a multiple of width, 1 to the
//                                                   wave's size; all of them call together
//   T load(const T*), void store(T*, T)             plain accesses; a Word is one instruction
//   kReleaseCoversBlock                             whether store_flag(Release), behind a block
//                                                   barrier, also releases what the other threads
//                                                   of the block stored before it
//   kElementsAtOnce                                 so many elements a thread loads before it uses
//                                                   the first, where their order allows it
//   void fence(Release, System)                     earlier accesses of this thread before later
//                                                   stores, as every GPU sees them; only where the
//                                                   flag's release does not cover the block
//   void store_flag(uint32*, value, Release, System)
//   bool wait(const uint32*, predicate, Acquire, System)
//                                                   until the predicate holds; false when it took
//                                                   longer than kWaitLimitNanoseconds
//   void store_packet(uint64* packet, uint64 value, Relaxed, System)
//                                                   8 bytes, seen whole
//   bool wait_packets(const uint64* first, int64 stride, predicate, uint64 (&seen)[n], Relaxed,
//                     System)                       until the predicate holds for what each of n
//                                                   packets holds, which is then in `seen`; all are
//                                                   looked at at once; false when it took too long,
//                                                   as wait() does
//   Convert<format, beyond>                         encode4, decode4: the hardware's conversion
//                                                   where it has one, else SoftwareConvert

#include <cstdint>

#include "kernels/device.h"

namespace tally::kernels {

/// A deadlock ends after this time on hardware; the emulator finds it at once.
inline constexpr std::uint64_t kWaitLimitNanoseconds = 2'000'000'000;

/// Where a wait gave up: written once, by the first thread of a rank that did. As aligned as a
/// Word, so that one store writes it whole.
struct alignas(16) Stuck {
  std::uint32_t happened;  // 0 or 1
  std::int32_t block, peer;
  std::uint32_t target;
};

/// Says where a wait gave up, unless an earlier one did.
template <class Gpu>
TALLY_DEVICE void give_up(Gpu& gpu, Stuck* stuck, const Stuck& where) {
  if (gpu.load(stuck).happened == 0) gpu.store(stuck, where);
}

}  // namespace tally::kernels
