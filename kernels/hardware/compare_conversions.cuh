#pragma once

// The hardware's conversions against the software's, for every input: those of the Gpu that is a
// template argument.

#include <string>
#include <vector>

#include "kernels/element.h"
#include "kernels/gpu_call.cuh"
#include "kernels/hardware/gpu_runtime.h"

namespace tally::kernels::hardware {

struct Count {
  unsigned long long different;
  unsigned int first;
};

__device__ __forceinline__ void count(Count* c, unsigned int input) {
  atomicAdd(&c->different, 1ull);
  atomicMin(&c->first, input);
}

/// Whether two codes of F are the same or both NaN.
template <model::Format F>
TALLY_DEVICE bool same_code(std::uint32_t a, std::uint32_t b) {
  const float x = software_decode<F>(a), y = software_decode<F>(b);
  return a == b || (x != x && y != y);
}

// Each thread takes every so-manieth of the 2^32 inputs, four at a time.
template <class Gpu, model::Format F, model::Beyond beyond>
__global__ void compare_encode4(Count* c) {
  const std::uint64_t stride = 4ull * blockDim.x * gridDim.x;
  const std::uint64_t mine = 4ull * (blockIdx.x * blockDim.x + threadIdx.x);
  for (std::uint64_t i = mine; i < (1ull << 32); i += stride) {
    float x[4];
    for (int j = 0; j < 4; ++j) x[j] = float_of(static_cast<std::uint32_t>(i + j));
    const std::uint32_t hard = Gpu::template Convert<F, beyond>::encode4(x);
    const std::uint32_t soft = SoftwareConvert<F, beyond>::encode4(x);
    for (int j = 0; j < 4; ++j) {
      if (!same_code<F>(hard >> (8 * j) & 0xFF, soft >> (8 * j) & 0xFF)) {
        count(c, static_cast<std::uint32_t>(i + j));
      }
    }
  }
}

/// Every code, in each of the four places.
template <class Gpu, model::Format F>
__global__ void compare_decode4(Count* c) {
  float hard[4], soft[4];
  const std::uint32_t code = threadIdx.x;
  const std::uint32_t codes = code | (code ^ 0x55) << 8 | (code ^ 0xAA) << 16 | (code ^ 0xFF) << 24;
  Gpu::template Convert<F, model::Beyond::special>::decode4(codes, hard);
  SoftwareConvert<F, model::Beyond::special>::decode4(codes, soft);
  for (int j = 0; j < 4; ++j) {
    const bool both_nan = hard[j] != hard[j] && soft[j] != soft[j];
    if (!both_nan && bits_of(hard[j]) != bits_of(soft[j])) count(c, codes);
  }
}

template <class Gpu, model::Format F>
__global__ void compare_narrow_encode(Count* c) {
  const std::uint64_t stride = 1ull * blockDim.x * gridDim.x;
  for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (1ull << 32); i += stride) {
    const float x = float_of(static_cast<std::uint32_t>(i));
    if (!same_code<F>(Gpu::template Narrow<F>::encode(x), SoftwareNarrow<F>::encode(x))) {
      count(c, static_cast<std::uint32_t>(i));
    }
  }
}

template <class Gpu, model::Format F>
__global__ void compare_narrow_decode(Count* c) {
  const std::uint32_t code = blockIdx.x * blockDim.x + threadIdx.x;
  const auto narrow = static_cast<std::uint16_t>(code);
  const float hard = Gpu::template Narrow<F>::decode(narrow),
              soft = SoftwareNarrow<F>::decode(narrow);
  const bool both_nan = hard != hard && soft != soft;
  if (!both_nan && bits_of(hard) != bits_of(soft)) count(c, code);
}

inline ConversionDifference compare(std::string name, std::uint64_t inputs, void (*kernel)(Count*),
                                    int blocks, int threads) {
  Count found{0, 0xFFFF'FFFF}, *on_device = nullptr;
  TALLY_GPU_CALL(hipMalloc(reinterpret_cast<void**>(&on_device), sizeof found));
  TALLY_GPU_CALL(hipMemcpy(on_device, &found, sizeof found, hipMemcpyDefault));
  kernel<<<blocks, threads>>>(on_device);
  TALLY_GPU_CALL(hipGetLastError());
  TALLY_GPU_CALL(hipDeviceSynchronize());
  TALLY_GPU_CALL(hipMemcpy(&found, on_device, sizeof found, hipMemcpyDefault));
  TALLY_GPU_CALL(hipFree(on_device));
  return {std::move(name), inputs, found.different, found.different == 0 ? 0 : found.first};
}

template <class Gpu>
std::vector<ConversionDifference> compare_conversions() {
  using model::Beyond, model::Format;
  constexpr std::uint64_t kAll = 1ull << 32;
  constexpr int kBlocks = 2048, kThreads = 256;
  std::vector<ConversionDifference> all;
  const auto one_byte = [&]<Format F>() {
    const std::string name(model::format(F).name);
    all.push_back(compare("encode " + name, kAll, &compare_encode4<Gpu, F, Beyond::special>,
                          kBlocks, kThreads));
    all.push_back(compare("encode " + name + ":sat", kAll,
                          &compare_encode4<Gpu, F, Beyond::max_finite>, kBlocks, kThreads));
    all.push_back(compare("decode " + name, 4 * 256, &compare_decode4<Gpu, F>, 1, 256));
  };
  const auto two_bytes = [&]<Format F>() {
    const std::string name(model::format(F).name);
    all.push_back(
        compare("encode " + name, kAll, &compare_narrow_encode<Gpu, F>, kBlocks, kThreads));
    all.push_back(compare("decode " + name, 1 << 16, &compare_narrow_decode<Gpu, F>, 256, 256));
  };
  one_byte.template operator()<Format::e4m3fn>();
  one_byte.template operator()<Format::e5m2>();
  one_byte.template operator()<Format::e4m3fnuz>();
  one_byte.template operator()<Format::e5m2fnuz>();
  two_bytes.template operator()<Format::f16>();
  two_bytes.template operator()<Format::bf16>();
  return all;
}

}  // namespace tally::kernels::hardware
