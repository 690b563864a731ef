// Goal: a kernel is bound by its operations or by its bytes, and turns at the ridge.
// Method: a GPU whose rates are powers of two, so that the turn is exact.

#include "sim/roofline.h"

#include "tests/support/catch.h"

namespace {

using namespace tally;

constexpr sim::Roofline kRoofline = {
    .f16_flops = 0x1p40, .f8_flops = 0x1p41, .bytes_per_s = 0x1p32};

}  // namespace

TEST_CASE("at the ridge, of peak over bandwidth operations a byte, compute takes over from memory",
          "[sim]") {
  const double bytes = 0x1p20, ridge = 0x1p40 / 0x1p32;
  const auto at = sim::time_of({"x", bytes * ridge, bytes}, kRoofline);
  CHECK(at.bound_by == "memory");
  CHECK(at.time == sim::from_nanos(1e9 / 4096));
  CHECK(sim::time_of({"x", bytes * ridge + 1, bytes}, kRoofline).bound_by == "compute");
  CHECK(sim::time_of({"x", bytes * ridge, bytes + 1}, kRoofline).bound_by == "memory");
  CHECK(sim::time_of({"x", 2 * bytes * ridge, bytes}, kRoofline).time == 2 * at.time);
  CHECK(sim::time_of({"x", 0, bytes}, kRoofline).time == at.time);
}

TEST_CASE("fp8 factors have a ridge of their own", "[sim]") {
  const double bytes = 0x1p20, ridge = 0x1p41 / 0x1p32;
  CHECK(sim::time_of({"x", bytes * ridge, bytes, true}, kRoofline).bound_by == "memory");
  CHECK(sim::time_of({"x", bytes * ridge + 1, bytes, true}, kRoofline).bound_by == "compute");
}

TEST_CASE("what is attained is a measured share of a peak, and of memory what was measured",
          "[sim]") {
  model::GpuFacts gpu;
  gpu.arch = "gfx942";
  gpu.f16_flops.value = 1300;
  gpu.memory_bytes_per_s = {5300, model::Evidence::quoted, ""};
  const sim::Roofline quoted = sim::attained(gpu);
  CHECK(quoted.f16_flops == 1300 * (668.4 / 1300));
  CHECK(quoted.bytes_per_s == 5300 * sim::kMemoryAttainment);
  CHECK(quoted.f8_flops == quoted.f16_flops);  // no fp8 units were given
  gpu.f8_flops.value = 2600;
  gpu.memory_bytes_per_s = {4256, model::Evidence::measured, ""};
  CHECK(sim::attained(gpu).f8_flops == 2 * quoted.f16_flops);
  CHECK(sim::attained(gpu).bytes_per_s == 4256);
}

TEST_CASE("a GPU that nobody measured is said to be assumed", "[sim]") {
  CHECK(sim::attainment_of("sm_120").source.starts_with("assumed"));
  CHECK(sim::attainment_of("sm_120").f16 == sim::attainment_of("sm_90").f16);
}
