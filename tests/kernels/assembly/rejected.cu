// Kernels with one wrong instruction each: the rules for sm_90 must reject them. Each is a Gpu
// that differs from NvidiaGpu in one function, or an element with another arithmetic.

#include "kernels/launch.cuh"
#include "kernels/nvidia/nvidia_gpu.h"

namespace tally::kernels {

struct NarrowLoads : NvidiaGpu {
  template <class T>
  TALLY_DEVICE T load(const T* p) {
    if constexpr (std::is_same_v<T, Word>) {
      Word word;
      for (int i = 0; i < 4; ++i) {
        word.part[i] = NvidiaGpu::load(p->part + i);
        asm volatile("" : : : "memory");
      }
      return word;
    } else {
      return NvidiaGpu::load(p);
    }
  }
};

struct NarrowStores : NvidiaGpu {
  template <class T>
  TALLY_DEVICE void store(T* p, T value) {
    if constexpr (std::is_same_v<T, Word>) {
      for (int i = 0; i < 4; ++i) NvidiaGpu::store(p->part + i, value.part[i]);
    } else {
      NvidiaGpu::store(p, value);
    }
  }
};

// Through the cache that no acquire drops.
struct ReadOnlyLoads : NvidiaGpu {
  template <class T>
  TALLY_DEVICE T load(const T* p) {
    if constexpr (std::is_same_v<T, Word>) {
      return __builtin_bit_cast(Word, __ldg(reinterpret_cast<const uint4*>(p)));
    } else {
      return NvidiaGpu::load(p);
    }
  }
};

struct NoBarrier : NvidiaGpu {
  TALLY_DEVICE void block_barrier() {}
};

// What all threads store behind the barrier is not all behind the flag.
struct StoreBeforeFlag : NvidiaGpu {
  TALLY_DEVICE void block_barrier() {
    NvidiaGpu::block_barrier();
    asm volatile("st.global.u32 [%0], %1;" : : "l"(std::size_t{4096}), "r"(1) : "memory");
  }
};

struct RelaxedFlag : NvidiaGpu {
  TALLY_DEVICE void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" : : "l"(flag), "r"(value) : "memory");
  }
};

struct DeviceFlag : NvidiaGpu {
  TALLY_DEVICE void store_flag(std::uint32_t* flag, std::uint32_t value, Release, System) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(value) : "memory");
  }
};

struct MissingAcquire : NvidiaGpu {
  template <class Predicate>
  TALLY_DEVICE bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    std::uint32_t value;
    do {
      asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    } while (!predicate(value));
    return true;
  }
};

struct DeviceAcquire : NvidiaGpu {
  template <class Predicate>
  TALLY_DEVICE bool wait(const std::uint32_t* flag, Predicate predicate, Acquire, System) {
    std::uint32_t value;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    } while (!predicate(value));
    return true;
  }
};

// A packet whose data and flag may be seen apart, or by nobody else.
struct NarrowPackets : NvidiaGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    const auto data = static_cast<std::uint32_t>(value);
    const auto flag = static_cast<std::uint32_t>(value >> 32);
    asm volatile("st.relaxed.sys.global.v2.u32 [%0], {%1, %2};"
                 :
                 : "l"(packet), "r"(data), "r"(flag)
                 : "memory");
  }
};

struct NarrowPacketLoads : NvidiaGpu {
  template <class Predicate, int n>
  TALLY_DEVICE bool wait_packets(const std::uint64_t* first, std::int64_t stride,
                                 Predicate predicate, std::uint64_t (&seen)[n], Relaxed, System) {
    for (int i = 0; i < n; ++i) {
      do {
        std::uint32_t data, flag;
        asm volatile("ld.relaxed.sys.global.v2.u32 {%0, %1}, [%2];"
                     : "=r"(data), "=r"(flag)
                     : "l"(first + i * stride)
                     : "memory");
        seen[i] = static_cast<std::uint64_t>(flag) << 32 | data;
      } while (!predicate(seen[i]));
    }
    return true;
  }
};

struct DevicePackets : NvidiaGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(packet), "l"(value) : "memory");
  }
};

struct PlainPackets : NvidiaGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    store(packet, value);
  }
};

struct FencedPackets : NvidiaGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    asm volatile("fence.acq_rel.sys;" : : : "memory");
    NvidiaGpu::store_packet(packet, value, Relaxed{}, System{});
  }
};

struct BarrierBeforePackets : NvidiaGpu {
  TALLY_DEVICE void store_packet(std::uint64_t* packet, std::uint64_t value, Relaxed, System) {
    block_barrier();
    NvidiaGpu::store_packet(packet, value, Relaxed{}, System{});
  }
};

// Saturates where the wire overflows to NaN.
struct HardwareWhereSoftwareIsDue : NvidiaGpu {
  template <model::Format F, model::Beyond beyond>
  using Convert = NvidiaConvert<F, model::Beyond::max_finite>;
};

struct SoftwareWhereHardwareIsDue : NvidiaGpu {
  template <model::Format F, model::Beyond beyond>
  using Convert = SoftwareConvert<F, beyond>;
};

struct FusedElement : Element<model::Format::f32> {
  TALLY_DEVICE static Value add(Value a, Value b) { return __builtin_fmaf(a, 1.0000001f, b); }
};

struct FlushingElement : Element<model::Format::f32> {
  TALLY_DEVICE static Value add(Value a, Value b) {
    Value sum;
    asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
  }
};

/// The same, where the rule has to see it among elements' or scales' accesses.
struct NarrowInRing : NarrowLoads {};
struct NarrowInBlocks : NarrowLoads {};

struct NoShuffles : NvidiaGpu {
  TALLY_DEVICE std::uint32_t shuffle(std::uint32_t value, int, int) { return value; }
  TALLY_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int, int) { return value; }
};

struct ReciprocalBlocks : FaithfulBlocks {
  TALLY_DEVICE static float quotient(float x, float scale) { return x * (1.0f / scale); }
};

struct DividingSum : Sum {
  template <class E, class Arguments>
  TALLY_DEVICE static typename E::Value complete(typename E::Value x, const Arguments& a) {
    return E::divide(x, a.ranks);
  }
};

using F32 = Element<model::Format::f32>;
using Plain = Recipe<F32, Sum, AccumulateElement, PlainCodec<F32>, FaithfulPlan>;
template <model::Format format, model::Beyond beyond>
using Cast = Recipe<F32, Sum, AccumulateF32, CastCodec<format, beyond>, FaithfulPlan>;
using Saturating = Cast<model::Format::e4m3fn, model::Beyond::max_finite>;
using Overflowing = Cast<model::Format::e4m3fn, model::Beyond::special>;
using Fused = Recipe<FusedElement, Sum, AccumulateElement, PlainCodec<FusedElement>, FaithfulPlan>;
using Flushing =
    Recipe<FlushingElement, Sum, AccumulateElement, PlainCodec<FlushingElement>, FaithfulPlan>;
using FusedAverage =
    Recipe<FusedElement, Average, AccumulateElement, PlainCodec<FusedElement>, FaithfulPlan>;
using Divided = Recipe<F32, DividingSum, AccumulateElement, PlainCodec<F32>, FaithfulPlan>;
template <class Steps>
using Blocks = Recipe<F32, Sum, AccumulateF32,
                      BlockCodec<ScaledBlocks<model::Format::e4m3fn, Steps>>, FaithfulPlan>;

#define TALLY_REJECTED_IN(algorithm, recipe, gpu) \
  template __global__ void collective_kernel<algorithm, recipe, gpu>(const TALLY_IN_PLACE Launch)
#define TALLY_REJECTED(recipe, gpu) TALLY_REJECTED_IN(Flat, recipe, gpu)
TALLY_REJECTED(Plain, NarrowLoads);
TALLY_REJECTED(Plain, NarrowStores);
TALLY_REJECTED(Plain, ReadOnlyLoads);
TALLY_REJECTED(Plain, NoBarrier);
TALLY_REJECTED(Plain, StoreBeforeFlag);
TALLY_REJECTED(Plain, RelaxedFlag);
TALLY_REJECTED(Plain, DeviceFlag);
TALLY_REJECTED(Plain, MissingAcquire);
TALLY_REJECTED(Plain, DeviceAcquire);
TALLY_REJECTED(Overflowing, HardwareWhereSoftwareIsDue);
TALLY_REJECTED(Saturating, SoftwareWhereHardwareIsDue);
TALLY_REJECTED(Fused, NvidiaGpu);
TALLY_REJECTED(Flushing, NvidiaGpu);
TALLY_REJECTED_IN(FlatLl, Plain, NarrowPackets);
TALLY_REJECTED_IN(FlatLl, Plain, NarrowPacketLoads);
TALLY_REJECTED_IN(FlatLl, Plain, DevicePackets);
TALLY_REJECTED_IN(FlatLl, Plain, PlainPackets);
TALLY_REJECTED_IN(FlatLl, Plain, FencedPackets);
TALLY_REJECTED_IN(FlatLl, Plain, BarrierBeforePackets);
TALLY_REJECTED_IN(Ring, Plain, NarrowInRing);
TALLY_REJECTED_IN(Tree, Blocks<FaithfulBlocks>, NarrowInBlocks);
TALLY_REJECTED(Blocks<FaithfulBlocks>, NoShuffles);
TALLY_REJECTED(Blocks<ReciprocalBlocks>, NvidiaGpu);
TALLY_REJECTED(Divided, NvidiaGpu);
TALLY_REJECTED(FusedAverage, NvidiaGpu);

}  // namespace tally::kernels
