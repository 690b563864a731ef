#pragma once

// A small program whose threads' steps a test runs in the order in which it writes them down.

#include <cstring>
#include <vector>

#include "kernels/emulator/happens_before.h"

namespace tally::kernels::emulator {

/// Two ranks of two blocks of four threads, two of which are a wave. Memory is strong unless a
/// store is said to be under way.
class OrderProgram {
 public:
  using Site = std::source_location;
  static constexpr int kRanks = 2, kBlocks = 2, kThreads = 4, kWave = 2;
  static constexpr int kSlots = kRanks * kBlocks * kThreads;

  class Thread {
   public:
    Thread(OrderProgram& program, const Place& at) : place(at), program_(program) {}

    void load(const void* address, std::uint32_t bytes, Order order = Order::plain,
              Scope scope = Scope::system, Site site = Site::current()) {
      std::uint64_t value[2];
      std::memcpy(value, address, bytes);
      load_value(address, bytes, value, order, scope, site);
    }
    /// A load to which memory gave something else than is there.
    void load_value(const void* address, std::uint32_t bytes, const void* value,
                    Order order = Order::plain, Scope scope = Scope::system,
                    Site site = Site::current()) {
      program_.order.load(place, {address, bytes, AccessKind::load, order, scope, site}, value);
    }
    void store(void* address, std::uint32_t bytes, Order order = Order::plain,
               Scope scope = Scope::system, Site site = Site::current()) {
      program_.order.performed(issue(address, bytes, order, scope, site));
    }
    /// A store that is under way: performed when the test says so.
    StoreToken issue(void* address, std::uint32_t bytes, Order order = Order::plain,
                     Scope scope = Scope::system, Site site = Site::current()) {
      std::uint64_t value[2] = {++program_.stores_, program_.stores_};
      std::memcpy(address, value, bytes);
      return program_.order.store(place, {address, bytes, AccessKind::store, order, scope, site},
                                  value);
    }
    void update(void* address, std::uint32_t bytes, Order order, Scope scope = Scope::system,
                Site site = Site::current()) {
      const std::uint64_t after = ++program_.stores_;
      std::memcpy(address, &after, bytes);
      program_.order.update(place, {address, bytes, AccessKind::update, order, scope, site}, after);
    }
    void fence(Order order, Scope scope = Scope::system) {
      program_.order.fence(place, order, scope);
    }

    const Place place;

   private:
    OrderProgram& program_;
  };

  OrderProgram() {
    order.resize(kSlots);
    for (int slot = 0; slot < kSlots; ++slot) {
      const int block = slot / kThreads, thread = slot % kThreads;
      const ThreadId id{block / kBlocks, block % kBlocks, thread};
      threads_.emplace_back(*this, Place{slot, id, block, slot / kWave});
      order.kernel_begins({&threads_.back().place, 1}, {});
    }
  }

  Thread& thread(int rank, int block = 0, int thread = 0) {
    return threads_[(rank * kBlocks + block) * kThreads + thread];
  }
  Thread& slot(int slot) { return threads_[slot]; }
  void barrier(int rank, int block = 0) {
    std::vector<int> slots;
    for (int i = 0; i < kThreads; ++i) slots.push_back(thread(rank, block, i).place.slot);
    order.block_barrier(slots);
  }
  std::vector<Place> places(int rank) {
    std::vector<Place> places;
    for (const Thread& one : threads_) {
      if (one.place.id.rank == rank) places.push_back(one.place);
    }
    return places;
  }
  /// What is wrong with the program so far, in the order in which it was found.
  std::vector<Race::Kind> kinds() const {
    std::vector<Race::Kind> kinds;
    for (const Race& race : order.races()) kinds.push_back(race.kind);
    return kinds;
  }

  Memory memory{kRanks, 1 << 13};
  std::byte* const data = memory.allocate(0, "data", 256, std::byte{0}).first;
  std::byte* const flags = memory.allocate(1, "flags", 256, std::byte{0}).first;
  HappensBefore order{memory};

 private:
  std::vector<Thread> threads_;
  std::uint64_t stores_ = 0;
};

}  // namespace tally::kernels::emulator
