#pragma once

// TALLY_GPU_CALL is for the device's failures: it names the call and the error, and stops.

#include <cstdio>
#include <cstdlib>

#define TALLY_GPU_CALL(call)                                                           \
  do {                                                                                 \
    const hipError_t tally_error = (call);                                             \
    if (tally_error != hipSuccess) {                                                   \
      std::fprintf(stderr, "%s:%d: %s: error %d, %s: %s\n", __FILE__, __LINE__, #call, \
                   static_cast<int>(tally_error), hipGetErrorName(tally_error),        \
                   hipGetErrorString(tally_error));                                    \
      std::abort();                                                                    \
    }                                                                                  \
  } while (false)
