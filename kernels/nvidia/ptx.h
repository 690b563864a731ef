#pragma once

// One PTX instruction each, for what CUDA C++ has no function of its own or hides its choice.
// Each is described under its name in the PTX ISA, section 9.7; orders and scopes in section 8.

#include <cstdint>

#include "kernels/device.h"

namespace tally::kernels::ptx {

/// The address in the global state space, so that the access is known not to be shared memory.
TALLY_DEVICE std::size_t global(const void* p) { return __cvta_generic_to_global(p); }

/// ld.global.v4.u32: weak. Volatile and with a clobber, so that it stays behind a barrier.
TALLY_DEVICE Word load_word(const void* p) {
  Word w;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.part[0]), "=r"(w.part[1]), "=r"(w.part[2]), "=r"(w.part[3])
               : "l"(global(p))
               : "memory");
  return w;
}

/// st.global.v4.u32: weak.
TALLY_DEVICE void store_word(void* p, const Word& w) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(global(p)), "r"(w.part[0]), "r"(w.part[1]), "r"(w.part[2]), "r"(w.part[3])
               : "memory");
}

/// ld.acquire.sys: what the storing thread did before its release is seen from here on.
TALLY_DEVICE std::uint32_t load_acquire_sys(const std::uint32_t* p) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(global(p)) : "memory");
  return value;
}

/// st.release.sys: all that this thread did or saw before is seen by whoever acquires the value.
TALLY_DEVICE void store_release_sys(std::uint32_t* p, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" : : "l"(global(p)), "r"(value) : "memory");
}

/// ld.relaxed.sys and st.relaxed.sys: 8 bytes at once, in no order with other accesses.
TALLY_DEVICE std::uint64_t load_relaxed_sys(const std::uint64_t* p) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(global(p)) : "memory");
  return value;
}
TALLY_DEVICE void store_relaxed_sys(std::uint64_t* p, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(global(p)), "l"(value) : "memory");
}

/// %clock64, section 10: cycles of the processor that the thread is on.
TALLY_DEVICE std::uint64_t clock() {
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  return cycles;
}

// Conversions (cvt). Those to 8 bits exist with satfinite only: NaN stays NaN, and what
// is beyond the largest finite value, infinity too, becomes it. The first source is the upper half.

TALLY_DEVICE std::uint32_t cvt_e4m3x2(float upper, float lower) {
  std::uint16_t codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(upper), "f"(lower));
  return codes;
}
TALLY_DEVICE std::uint32_t cvt_e5m2x2(float upper, float lower) {
  std::uint16_t codes;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(upper), "f"(lower));
  return codes;
}
/// Two codes to two f16, which hold every value of these formats.
TALLY_DEVICE std::uint32_t cvt_f16x2_e4m3x2(std::uint16_t codes) {
  std::uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(codes));
  return halves;
}
TALLY_DEVICE std::uint32_t cvt_f16x2_e5m2x2(std::uint16_t codes) {
  std::uint32_t halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(codes));
  return halves;
}
/// Nearest-even, infinity beyond the largest finite value, subnormals kept.
TALLY_DEVICE std::uint16_t cvt_f16(float x) {
  std::uint16_t code;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(x));
  return code;
}
TALLY_DEVICE std::uint16_t cvt_bf16(float x) {
  std::uint16_t code;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(x));
  return code;
}
TALLY_DEVICE float cvt_f32_f16(std::uint16_t code) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(code));
  return x;
}

}  // namespace tally::kernels::ptx
