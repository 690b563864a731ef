#pragma once

// The emulator's Gpu (see kernels/gpu.h for the contract). Beyond the contract it takes every order
// and scope, and has the accesses that litmus tests and planted faults are made of.

#include <cstring>

#include "kernels/element.h"
#include "kernels/emulator/emulator.h"
#include "kernels/weaker_orders.h"

namespace tally::kernels::emulator {

constexpr Order order_of(Plain) { return Order::plain; }
constexpr Order order_of(Relaxed) { return Order::relaxed; }
constexpr Order order_of(Acquire) { return Order::acquire; }
constexpr Order order_of(Release) { return Order::release; }
constexpr Scope scope_of(Agent) { return Scope::agent; }
constexpr Scope scope_of(System) { return Scope::system; }

class EmulatedGpu {
  using Line = std::source_location;

 public:
  template <model::Format F, model::Beyond beyond>
  using Convert = SoftwareConvert<F, beyond>;
  template <model::Format F>
  using Narrow = SoftwareNarrow<F>;

  static constexpr bool kReleaseCoversBlock = false;
  static constexpr int kElementsAtOnce = 16;

  EmulatedGpu(Emulator::State& emulator, Emulator::Thread& self, ThreadId id,
              const Geometry& geometry)
      : emulator_(emulator), self_(self), id_(id), geometry_(geometry) {}

  int thread() const { return id_.thread; }
  int threads() const { return geometry_.threads; }
  int block() const { return id_.block; }
  int blocks() const { return geometry_.blocks; }
  int wave() const { return geometry_.wave; }

  void block_barrier(Line line = Line::current());

  std::uint32_t shuffle(std::uint32_t value, int source, int width) {
    const int first = id_.thread / width * width;
    return shuffle_from(value, first + source, width);
  }
  std::uint32_t shuffle_xor(std::uint32_t value, int mask, int width) {
    return shuffle_from(value, id_.thread ^ mask, width);
  }

  template <class T>
  T load(const T* address, Line line = Line::current()) {
    T value;
    load_bytes({address, sizeof(T), AccessKind::load, Order::plain, Scope::wavefront, line},
               &value);
    return value;
  }
  template <class T>
  void store(T* address, T value, Line line = Line::current()) {
    store_bytes({address, sizeof(T), AccessKind::store, Order::plain, Scope::wavefront, line},
                &value);
  }

  template <class O, class S>
  void fence(O order, S scope, Line line = Line::current()) {
    fence_of(order_of(order), scope_of(scope), line);
  }
  template <class O, class S>
  void store_flag(std::uint32_t* flag, std::uint32_t value, O order, S scope,
                  Line line = Line::current()) {
    store_ordered({flag, sizeof value, AccessKind::store, order_of(order), scope_of(scope), line},
                  &value);
  }
  template <class Predicate, class O, class S>
  bool wait(const std::uint32_t* flag, Predicate predicate, O order, S scope,
            Line line = Line::current()) {
    std::uint32_t seen;
    return wait_until({flag, sizeof seen, AccessKind::load, order_of(order), scope_of(scope), line},
                      predicate.target, predicate, seen);
  }
  template <class O, class S>
  void store_packet(std::uint64_t* packet, std::uint64_t value, O order, S scope,
                    Line line = Line::current()) {
    store_ordered({packet, sizeof value, AccessKind::store, order_of(order), scope_of(scope), line},
                  &value);
  }
  template <class Predicate, class O, class S>
  bool wait_packet(const std::uint64_t* packet, Predicate predicate, std::uint64_t& seen, O order,
                   S scope, Line line = Line::current()) {
    return wait_until(
        {packet, sizeof seen, AccessKind::load, order_of(order), scope_of(scope), line},
        predicate.target, predicate, seen);
  }

  template <class Predicate, int n, class O, class S>
  bool wait_packets(const std::uint64_t* first, std::int64_t stride, Predicate predicate,
                    std::uint64_t (&seen)[n], O order, S scope, Line line = Line::current()) {
    for (int i = 0; i < n; ++i) {
      if (!wait_packet(first + i * stride, predicate, seen[i], order, scope, line)) return false;
    }
    return true;
  }

  /// Returns what was there before.
  template <class O, class S>
  std::uint32_t fetch_add(std::uint32_t* address, std::uint32_t more, O order, S scope,
                          Line line = Line::current()) {
    return static_cast<std::uint32_t>(
        update({address, sizeof more, AccessKind::update, order_of(order), scope_of(scope), line},
               [more](std::uint64_t value) { return value + more; }));
  }

 private:
  template <class T, class Predicate>
  bool wait_until(const Access& access, std::uint64_t target, Predicate predicate, T& seen) {
    const auto holds = [&](const void* bytes) {
      T value;
      std::memcpy(&value, bytes, sizeof value);
      return predicate(value);
    };
    return wait_bytes(access, target, holds, &seen);
  }

  void load_bytes(const Access& access, void* value);
  void store_bytes(const Access& access, const void* value);
  void store_ordered(const Access& access, const void* value);
  std::uint64_t update(const Access& access,
                       const std::function<std::uint64_t(std::uint64_t)>& change);
  bool wait_bytes(const Access& access, std::uint64_t target,
                  const std::function<bool(const void*)>& holds, void* seen);
  void fence_of(Order order, Scope scope, const Line& line);
  std::uint32_t shuffle_from(std::uint32_t value, int source, int width);

  Emulator::State& emulator_;
  Emulator::Thread& self_;
  const ThreadId id_;
  const Geometry geometry_;
};

}  // namespace tally::kernels::emulator
