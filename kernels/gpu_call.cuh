#pragma once

// TALLY_GPU_CALL is for the device's failures: it names the call and the error, and stops.

#include <cstdio>
#include <cstdlib>

namespace tally::kernels {

inline void check_gpu_call(hipError_t error, const char* call, const char* file, int line) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: error %d, %s: %s\n", file, line, call, static_cast<int>(error),
               hipGetErrorName(error), hipGetErrorString(error));
  std::abort();
}

inline bool gpu_call_succeeded(hipError_t error, hipError_t expected, const char* call,
                               const char* file, int line) {
  if (error != expected) check_gpu_call(error, call, file, line);
  if (error == hipSuccess) return true;
  static_cast<void>(hipGetLastError());
  return false;
}

}  // namespace tally::kernels

#define TALLY_GPU_CALL(call) ::tally::kernels::check_gpu_call((call), #call, __FILE__, __LINE__)

/// False where the call failed with `expected`, which is then no error of a later call either. Any
/// other failure stops.
#define TALLY_GPU_CALL_SUCCEEDED(expected, call) \
  ::tally::kernels::gpu_call_succeeded((call), (expected), #call, __FILE__, __LINE__)
