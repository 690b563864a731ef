#pragma once

// What device code is written in: the function attribute, the 16-byte word, memory order tags.

#include <cstdint>

#if defined(__HIP__) || defined(__CUDACC__)
#define TALLY_DEVICE __device__ __forceinline__
#else
#define TALLY_DEVICE inline
#endif

/// Of a lambda that is called twice, which a compiler might else call as a function.
#define TALLY_INLINE __attribute__((always_inline))

namespace tally::kernels {

inline constexpr int kMaxRanks = 16;

/// The unit in which data crosses between GPUs: one load or store instruction.
struct alignas(16) Word {
  std::uint32_t part[4];
};

// Memory orders and scopes, as types: an instruction is chosen when the kernel is compiled.
struct Relaxed {};
struct Acquire {};
struct Release {};
struct System {};

/// A flag's value counts up and wraps around; `target` is reached by any of the next 2^31 values.
struct Reached {
  std::uint32_t target;
  TALLY_DEVICE bool operator()(std::uint32_t value) const {
    return static_cast<std::int32_t>(value - target) >= 0;
  }
};

TALLY_DEVICE std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
TALLY_DEVICE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

}  // namespace tally::kernels
