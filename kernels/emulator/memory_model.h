#pragma once

// What stands between the threads and the bytes of Memory: nothing, or caches. A model is told of
// every access in the order in which the scheduler runs the threads, and decides when a store can
// be seen by whom, and how old what a load sees may be.

#include <functional>
#include <memory>

#include "kernels/emulator/access.h"
#include "kernels/emulator/choices.h"
#include "kernels/emulator/memory.h"

namespace tally::kernels::emulator {

/// What a store is known by until it is performed; 0 where nobody wants to know.
using StoreToken = std::uint32_t;
/// A load that was issued and has no value yet.
using LoadTicket = std::uint32_t;

/// Told when something can be seen anew.
class MemoryListener {
 public:
  virtual ~MemoryListener() = default;
  /// A store reached a place where threads other than its own see it: its XCD's L2, and again, with
  /// token 0, when it reaches home memory from there.
  virtual void performed(const void* address, std::size_t bytes, StoreToken token) = 0;
};

class MemoryModel {
 public:
  virtual ~MemoryModel() = default;

  /// The value is complete when this returns: as if the thread needed it at once.
  virtual void load(const Place& who, const Access& access, void* value) = 0;
  virtual void store(const Place& who, const Access& access, const void* value,
                     StoreToken token) = 0;
  /// Returns what was there; `change` of it is there afterwards. 4 or 8 bytes.
  virtual std::uint64_t update(const Place& who, const Access& access,
                               const std::function<std::uint64_t(std::uint64_t)>& change) = 0;
  virtual void fence(const Place& who, Order order, Scope scope) = 0;

  /// A load in flight, as litmus tests need it: bind() gives the value, then or whenever it was
  /// bound before. A release of the thread, or the end of its kernel, binds it.
  virtual LoadTicket issue_load(const Place& who, const Access& access) = 0;
  virtual void bind(LoadTicket ticket, void* value) = 0;

  /// All threads of a launch are about to begin, or have returned.
  virtual void kernel_begins(int rank, std::span<const Place> threads) = 0;
  virtual void kernel_ends(int rank, std::span<const Place> threads) = 0;
  /// What the runtime does around a copy, an event and the host's waiting: a release and an acquire
  /// of system scope by all of a rank's GPU. Its caches are written back and forget.
  virtual void synchronise(int rank) = 0;

  /// Called before every access, so that things go on meanwhile.
  virtual void breathe() = 0;
  /// Nobody can go on: performs what needs nobody's help to be performed. Whether that was
  /// anything.
  virtual bool settle() = 0;
};

/// Sequentially consistent: every access is performed at once.
std::unique_ptr<MemoryModel> strong_memory(MemoryListener& listener);

}  // namespace tally::kernels::emulator
