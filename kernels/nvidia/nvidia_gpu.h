#pragma once

// The Gpu (see kernels/gpu.h for the contract) of NVIDIA's sm_90. Order and scope of an access are
// explained in the PTX ISA, section 8 (memory consistency model).

#include "kernels/element.h"
#include "kernels/gpu.h"
#include "kernels/nvidia/hip_on_cuda.h"
#include "kernels/nvidia/ptx.h"

namespace tally::kernels {

/// Software, but for the two saturating conversions that sm_90 has and the decoding of both.
template <model::Format F, model::Beyond beyond>
struct NvidiaConvert : SoftwareConvert<F, beyond> {};

TALLY_DEVICE void halves_to_floats(std::uint32_t low, std::uint32_t high, float (&x)[4]) {
  x[0] = ptx::cvt_f32_f16(static_cast<std::uint16_t>(low));
  x[1] = ptx::cvt_f32_f16(static_cast<std::uint16_t>(low >> 16));
  x[2] = ptx::cvt_f32_f16(static_cast<std::uint16_t>(high));
  x[3] = ptx::cvt_f32_f16(static_cast<std::uint16_t>(high >> 16));
}

template <model::Beyond beyond>
struct NvidiaConvert<model::Format::e4m3fn, beyond> {
  TALLY_DEVICE static std::uint32_t encode4(const float (&x)[4]) {
    if constexpr (beyond == model::Beyond::max_finite) {
      return ptx::cvt_e4m3x2(x[1], x[0]) | ptx::cvt_e4m3x2(x[3], x[2]) << 16;
    } else {
      return SoftwareConvert<model::Format::e4m3fn, beyond>::encode4(x);
    }
  }
  TALLY_DEVICE static void decode4(std::uint32_t codes, float (&x)[4]) {
    halves_to_floats(ptx::cvt_f16x2_e4m3x2(static_cast<std::uint16_t>(codes)),
                     ptx::cvt_f16x2_e4m3x2(static_cast<std::uint16_t>(codes >> 16)), x);
  }
};

template <model::Beyond beyond>
struct NvidiaConvert<model::Format::e5m2, beyond> {
  TALLY_DEVICE static std::uint32_t encode4(const float (&x)[4]) {
    if constexpr (beyond == model::Beyond::max_finite) {
      return ptx::cvt_e5m2x2(x[1], x[0]) | ptx::cvt_e5m2x2(x[3], x[2]) << 16;
    } else {
      return SoftwareConvert<model::Format::e5m2, beyond>::encode4(x);
    }
  }
  TALLY_DEVICE static void decode4(std::uint32_t codes, float (&x)[4]) {
    halves_to_floats(ptx::cvt_f16x2_e5m2x2(static_cast<std::uint16_t>(codes)),
                     ptx::cvt_f16x2_e5m2x2(static_cast<std::uint16_t>(codes >> 16)), x);
  }
};

template <model::Format F>
struct NvidiaNarrow;

template <>
struct NvidiaNarrow<model::Format::f16> {
  TALLY_DEVICE static std::uint16_t encode(float x) { return ptx::cvt_f16(x); }
  TALLY_DEVICE static float decode(std::uint16_t code) { return ptx::cvt_f32_f16(code); }
};

template <>
struct NvidiaNarrow<model::Format::bf16> {
  TALLY_DEVICE static std::uint16_t encode(float x) { return ptx::cvt_bf16(x); }
  TALLY_DEVICE static float decode(std::uint16_t code) {
    return float_of(static_cast<std::uint32_t>(code) << 16);
  }
};

class NvidiaGpu {
 public:
  template <model::Format F, model::Beyond beyond>
  using Convert = NvidiaConvert<F, beyond>;
  static constexpr int kWave = 32;
  // PTX ISA, memory consistency model: barriers are part of causality order, and release patterns
  // are cumulative. NCCL rests on the same: postPeer in src/device/prims_simple.h.
  static constexpr bool kReleaseCoversBlock = true;
  static constexpr int kElementsAtOnce = 16;
  template <model::Format F>
  using Narrow = NvidiaNarrow<F>;

  TALLY_DEVICE NvidiaGpu() : block_(blockIdx.x), blocks_(gridDim.x) {}
  /// Block `block` of `blocks`, where several ranks share one grid.
  TALLY_DEVICE NvidiaGpu(int block, int blocks) : block_(block), blocks_(blocks) {}

  TALLY_DEVICE int thread() const { return threadIdx.x; }
  TALLY_DEVICE int threads() const { return blockDim.x; }
  TALLY_DEVICE int block() const { return block_; }
  TALLY_DEVICE int blocks() const { return blocks_; }
  TALLY_DEVICE static int wave() { return kWave; }

  TALLY_DEVICE void block_barrier() { __syncthreads(); }

  /// shfl.sync.idx.b32 and shfl.sync.bfly.b32; the mask names the group alone, since other groups
  /// of the warp may be elsewhere.
  TALLY_DEVICE std::uint32_t shuffle(std::uint32_t value, int source, int width) {
    return __shfl_sync(group_mask(width), value, source, width);
  }
  TALLY_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int mask, int width) {
    return __shfl_xor_sync(group_mask(width), value, mask, width);
  }

  template <class T>
  TALLY_DEVICE T load(const T* p) {
    if constexpr (sizeof(T) == sizeof(Word)) {
      return __builtin_bit_cast(T, ptx::load_word(p));
    } else {
      return *p;
    }
  }
  template <class T>
  TALLY_DEVICE void store(T* p, T value) {
    if constexpr (sizeof(T) == sizeof(Word)) {
      ptx::store_word(p, __builtin_bit_cast(Word, value));
    } else {
      *p = value;
    }
  }

  TALLY_DEVICE void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    ptx::store_release_sys(flag, value);
  }
  template <class Predicate>
  TALLY_DEVICE bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    const std::uint64_t start = ptx::clock();
    while (!predicate(ptx::load_acquire_sys(flag))) {
      if (ptx::clock() - start > kWaitLimitCycles) return false;
    }
    return true;
  }

  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    ptx::store_relaxed_sys(packet, value);
  }
  template <class Predicate, int n>
  TALLY_DEVICE bool wait_packets(const std::uint64_t* first, std::int64_t stride,
                                 Predicate predicate, std::uint64_t (&seen)[n], Relaxed, System) {
    const std::uint64_t start = ptx::clock();
    for (;;) {
      bool hold = true;
      for (int i = 0; i < n; ++i) {
        seen[i] = ptx::load_relaxed_sys(first + i * stride);
      }
      for (int i = 0; i < n; ++i) hold = hold && predicate(seen[i]);
      if (hold) return true;
      if (ptx::clock() - start > kWaitLimitCycles) return false;
    }
  }

 private:
  // At 2 GHz, which is a little more than these GPUs run at.
  static constexpr std::uint64_t kWaitLimitCycles = 2 * kWaitLimitNanoseconds;

  /// The lanes of this thread's group of `width`. A block is one-dimensional: its threads' lanes
  /// are their numbers modulo the warp's size.
  TALLY_DEVICE std::uint32_t group_mask(int width) const {
    const int first = thread() & (wave() - 1) & ~(width - 1);
    return (0xFFFF'FFFFu >> (wave() - width)) << first;
  }

  int block_, blocks_;
};

}  // namespace tally::kernels
