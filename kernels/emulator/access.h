#pragma once

// One access to the virtual GPUs' memory, and who makes it.

#include <cstdint>
#include <source_location>

namespace tally::kernels::emulator {

/// How an access or a fence is ordered, as in LLVM's atomic orderings. The first two are no
/// atomics; a nontemporal load passes by the L1.
enum class Order : std::uint8_t { plain, nontemporal, relaxed, acquire, release, acq_rel, seq_cst };
/// LLVM AMDGPU sync scopes: which threads an atomic or a fence is meant for.
enum class Scope : std::uint8_t { wavefront, workgroup, agent, system };
enum class AccessKind : std::uint8_t { load, store, update };  // update: read-modify-write

constexpr bool is_atomic(Order order) { return order >= Order::relaxed; }
constexpr bool acquires(Order order) {
  return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst;
}
constexpr bool releases(Order order) {
  return order == Order::release || order == Order::acq_rel || order == Order::seq_cst;
}

/// bytes is 1, 2, 4, 8 or 16; an atomic's is 1, 2, 4 or 8 (16 where a GPU has that), and divides
/// its address. The scope of what is no atomic means nothing.
struct Access {
  const void* address;
  std::uint32_t bytes;
  AccessKind kind;
  Order order = Order::plain;
  Scope scope = Scope::wavefront;
  std::source_location site = {};  // the line of the kernel
  bool writes() const { return kind != AccessKind::load; }
};

/// Who a thread is.
struct ThreadId {
  int rank = 0, block = 0, thread = 0;
};

/// Where a thread runs. A slot is a thread's number among all that can exist at a time: the threads
/// of one stream's launches have the same slots, one launch after the other.
struct Place {
  int slot = 0;
  ThreadId id;
  int workgroup = 0;  // a number of its own for each block that can exist at a time
  int wave = 0;       // likewise for each wave
};

/// The threads that an atomic of `scope` by `a` is meant for include `b`: LLVM's User Guide for
/// AMDGPU Backend, Memory Scopes. An agent is a GPU, and so a rank.
constexpr bool includes(Scope scope, const Place& a, const Place& b) {
  switch (scope) {
    case Scope::wavefront:
      return a.wave == b.wave;
    case Scope::workgroup:
      return a.workgroup == b.workgroup;
    case Scope::agent:
      return a.id.rank == b.id.rank;
    case Scope::system:
      return true;
  }
  return false;
}

}  // namespace tally::kernels::emulator
