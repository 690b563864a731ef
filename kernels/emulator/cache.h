#pragma once

// The caches of gfx942 GPUs without a will of their own: lines of home memory, and copies of them
// in L1s and L2s. When a copy is read, dropped or written back is gfx942_memory.cc's business.
//
//   L1   one for each workgroup; copies of whole lines, never dirty
//   L2   one for each XCD of each GPU; a copy holds
//          RW   its dirty bytes only: clean ones equal home memory, as probes see to it
//          NC   bytes of any age: nobody tells it of others' writes
//          CC, UC   nothing: written through, and as good as home memory
//
// Sources: LLVM's User Guide for AMDGPU Backend, "Memory Model GFX942", for the caches and what
// keeps them coherent; Linux's gmc_v9_0_get_coherence_flags for the type of each allocation.

#include <array>
#include <memory_resource>
#include <unordered_map>

#include "kernels/emulator/memory_model.h"

namespace tally::kernels::emulator {

inline constexpr unsigned kLineBytes = 128;

/// Some of a line's bytes.
__extension__ using ByteMask = unsigned __int128;
inline constexpr ByteMask kWholeLine = ~ByteMask{0};
constexpr ByteMask mask_of(unsigned first, unsigned bytes) {
  return kWholeLine >> (kLineBytes - bytes) << first;
}

enum class MemoryType : std::uint8_t { rw, nc, cc, uc };

struct CacheLine;

/// A line in one cache. One whose epoch is not its cache's was dropped since.
struct CachedCopy {
  CachedCopy* next;  // of the same line
  CacheLine* line;
  int cache;  // the workgroup, or the number of the L2
  std::uint32_t epoch = 0;
  bool is_listed = false;  // among its L2's dirty lines
  ByteMask valid = 0, dirty = 0;
  std::array<std::byte, kLineBytes> data;
};

struct CacheLine {
  std::uintptr_t number;
  std::byte* home;
  int owner;
  Allocation allocation;
  CachedCopy* l1 = nullptr;
  CachedCopy* l2 = nullptr;
  int dirty = 0;  // so many L2s hold dirty bytes
  /// Stores on their way to a cache, and at least the bytes that they write.
  int under_way = 0;
  ByteMask bytes_under_way = 0;
};

class Caches {
 public:
  Caches(Memory& memory, MemoryListener& listener, int xcds);

  CacheLine& line(const void* address);
  int l2_of(const Place& who) const { return who.id.rank * xcds_ + who.id.block % xcds_; }
  MemoryType type(const CacheLine& line, int l2) const;

  /// The copy in the workgroup's L1, or null.
  CachedCopy* l1(CacheLine& line, int workgroup);
  /// A copy of all of the line as `l2` shows it.
  void fill_l1(CacheLine& line, int workgroup, int l2);
  static void drop(CachedCopy& copy) { copy.epoch = 0; }
  void drop_l1(int workgroup) { ++l1_epoch(workgroup); }

  /// The copy in an L2, or null.
  CachedCopy* l2(CacheLine& line, int l2);
  /// What a load through `l2` gives as things are.
  void look(CacheLine& line, int l2, unsigned first, unsigned bytes, std::byte* value);
  /// Home memory's bytes where the copy of an NC line is not dirty.
  void refill_l2(CacheLine& line, int l2);
  /// The bytes of the copy that equal home memory's no more, though they are clean.
  static bool is_stale(const CachedCopy& copy, ByteMask bytes);
  /// A store that stays in the L2, or goes through it.
  void write_l2(CacheLine& line, int l2, unsigned first, unsigned bytes, const std::byte* value);
  void write_home(CacheLine& line, int l2, unsigned first, unsigned bytes, const std::byte* value);

  /// Dirty bytes reach home memory, and whoever listens is told.
  void write_back(CachedCopy& copy, ByteMask bytes = kWholeLine);
  /// All of an L2, or what is its own GPU's memory.
  void write_back_l2(int l2, bool of_peers_too = true);
  /// An L2 forgets its NC lines, but no dirty byte.
  void drop_nc(int l2) { ++l2s_[l2].epoch; }

 private:
  struct L2 {
    std::uint32_t epoch = 1;
    std::vector<CachedCopy*> dirty;
  };
  std::uint32_t& l1_epoch(int workgroup);
  CachedCopy* new_copy(CacheLine& line, CachedCopy*& list, int cache);
  CachedCopy& l2_or_new(CacheLine& line, int l2);
  void undirty(CachedCopy& copy, ByteMask bytes);

  Memory& memory_;
  MemoryListener& listener_;
  const int xcds_;
  // A run's lines and copies are freed together.
  std::array<std::byte, 4096> first_room_;
  std::pmr::monotonic_buffer_resource room_{first_room_.data(), first_room_.size()};
  std::pmr::unordered_map<std::uintptr_t, CacheLine> lines_{&room_};
  CacheLine* last_ = nullptr;
  std::vector<L2> l2s_;
  std::vector<std::uint32_t> l1_epochs_;
};

}  // namespace tally::kernels::emulator
