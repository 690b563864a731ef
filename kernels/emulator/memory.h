#pragma once

// The memory of the virtual GPUs: named buffers with guard zones, each owned by one rank.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tally::kernels::emulator {

/// How a buffer was allocated, which decides who may cache it: hipMalloc,
/// hipExtMallocWithFlags with hipDeviceMallocFinegrained or hipDeviceMallocUncached, hipHostMalloc.
enum class Allocation : std::uint8_t { device, fine_grained, uncached, host };

/// One buffer. `first` is its address in this process, which kernels use as a device address.
struct Buffer {
  std::string name;
  int rank;  // the owner; of host memory too, whose guards and addresses are in the rank's room
  std::byte* first;
  std::size_t bytes;
  Allocation allocation = Allocation::device;
};

/// All virtual GPUs' home memory: bytes in named buffers. What a thread sees of them is a
/// MemoryModel's business.
class Memory {
 public:
  /// Room for `bytes_per_rank` in all buffers of a rank, guards included.
  Memory(int ranks, std::size_t bytes_per_rank);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// What a buffer of that size takes of a rank's room.
  static std::size_t room(std::size_t bytes);

  /// A new buffer of `rank`, `misalignment` bytes behind a multiple of 256, filled with `fill`,
  /// with guard zones before and behind.
  Buffer& allocate(int rank, std::string name, std::size_t bytes, std::byte fill,
                   std::size_t misalignment = 0, Allocation allocation = Allocation::device);

  /// The buffers whose guard zones were written, as sentences; empty when all are intact.
  std::vector<std::string> broken_guards() const;

  /// The rank that owns an address, or -1 outside the arena.
  int owner(const void* address) const {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - base_;
    return offset < arena_bytes_ ? static_cast<int>(offset >> rank_shift_) : -1;
  }
  /// The buffer that holds all of [address, address + bytes), or null.
  const Buffer* find(const void* address, std::size_t bytes) const;
  /// "flags of rank 2, byte 64", for messages.
  std::string describe(const void* address) const;

  /// All of it: buffers, guards and what is between, rank after rank in rooms of equal size.
  const std::byte* arena() const { return reinterpret_cast<const std::byte*>(base_); }
  std::size_t arena_bytes() const { return arena_bytes_; }

 private:
  const Buffer* nearest(const void* address) const;

  int rank_shift_ = 0;
  std::uintptr_t base_ = 0;
  std::size_t arena_bytes_ = 0;
  std::vector<std::vector<Buffer>> buffers_;  // [rank], by address
  std::vector<std::size_t> used_;             // [rank]
};

}  // namespace tally::kernels::emulator
