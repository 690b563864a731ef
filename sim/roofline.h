#pragma once

// How long a kernel takes: its operations at the rate of the matrix units, or its bytes at that of
// the memory, whichever is longer. Source: Williams, Waterman, Patterson, "Roofline: an insightful
// visual performance model for multicore architectures", Communications of the ACM 52(4), 2009.

#include <string_view>

#include "model/machine.h"
#include "sim/layer_work.h"
#include "sim/units.h"

namespace tally::sim {

/// Rates that kernels attain, per second.
struct Roofline {
  double f16_flops, f8_flops, bytes_per_s;

  double flops_of(const Kernel& kernel) const { return kernel.is_f8 ? f8_flops : f16_flops; }
};

/// The GPU's peaks, less what the best measured kernels leave: of matrix units what mamf-finder
/// measured on that architecture, of a memory of which only the peak is known what BabelStream
/// leaves. A GPU without fp8 units computes in f16.
Roofline attained(const model::GpuFacts& gpu);

/// The longer of computing and moving bytes.
double seconds_of(const Kernel& kernel, const Roofline& roofline);

struct KernelTime {
  Picos time;
  std::string_view bound_by;  // compute, memory
};
/// At the ridge, where both take as long, memory is what bounds.
KernelTime time_of(const Kernel& kernel, const Roofline& roofline);

/// What share of its peak a GPU of that architecture attains, for docs/inference.md and its test.
struct Attainment {
  std::string_view arch;
  double f16, f8;
  std::string_view source;
};
Attainment attainment_of(std::string_view arch);
inline constexpr double kMemoryAttainment = 4256.0 / 5300;  // BabelStream Copy on 8x MI300X (AMD's
                                                            // system validation guide) / data sheet

}  // namespace tally::sim
