#pragma once

// The Gpu (see kernels/gpu.h for the contract) of AMD's gfx942 (MI300X), and of gfx950 (MI350),
// which differs in the formats of its conversions. What an atomic access or a
// fence becomes is in LLVM's "User Guide for AMDGPU Backend", Memory Model GFX942; what the scope
// bits sc0 and sc1 do is in AMD's CDNA3 ISA, tables 48 to 51. Instructions are named as in its
// chapter 12.

#include <hip/hip_runtime.h>

#include "kernels/element.h"
#include "kernels/gpu.h"

namespace tally::kernels {

// Known to be in global memory, so that an access waits for no counter of shared memory.
template <class T>
using GlobalPointer = __attribute__((address_space(1))) T*;

/// What V_CVT_PK_* is given. It rounds to nearest even, keeps subnormals and gives NaN for what is
/// beyond the largest finite value, since MODE.FP16_OVFL is 0 in our kernels; to saturate, the
/// value is limited before. V_MED3_F32 would lose NaN, so NaN goes around it.
template <model::Format F, model::Beyond beyond>
TALLY_DEVICE float limited(float x) {
  if constexpr (beyond == model::Beyond::max_finite) {
    constexpr float kMax = static_cast<float>(model::format(F).max_finite());
    return x != x ? x : __builtin_amdgcn_fmed3f(x, -kMax, kMax);
  } else {
    return x;
  }
}

/// What the instructions named FP8 and BF8 convert to: OCP's formats in the CDNA4 ISA, those
/// without a negative zero in CDNA3's.
#if defined(__gfx950__)
inline constexpr model::Format kFp8 = model::Format::e4m3fn, kBf8 = model::Format::e5m2;
#else
inline constexpr model::Format kFp8 = model::Format::e4m3fnuz, kBf8 = model::Format::e5m2fnuz;
#endif

/// Software, but for the two formats that the hardware has.
template <model::Format F, model::Beyond beyond>
struct AmdConvert : SoftwareConvert<F, beyond> {};

using FloatPair = float __attribute__((ext_vector_type(2)));

/// V_CVT_PK_FP8_F32 and V_CVT_PK_F32_FP8, half a word each.
template <model::Beyond beyond>
struct AmdConvert<kFp8, beyond> {
  TALLY_DEVICE static std::uint32_t encode4(const float (&x)[4]) {
    float y[4];
    for (int i = 0; i < 4; ++i) y[i] = limited<kFp8, beyond>(x[i]);
    const int low = __builtin_amdgcn_cvt_pk_fp8_f32(y[0], y[1], 0, false);
    return __builtin_amdgcn_cvt_pk_fp8_f32(y[2], y[3], low, true);
  }
  TALLY_DEVICE static void decode4(std::uint32_t codes, float (&x)[4]) {
    const FloatPair low = __builtin_amdgcn_cvt_pk_f32_fp8(codes, false);
    const FloatPair high = __builtin_amdgcn_cvt_pk_f32_fp8(codes, true);
    x[0] = low[0], x[1] = low[1], x[2] = high[0], x[3] = high[1];
  }
};

/// V_CVT_PK_BF8_F32 and V_CVT_PK_F32_BF8.
template <model::Beyond beyond>
struct AmdConvert<kBf8, beyond> {
  TALLY_DEVICE static std::uint32_t encode4(const float (&x)[4]) {
    float y[4];
    for (int i = 0; i < 4; ++i) y[i] = limited<kBf8, beyond>(x[i]);
    const int low = __builtin_amdgcn_cvt_pk_bf8_f32(y[0], y[1], 0, false);
    return __builtin_amdgcn_cvt_pk_bf8_f32(y[2], y[3], low, true);
  }
  TALLY_DEVICE static void decode4(std::uint32_t codes, float (&x)[4]) {
    const FloatPair low = __builtin_amdgcn_cvt_pk_f32_bf8(codes, false);
    const FloatPair high = __builtin_amdgcn_cvt_pk_f32_bf8(codes, true);
    x[0] = low[0], x[1] = low[1], x[2] = high[0], x[3] = high[1];
  }
};

/// bf16 in software, since gfx942 has no conversion to it.
template <model::Format F>
struct AmdNarrow : SoftwareNarrow<F> {};

/// V_CVT_F16_F32 and V_CVT_F32_F16: nearest-even, subnormals kept, both as MODE has it. The empty
/// asm hides from clang 19 what made x: it would join a product with its conversion, into a
/// V_FMA_MIXLO_F16 that adds +0, and lose the sign of -0.
template <>
struct AmdNarrow<model::Format::f16> {
  TALLY_DEVICE static std::uint16_t encode(float x) {
    asm("" : "+v"(x));
    return __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(x));
  }
  TALLY_DEVICE static float decode(std::uint16_t code) {
    return static_cast<float>(__builtin_bit_cast(_Float16, code));
  }
};

class AmdGpu {
 public:
  static constexpr int kWave = 64;
  // Not before LLVM pull request 178316: the wave that signals may not wait for a write-back of
  // other waves' stores.
  static constexpr bool kReleaseCoversBlock = false;
  static constexpr int kElementsAtOnce = 16;
  template <model::Format F, model::Beyond beyond>
  using Convert = AmdConvert<F, beyond>;
  template <model::Format F>
  using Narrow = AmdNarrow<F>;

  TALLY_DEVICE AmdGpu()
      : block_(__builtin_amdgcn_workgroup_id_x()),
        blocks_(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()) {}
  /// Block `block` of `blocks`, where several ranks share one grid.
  TALLY_DEVICE AmdGpu(int block, int blocks) : block_(block), blocks_(blocks) {}

  TALLY_DEVICE int thread() const { return __builtin_amdgcn_workitem_id_x(); }
  TALLY_DEVICE int threads() const { return __builtin_amdgcn_workgroup_size_x(); }
  TALLY_DEVICE int block() const { return block_; }
  TALLY_DEVICE int blocks() const { return blocks_; }
  TALLY_DEVICE static int wave() { return kWave; }

  /// What __syncthreads is: S_BARRIER between fences of the work-group, which cost nothing
  /// here, since one L1 serves the whole group in order.
  TALLY_DEVICE void block_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }

  /// DS_BPERMUTE_B32, which goes through no memory. A block is one-dimensional: its threads' lanes
  /// are their numbers modulo the wave's size.
  TALLY_DEVICE std::uint32_t shuffle(std::uint32_t value, int source, int width) {
    return from_lane((lane() & ~(width - 1)) + source, value);
  }
  TALLY_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int mask, int) {
    return from_lane(lane() ^ mask, value);
  }

  /// GLOBAL_LOAD_*: a 16-byte type, as a vector, is one GLOBAL_LOAD_DWORDX4.
  template <class T>
  TALLY_DEVICE T load(const T* p) {
    if constexpr (sizeof(T) == sizeof(Word)) {
      static_assert(alignof(T) == alignof(Word));
      return __builtin_bit_cast(T, *(GlobalPointer<const Four>)(p));
    } else {
      return *(GlobalPointer<const T>)(p);
    }
  }
  /// GLOBAL_STORE_*: a 16-byte type is one GLOBAL_STORE_DWORDX4.
  template <class T>
  TALLY_DEVICE void store(T* p, T value) {
    if constexpr (sizeof(T) == sizeof(Word)) {
      static_assert(alignof(T) == alignof(Word));
      *(GlobalPointer<Four>)(p) = __builtin_bit_cast(Four, value);
    } else {
      *(GlobalPointer<T>)(p) = value;
    }
  }

  /// BUFFER_WBL2 sc0 sc1, S_WAITCNT vmcnt(0).
  TALLY_DEVICE void fence(Release, System) { __builtin_amdgcn_fence(__ATOMIC_RELEASE, ""); }

  /// BUFFER_WBL2 sc0 sc1, S_WAITCNT vmcnt(0), GLOBAL_STORE_DWORD sc0 sc1.
  TALLY_DEVICE void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    __hip_atomic_store((GlobalPointer<std::uint32_t>)(flag), value, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_SYSTEM);
  }

  /// Each look is GLOBAL_LOAD_DWORD sc0 sc1, S_WAITCNT vmcnt(0), BUFFER_INV sc0 sc1. The time is
  /// S_MEMREALTIME's.
  template <class Predicate>
  TALLY_DEVICE bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    const std::uint64_t start = __builtin_amdgcn_s_memrealtime();
    while (!predicate(__hip_atomic_load((GlobalPointer<const std::uint32_t>)(flag),
                                        __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM))) {
      if (__builtin_amdgcn_s_memrealtime() - start > kWaitLimitTicks) return false;
    }
    return true;
  }

  /// GLOBAL_STORE_DWORDX2 sc0 sc1.
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    __hip_atomic_store((GlobalPointer<std::uint64_t>)(packet), value, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_SYSTEM);
  }

  /// Each look is GLOBAL_LOAD_DWORDX2 sc0 sc1, S_WAITCNT vmcnt(0).
  template <class Predicate, int n>
  TALLY_DEVICE bool wait_packets(const std::uint64_t* first, std::int64_t stride,
                                 Predicate predicate, std::uint64_t (&seen)[n], Relaxed, System) {
    const std::uint64_t start = __builtin_amdgcn_s_memrealtime();
    for (;;) {
      bool hold = true;
      for (int i = 0; i < n; ++i) {
        seen[i] = __hip_atomic_load((GlobalPointer<const std::uint64_t>)(first + i * stride),
                                    __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
      }
      for (int i = 0; i < n; ++i) hold = hold && predicate(seen[i]);
      if (hold) return true;
      if (__builtin_amdgcn_s_memrealtime() - start > kWaitLimitTicks) return false;
    }
  }

 private:
  using Four = std::uint32_t __attribute__((ext_vector_type(4)));

  // gfx942's real-time counter runs at 100 MHz.
  static constexpr std::uint64_t kNanosecondsPerTick = 10;
  static constexpr std::uint64_t kWaitLimitTicks = kWaitLimitNanoseconds / kNanosecondsPerTick;

  TALLY_DEVICE int lane() const { return thread() & (wave() - 1); }
  TALLY_DEVICE static std::uint32_t from_lane(int lane, std::uint32_t value) {
    return __builtin_amdgcn_ds_bpermute(4 * lane, static_cast<int>(value));
  }

  int block_, blocks_;
};

}  // namespace tally::kernels
