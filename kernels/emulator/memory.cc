#include "kernels/emulator/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/check.h"

namespace tally::kernels::emulator {
namespace {

constexpr std::size_t kGuardBytes = 512;
constexpr std::size_t kAlignment = 256;
constexpr std::byte kGuardFill{0xA5};

/// The first byte of [first, first + bytes) that is not the guard's, or bytes.
std::size_t first_written(const std::byte* first, std::size_t bytes) {
  return std::find_if(first, first + bytes, [](std::byte b) { return b != kGuardFill; }) - first;
}

}  // namespace

std::size_t Memory::room(std::size_t bytes) {
  return 2 * kGuardBytes + 2 * kAlignment + (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Memory::Memory(int ranks, std::size_t bytes_per_rank)
    : rank_shift_(
          static_cast<int>(std::bit_width(std::max<std::size_t>(bytes_per_rank, 4096) - 1))),
      arena_bytes_(static_cast<std::size_t>(ranks) << rank_shift_),
      buffers_(ranks),
      used_(ranks, 0) {
  void* arena = mmap(nullptr, arena_bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TALLY_CHECK(arena != MAP_FAILED, "no address space for the virtual GPUs' memory");
  base_ = reinterpret_cast<std::uintptr_t>(arena);
}

Memory::~Memory() { munmap(reinterpret_cast<void*>(base_), arena_bytes_); }

Buffer& Memory::allocate(int rank, std::string name, std::size_t bytes, std::byte fill,
                         std::size_t misalignment, Allocation allocation) {
  TALLY_CHECK(misalignment < kAlignment, "a misalignment is less than the alignment");
  const std::size_t offset = used_[rank];
  used_[rank] += room(bytes);
  TALLY_CHECK(used_[rank] <= std::size_t{1} << rank_shift_, "the virtual GPU's memory is full");
  auto* begin = reinterpret_cast<std::byte*>(base_) + (std::size_t(rank) << rank_shift_) + offset;
  std::memset(begin, int(kGuardFill), room(bytes));
  std::byte* first =
      begin + kGuardBytes + (kAlignment - kGuardBytes % kAlignment) % kAlignment + misalignment;
  std::memset(first, int(fill), bytes);
  return buffers_[rank].emplace_back(Buffer{std::move(name), rank, first, bytes, allocation});
}

std::vector<std::string> Memory::broken_guards() const {
  std::vector<std::string> broken;
  for (const auto& of_rank : buffers_) {
    for (const Buffer& buffer : of_rank) {
      const std::byte* behind = buffer.first + buffer.bytes;
      const std::size_t after = first_written(behind, kGuardBytes);
      const std::size_t before = first_written(buffer.first - kGuardBytes, kGuardBytes);
      if (after < kGuardBytes) {
        broken.push_back("the guard zone behind " + describe(buffer.first) +
                         " was written at byte " + std::to_string(after));
      }
      if (before < kGuardBytes) {
        broken.push_back("the guard zone before " + describe(buffer.first) + " was written " +
                         std::to_string(kGuardBytes - before) + " bytes ahead of it");
      }
    }
  }
  return broken;
}

const Buffer* Memory::nearest(const void* address) const {
  const int rank = owner(address);
  if (rank < 0) return nullptr;
  const auto& buffers = buffers_[rank];
  auto after = std::upper_bound(buffers.begin(), buffers.end(), address,
                                [](const void* a, const Buffer& b) { return a < b.first; });
  return after == buffers.begin() ? nullptr : &*std::prev(after);
}

const Buffer* Memory::find(const void* address, std::size_t bytes) const {
  const Buffer* buffer = nearest(address);
  if (buffer == nullptr) return nullptr;
  const std::size_t offset = static_cast<const std::byte*>(address) - buffer->first;
  return offset + bytes <= buffer->bytes ? buffer : nullptr;
}

std::string Memory::describe(const void* address) const {
  const Buffer* buffer = nearest(address);
  if (buffer == nullptr) return "no buffer";
  const std::size_t offset = static_cast<const std::byte*>(address) - buffer->first;
  std::string text = buffer->name + " of rank " + std::to_string(buffer->rank);
  return offset == 0 ? text : text + ", byte " + std::to_string(offset);
}

}  // namespace tally::kernels::emulator
