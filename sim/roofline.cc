#include "sim/roofline.h"

#include <algorithm>

namespace tally::sim {
namespace {

// stas00/ml-engineering, compute/accelerator/README.md, "Maximum Achievable Matmul FLOPS": the best
// shape of each GPU. Where its table has no fp8 row, the f16 share stands for it.
constexpr std::string_view kMeasured = "stas00/ml-engineering, mamf-finder";
constexpr Attainment kAttainments[] = {
    {"gfx942", 668.4 / 1300, 668.4 / 1300, kMeasured},    // MI300X
    {"gfx950", 1565.0 / 2300, 1565.0 / 2300, kMeasured},  // MI355X
    {"sm_80", 271.2 / 312, 271.2 / 312, kMeasured},       // A100 SXM
    {"sm_90", 794.5 / 989, 1402.6 / 1979, kMeasured},     // H100 SXM
};
constexpr Attainment kUnmeasured = {"", 794.5 / 989, 1402.6 / 1979,
                                    "assumed: as H100, the nearest that was measured"};

}  // namespace

Attainment attainment_of(std::string_view arch) {
  const auto* const row = std::find_if(std::begin(kAttainments), std::end(kAttainments),
                                       [&](const Attainment& a) { return a.arch == arch; });
  return row == std::end(kAttainments) ? kUnmeasured : *row;
}

Roofline attained(const model::GpuFacts& gpu) {
  const Attainment share = attainment_of(gpu.arch);
  const bool is_measured = gpu.memory_bytes_per_s.evidence == model::Evidence::measured;
  const double f16 = gpu.f16_flops.value * share.f16, f8 = gpu.f8_flops.value * share.f8;
  return {.f16_flops = f16,
          .f8_flops = std::max(f8, f16),
          .bytes_per_s = gpu.memory_bytes_per_s.value * (is_measured ? 1 : kMemoryAttainment)};
}

double seconds_of(const Kernel& kernel, const Roofline& roofline) {
  return std::max(kernel.flops / roofline.flops_of(kernel), kernel.bytes / roofline.bytes_per_s);
}

KernelTime time_of(const Kernel& kernel, const Roofline& roofline) {
  const double compute = kernel.flops / roofline.flops_of(kernel);
  const double memory = kernel.bytes / roofline.bytes_per_s;
  return {from_nanos(seconds_of(kernel, roofline) * 1e9), compute > memory ? "compute" : "memory"};
}

}  // namespace tally::sim
