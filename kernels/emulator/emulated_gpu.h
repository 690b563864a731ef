#pragma once

// The emulator's Gpu (see kernels/gpu.h for the contract).

#include "kernels/element.h"
#include "kernels/emulator/emulator.h"

namespace tally::kernels::emulator {

class EmulatedGpu {
 public:
  template <model::Format F, model::Beyond beyond>
  using Convert = SoftwareConvert<F, beyond>;
  template <model::Format F>
  using Narrow = SoftwareNarrow<F>;

  EmulatedGpu(Emulator& emulator, Emulator::Thread& self, ThreadId id, const Geometry& geometry)
      : emulator_(emulator), self_(self), id_(id), geometry_(geometry) {}

  int thread() const { return id_.thread; }
  int threads() const { return geometry_.threads; }
  int block() const { return id_.block; }
  int blocks() const { return geometry_.blocks; }
  int wave() const { return geometry_.wave; }

  void block_barrier() { emulator_.block_barrier(self_); }

  std::uint32_t shuffle(std::uint32_t value, int source, int width) {
    const int first = id_.thread / width * width;
    return emulator_.shuffle(self_, value, first + source, width);
  }
  std::uint32_t shuffle_xor(std::uint32_t value, int mask, int width) {
    return emulator_.shuffle(self_, value, id_.thread ^ mask, width);
  }

  template <class T>
  T load(const T* address) {
    T value;
    emulator_.read(self_, address, &value, sizeof(T));
    return value;
  }
  template <class T>
  void store(T* address, T value) {
    emulator_.write(self_, address, &value, sizeof(T));
  }

  // Sequentially consistent memory needs no fence.
  void fence(Release, System) {}
  void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    emulator_.store_flag(self_, flag, value);
  }
  template <class Predicate>
  bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    return emulator_.wait(self_, flag, predicate.target, predicate);
  }

 private:
  Emulator& emulator_;
  Emulator::Thread& self_;
  const ThreadId id_;
  const Geometry geometry_;
};

}  // namespace tally::kernels::emulator
