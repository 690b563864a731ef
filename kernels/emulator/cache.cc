#include "kernels/emulator/cache.h"

#include <bit>
#include <cstring>

namespace tally::kernels::emulator {
namespace {

unsigned zeros_below(ByteMask mask) {
  const auto low = static_cast<std::uint64_t>(mask);
  return low != 0 ? std::countr_zero(low)
                  : 64 + std::countr_zero(static_cast<std::uint64_t>(mask >> 64));
}

/// run(first, bytes) for each run of bytes, in ascending order.
template <class F>
void for_each_run(ByteMask mask, F run) {
  while (mask != 0) {
    const unsigned first = zeros_below(mask);
    const unsigned bytes = zeros_below(~(mask >> first));
    run(first, bytes);
    mask &= ~mask_of(first, bytes);
  }
}

void copy_bytes(ByteMask mask, std::byte* to, const std::byte* from) {
  for_each_run(
      mask, [&](unsigned first, unsigned bytes) { std::memcpy(to + first, from + first, bytes); });
}

CachedCopy* find(CachedCopy* copy, int cache) {
  while (copy != nullptr && copy->cache != cache) copy = copy->next;
  return copy;
}

}  // namespace

Caches::Caches(Memory& memory, MemoryListener& listener, int xcds)
    : memory_(memory), listener_(listener), xcds_(xcds) {
  const int ranks = memory.owner(memory.arena() + memory.arena_bytes() - 1) + 1;
  l2s_.resize(ranks * xcds);
}

CacheLine& Caches::line(const void* address) {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(address) / kLineBytes;
  if (last_ != nullptr && last_->number == number) return *last_;
  const auto [at, is_new] = lines_.try_emplace(number);
  last_ = &at->second;
  if (is_new) {
    // A line has bytes of one buffer, or of one and guards: they are farther apart than a line.
    const Buffer* buffer = memory_.find(address, 1);
    *last_ = {number, reinterpret_cast<std::byte*>(number * kLineBytes), memory_.owner(address),
              buffer != nullptr ? buffer->allocation : Allocation::device};
  }
  return *last_;
}

/// "Memory Model GFX942" and gmc_v9_0_get_coherence_flags: local memory is RW and a peer's NC;
/// with hipDeviceMallocUncached local memory is CC and a peer's UC; host memory is UC.
MemoryType Caches::type(const CacheLine& line, int l2) const {
  const bool is_local = line.owner == l2 / xcds_;
  switch (line.allocation) {
    case Allocation::device:
    case Allocation::fine_grained:
      return is_local ? MemoryType::rw : MemoryType::nc;
    case Allocation::uncached:
      return is_local ? MemoryType::cc : MemoryType::uc;
    case Allocation::host:
      return MemoryType::uc;
  }
  return MemoryType::uc;
}

std::uint32_t& Caches::l1_epoch(int workgroup) {
  if (workgroup >= static_cast<int>(l1_epochs_.size())) l1_epochs_.resize(workgroup + 1, 1);
  return l1_epochs_[workgroup];
}

CachedCopy* Caches::new_copy(CacheLine& line, CachedCopy*& list, int cache) {
  void* room = room_.allocate(sizeof(CachedCopy), alignof(CachedCopy));
  auto* copy = new (room) CachedCopy;
  copy->next = list;
  copy->line = &line;
  copy->cache = cache;
  return list = copy;
}

CachedCopy* Caches::l1(CacheLine& line, int workgroup) {
  CachedCopy* copy = find(line.l1, workgroup);
  return copy != nullptr && copy->epoch == l1_epoch(workgroup) ? copy : nullptr;
}

void Caches::fill_l1(CacheLine& line, int workgroup, int l2) {
  CachedCopy* copy = find(line.l1, workgroup);
  if (copy == nullptr) copy = new_copy(line, line.l1, workgroup);
  copy->epoch = l1_epoch(workgroup);
  look(line, l2, 0, kLineBytes, copy->data.data());
}

CachedCopy* Caches::l2(CacheLine& line, int l2) {
  CachedCopy* copy = find(line.l2, l2);
  if (copy != nullptr && copy->epoch != l2s_[l2].epoch) {
    copy->epoch = l2s_[l2].epoch;
    copy->valid = copy->dirty;
  }
  return copy;
}

CachedCopy& Caches::l2_or_new(CacheLine& line, int l2) {
  CachedCopy* copy = this->l2(line, l2);
  if (copy == nullptr) {
    copy = new_copy(line, line.l2, l2);
    copy->epoch = l2s_[l2].epoch;
  }
  return *copy;
}

void Caches::look(CacheLine& line, int l2, unsigned first, unsigned bytes, std::byte* value) {
  std::memcpy(value, line.home + first, bytes);
  if (line.l2 == nullptr) return;
  const CachedCopy* copy = this->l2(line, l2);
  if (copy == nullptr) return;
  for_each_run(copy->valid & mask_of(first, bytes), [&](unsigned from, unsigned length) {
    std::memcpy(value + (from - first), copy->data.data() + from, length);
  });
}

void Caches::refill_l2(CacheLine& line, int l2) {
  CachedCopy& copy = l2_or_new(line, l2);
  copy_bytes(~copy.dirty, copy.data.data(), line.home);
  copy.valid = kWholeLine;
}

bool Caches::is_stale(const CachedCopy& copy, ByteMask bytes) {
  bool stale = false;
  for_each_run(copy.valid & ~copy.dirty & bytes, [&](unsigned first, unsigned length) {
    stale |= std::memcmp(copy.data.data() + first, copy.line->home + first, length) != 0;
  });
  return stale;
}

void Caches::write_l2(CacheLine& line, int l2, unsigned first, unsigned bytes,
                      const std::byte* value) {
  CachedCopy& copy = l2_or_new(line, l2);
  std::memcpy(copy.data.data() + first, value, bytes);
  if (copy.dirty == 0) ++line.dirty;
  copy.dirty |= mask_of(first, bytes);
  copy.valid |= mask_of(first, bytes);
  if (!copy.is_listed) l2s_[l2].dirty.push_back(&copy);
  copy.is_listed = true;
}

void Caches::write_home(CacheLine& line, int l2, unsigned first, unsigned bytes,
                        const std::byte* value) {
  std::memcpy(line.home + first, value, bytes);
  CachedCopy* copy = this->l2(line, l2);
  if (copy == nullptr) return;
  std::memcpy(copy->data.data() + first, value, bytes);
  undirty(*copy, mask_of(first, bytes));
}

/// These bytes of the copy equal home memory.
void Caches::undirty(CachedCopy& copy, ByteMask bytes) {
  if (copy.dirty != 0 && (copy.dirty & ~bytes) == 0) --copy.line->dirty;
  copy.dirty &= ~bytes;
  if (type(*copy.line, copy.cache) != MemoryType::nc) copy.valid &= ~bytes;
}

void Caches::write_back(CachedCopy& copy, ByteMask bytes) {
  const ByteMask written = copy.dirty & bytes;
  copy_bytes(written, copy.line->home, copy.data.data());
  undirty(copy, written);
  for_each_run(written, [&](unsigned first, unsigned length) {
    listener_.performed(copy.line->home + first, length, 0);
  });
}

void Caches::write_back_l2(int l2, bool of_peers_too) {
  std::erase_if(l2s_[l2].dirty, [&](CachedCopy* copy) {
    if (!of_peers_too && type(*copy->line, l2) == MemoryType::nc) return false;
    write_back(*copy);
    copy->is_listed = false;
    return true;
  });
}

}  // namespace tally::kernels::emulator
