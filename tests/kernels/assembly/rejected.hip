// Kernels with one wrong instruction each: the rules for gfx942 must reject them. Each is a Gpu
// that differs from AmdGpu in one function, or an element with another addition.

#include "kernels/amd/amd_gpu.h"
#include "kernels/launch.cuh"

namespace tally::kernels {

// 4 bytes at a time: what stands between the loads keeps the compiler from joining them.
struct NarrowLoads : AmdGpu {
  template <class T>
  TALLY_DEVICE T load(const T* p) {
    if constexpr (std::is_same_v<T, Word>) {
      Word word;
      for (int i = 0; i < 4; ++i) {
        word.part[i] = AmdGpu::load(p->part + i);
        asm volatile("" : : : "memory");
      }
      return word;
    } else {
      return AmdGpu::load(p);
    }
  }
};

struct HalfLoads : AmdGpu {
  template <class T>
  TALLY_DEVICE T load(const T* p) {
    if constexpr (std::is_same_v<T, Word>) {
      const auto* halves = reinterpret_cast<const std::uint64_t*>(p);
      std::uint64_t both[2] = {AmdGpu::load(halves), 0};
      asm volatile("" : : : "memory");
      both[1] = AmdGpu::load(halves + 1);
      return __builtin_bit_cast(Word, both);
    } else {
      return AmdGpu::load(p);
    }
  }
};

struct NarrowStores : AmdGpu {
  template <class T>
  TALLY_DEVICE void store(T* p, T value) {
    if constexpr (std::is_same_v<T, Word>) {
      for (int i = 0; i < 4; ++i) {
        AmdGpu::store(p->part + i, value.part[i]);
        asm volatile("" : : : "memory");
      }
    } else {
      AmdGpu::store(p, value);
    }
  }
};

struct NoFence : AmdGpu {
  TALLY_DEVICE void fence(Release, System) {}
};

struct AgentFence : AmdGpu {
  TALLY_DEVICE void fence(Release, System) { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); }
};

struct RelaxedFlag : AmdGpu {
  TALLY_DEVICE void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    __hip_atomic_store((GlobalPointer<std::uint32_t>)(flag), value, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_SYSTEM);
  }
};

struct AgentFlag : AmdGpu {
  TALLY_DEVICE void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    __hip_atomic_store((GlobalPointer<std::uint32_t>)(flag), value, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_AGENT);
  }
};

// Waits until one look at the flag, given the order and scope, satisfies the predicate.
template <int order, int scope>
struct OtherWait : AmdGpu {
  template <class Predicate>
  TALLY_DEVICE bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    while (
        !predicate(__hip_atomic_load((GlobalPointer<const std::uint32_t>)(flag), order, scope))) {
    }
    return true;
  }
};
struct MissingAcquire : OtherWait<__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM> {};
struct AgentAcquire : OtherWait<__ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT> {};

// A packet whose data and flag may be seen apart, or by nobody else.
struct NarrowPackets : AmdGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    auto* halves = (GlobalPointer<std::uint32_t>)(packet);
    for (int i = 0; i < 2; ++i) {
      __hip_atomic_store(halves + i, static_cast<std::uint32_t>(value >> (32 * i)),
                         __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    }
  }
};

struct NarrowPacketLoads : AmdGpu {
  template <class Predicate, int n>
  TALLY_DEVICE bool wait_packets(const std::uint64_t* first, std::int64_t stride,
                                 Predicate predicate, std::uint64_t (&seen)[n], Relaxed, System) {
    for (int i = 0; i < n; ++i) {
      const auto* halves = (GlobalPointer<const std::uint32_t>)(first + i * stride);
      do {
        const std::uint64_t low =
            __hip_atomic_load(halves, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        const std::uint64_t high =
            __hip_atomic_load(halves + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        seen[i] = high << 32 | low;
      } while (!predicate(seen[i]));
    }
    return true;
  }
};

template <int order, int scope>
struct OtherPackets : AmdGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    __hip_atomic_store((GlobalPointer<std::uint64_t>)(packet), value, order, scope);
  }
};
struct AgentPackets : OtherPackets<__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT> {};
struct ReleasedPackets : OtherPackets<__ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM> {};

struct PlainPackets : AmdGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    store(packet, value);
  }
};

struct AcquiredPackets : AmdGpu {
  template <class Predicate, int n>
  TALLY_DEVICE bool wait_packets(const std::uint64_t* first, std::int64_t stride,
                                 Predicate predicate, std::uint64_t (&seen)[n], Relaxed, System) {
    for (int i = 0; i < n; ++i) {
      do {
        seen[i] = __hip_atomic_load((GlobalPointer<const std::uint64_t>)(first + i * stride),
                                    __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
      } while (!predicate(seen[i]));
    }
    return true;
  }
};

struct BarrierBeforePackets : AmdGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    block_barrier();
    AmdGpu::store_packet(packet, value, Relaxed{}, System{});
  }
};

// All threads of a wave load the first one's word: through the scalar cache, once the compiler is
// told that nothing changes it.
struct ScalarLoads : AmdGpu {
  using Four = std::uint32_t __attribute__((ext_vector_type(4)));
  template <class T>
  TALLY_DEVICE T load(const T* p) {
    if constexpr (std::is_same_v<T, Word>) {
      const auto address = reinterpret_cast<std::uintptr_t>(p);
      const std::uintptr_t low = __builtin_amdgcn_readfirstlane(static_cast<int>(address));
      const std::uintptr_t high = __builtin_amdgcn_readfirstlane(static_cast<int>(address >> 32));
      const std::uintptr_t uniform = high << 32 | (low & 0xFFFF'FFFF);
      const auto* constant = (__attribute__((address_space(4))) const Four*)(uniform);
      return __builtin_bit_cast(T, *constant);
    } else {
      return AmdGpu::load(p);
    }
  }
};

// The hardware's format where another is due.
struct HardwareWhereSoftwareIsDue : AmdGpu {
  template <model::Format F, model::Beyond beyond>
  using Convert = AmdConvert<model::Format::e4m3fnuz, beyond>;
};

struct SoftwareWhereHardwareIsDue : AmdGpu {
  template <model::Format F, model::Beyond beyond>
  using Convert = SoftwareConvert<F, beyond>;
};

struct FusedElement : Element<model::Format::f32> {
  TALLY_DEVICE static Value add(Value a, Value b) { return __builtin_fmaf(a, 1.0000001f, b); }
};

/// The same, where the rule has to see it among elements' or scales' accesses.
struct NarrowInRing : NarrowLoads {};
struct NarrowInBlocks : NarrowLoads {};
// A packet that has come is fetched again, through the cache that may have an older one.
struct ScalarLoadsWithPackets : AmdGpu {
  template <class Predicate, int n>
  TALLY_DEVICE bool wait_packets(const std::uint64_t* first, std::int64_t stride,
                                 Predicate predicate, std::uint64_t (&seen)[n], Relaxed, System) {
    if (!AmdGpu::wait_packets(first, stride, predicate, seen, Relaxed{}, System{})) return false;
    seen[0] = ScalarLoads{}.load(reinterpret_cast<const Word*>(first)).part[0];
    return true;
  }
};

struct NoShuffles : AmdGpu {
  TALLY_DEVICE std::uint32_t shuffle(std::uint32_t value, int, int) { return value; }
  TALLY_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int, int) { return value; }
};

struct ReciprocalBlocks : FaithfulBlocks {
  TALLY_DEVICE static float quotient(float x, float scale) {
    return x * __builtin_amdgcn_rcpf(scale);
  }
};

struct DividingSum : Sum {
  template <class E, class Arguments>
  TALLY_DEVICE static typename E::Value complete(typename E::Value x, const Arguments& a) {
    return E::divide(x, a.ranks);
  }
};

// What clang makes of a product and its conversion where nothing stands between them.
template <model::Format F>
struct JoinedNarrow : AmdNarrow<F> {
  TALLY_DEVICE static std::uint16_t encode(float x) {
    return __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(x));
  }
};
struct JoinedProduct : AmdGpu {
  template <model::Format F>
  using Narrow = JoinedNarrow<F>;
};

using F32 = Element<model::Format::f32>;
using Plain = Recipe<F32, Sum, AccumulateElement, PlainCodec<F32>, FaithfulPlan>;
template <model::Format format>
using Cast =
    Recipe<F32, Sum, AccumulateF32, CastCodec<format, model::Beyond::special>, FaithfulPlan>;
using Fused = Recipe<FusedElement, Sum, AccumulateElement, PlainCodec<FusedElement>, FaithfulPlan>;
using FusedAverage =
    Recipe<FusedElement, Average, AccumulateElement, PlainCodec<FusedElement>, FaithfulPlan>;
using Divided = Recipe<F32, DividingSum, AccumulateElement, PlainCodec<F32>, FaithfulPlan>;
template <class Steps>
using Blocks = Recipe<F32, Sum, AccumulateF32,
                      BlockCodec<ScaledBlocks<model::Format::e4m3fn, Steps>>, FaithfulPlan>;
using F16 = Element<model::Format::f16>;
using Product16 = Recipe<F16, Product, AccumulateElement, PlainCodec<F16>, FaithfulPlan>;

#define TALLY_REJECTED_IN(algorithm, recipe, gpu) \
  template __global__ void collective_kernel<algorithm, recipe, gpu>(const TALLY_IN_PLACE Launch)
#define TALLY_REJECTED(recipe, gpu) TALLY_REJECTED_IN(Flat, recipe, gpu)
TALLY_REJECTED(Plain, NarrowLoads);
TALLY_REJECTED(Plain, HalfLoads);
TALLY_REJECTED(Plain, NarrowStores);
TALLY_REJECTED(Plain, NoFence);
TALLY_REJECTED(Plain, AgentFence);
TALLY_REJECTED(Plain, RelaxedFlag);
TALLY_REJECTED(Plain, AgentFlag);
TALLY_REJECTED(Plain, MissingAcquire);
TALLY_REJECTED(Plain, AgentAcquire);
TALLY_REJECTED(Plain, ScalarLoads);
TALLY_REJECTED(Cast<model::Format::e4m3fn>, HardwareWhereSoftwareIsDue);
TALLY_REJECTED(Cast<model::Format::e4m3fnuz>, SoftwareWhereHardwareIsDue);
TALLY_REJECTED(Cast<model::Format::e5m2fnuz>, SoftwareWhereHardwareIsDue);
TALLY_REJECTED(Fused, AmdGpu);
TALLY_REJECTED_IN(FlatLl, Plain, NarrowPackets);
TALLY_REJECTED_IN(FlatLl, Plain, NarrowPacketLoads);
TALLY_REJECTED_IN(FlatLl, Plain, AgentPackets);
TALLY_REJECTED_IN(FlatLl, Plain, PlainPackets);
TALLY_REJECTED_IN(FlatLl, Plain, ReleasedPackets);
TALLY_REJECTED_IN(FlatLl, Plain, AcquiredPackets);
TALLY_REJECTED_IN(FlatLl, Plain, BarrierBeforePackets);
TALLY_REJECTED_IN(FlatLl, Plain, ScalarLoadsWithPackets);
TALLY_REJECTED_IN(Ring, Plain, NarrowInRing);
TALLY_REJECTED_IN(Tree, Blocks<FaithfulBlocks>, NarrowInBlocks);
TALLY_REJECTED(Blocks<FaithfulBlocks>, NoShuffles);
TALLY_REJECTED(Blocks<ReciprocalBlocks>, AmdGpu);
TALLY_REJECTED(Divided, AmdGpu);
TALLY_REJECTED(FusedAverage, AmdGpu);
TALLY_REJECTED(Product16, JoinedProduct);

}  // namespace tally::kernels
