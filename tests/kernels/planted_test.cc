// Goal: each fault in the catalogue is in a kernel, shows itself in a small case, and is the only
// thing that does.
// Method: run the faulty kernel and the healthy one with the same key on the same inputs, and
// compare both with the reference.

#include <set>

#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using kernels::emulator::find_kernel;
using kernels::emulator::KernelKey;
using kernels::emulator::planted_faults;
using model::Accumulate;
using model::Arithmetic;
using model::Format;
using model::Op;

constexpr Arithmetic kPlain{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};
constexpr Arithmetic kFnuz{Format::f32, model::cast_wire(Format::e4m3fnuz), Op::sum,
                           Accumulate::f32};
constexpr Arithmetic kSaturating{Format::f32, model::cast_wire(Format::e4m3fn, model::kSaturate),
                                 Op::sum, Accumulate::f32};

constexpr KernelRun kCase{.ranks = 3, .count = 300, .geometry = {2, 4, 64}};

/// Ranks 1 and 2 have 1 and 5. Rank 0 is so large that in bf16 the order of the sum and its
/// rounding show: 256 + 1 + 5 is 260, 5 + 1 + 256 is 262. For e4m3fnuz it is 16, in range; for the
/// saturating wire it is beyond.
reference::RankBuffers inputs_for(const Arithmetic& arithmetic) {
  double large = 16;
  if (arithmetic.wire.is_none()) large = 256;
  if (arithmetic.wire.overflow.finite == model::Beyond::max_finite) large = 1000;
  reference::RankBuffers inputs;
  for (int rank = 0; rank < kCase.ranks; ++rank) {
    const std::vector<double> values(kCase.count, rank == 0 ? large : rank == 1 ? 1 : 5);
    inputs.push_back(codes_of(arithmetic.element, values));
  }
  return inputs;
}

/// What the kernel did wrong in kCase; "" where nothing.
std::string deviation(const KernelKey& key) {
  const reference::RankBuffers inputs = inputs_for(key.arithmetic);
  const KernelOutcome outcome = run_kernel(key, kCase, inputs);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (outcome.inputs != inputs) return "inputs";
  const auto wanted = reference::run(schedule_of(key.algorithm, key.arithmetic, kCase), inputs);
  return first_difference(key.arithmetic.element, outcome.outputs, wanted);
}

/// The arithmetics of the kernels in which a fault is planted.
std::vector<Arithmetic> hosts_of(std::string_view fault) {
  std::vector<Arithmetic> hosts;
  for (const Arithmetic& arithmetic : {kPlain, kFnuz, kSaturating}) {
    if (find_kernel({"flat", arithmetic, fault}) != nullptr) hosts.push_back(arithmetic);
  }
  return hosts;
}

/// Sums of e4m3fnuz codes are exact in f32, so their order is in no value. tie_test sees it.
bool is_hidden(std::string_view fault, const Arithmetic& arithmetic) {
  return fault == "other_order" && !arithmetic.wire.is_none();
}

}  // namespace

TEST_CASE("every planted fault has a name of its own, a description and a report", "[kernels]") {
  std::set<std::string_view> names;
  for (const auto& fault : planted_faults()) {
    REQUIRE(names.insert(fault.name).second);
    REQUIRE(!fault.name.empty());
    REQUIRE(!fault.what.empty());
    REQUIRE(!fault.report.empty());
  }
  REQUIRE(names.size() == 12);
}

TEST_CASE("every planted fault shows in flat and tree, and the healthy kernel shows nothing",
          "[kernels]") {
  for (const auto& fault : planted_faults()) {
    const std::vector<Arithmetic> hosts = hosts_of(fault.name);
    CAPTURE(std::string(fault.name));
    REQUIRE(!hosts.empty());
    for (const Arithmetic& arithmetic : hosts) {
      for (const std::string_view algorithm : {"flat", "tree"}) {
        CAPTURE(algorithm == "flat", arithmetic.wire.name());
        REQUIRE(deviation({algorithm, arithmetic, ""}) == "");
        const bool shows = deviation({algorithm, arithmetic, fault.name}) != "";
        REQUIRE(shows == !is_hidden(fault.name, arithmetic));
      }
    }
  }
}

TEST_CASE("faults show where they are", "[kernels]") {
  const auto in_flat = [](std::string_view fault, const Arithmetic& arithmetic) {
    return deviation({"flat", arithmetic, fault});
  };
  REQUIRE(in_flat("other_order", kPlain) == "rank 0, element 0: got 0x4383 want 0x4382");
  REQUIRE(in_flat("f32_accumulation", kPlain) == "rank 0, element 0: got 0x4383 want 0x4382");
  REQUIRE(in_flat("tail_dropped", kPlain) == "rank 0, element 0: got 0x7f7f want 0x4382");
  REQUIRE(in_flat("stale_scratch", kFnuz) == "rank 0, element 256: got 0x44340000 want 0x41b00000");
  REQUIRE(in_flat("output_not_written", kPlain) == "rank 0, element 299: got 0x7f7f want 0x4382");
  REQUIRE(in_flat("fnuz_read_as_ocp", kFnuz) ==
          "rank 0, element 0: got 0x42300000 want 0x41b00000");
  REQUIRE(in_flat("write_past_end", kPlain).rfind("bounds", 0) == 0);
  REQUIRE(in_flat("input_modified", kPlain) == "inputs");
}

TEST_CASE("there is no kernel for what nobody planted or nobody asked for", "[kernels]") {
  REQUIRE(find_kernel({"flat", kPlain, "no_such_fault"}) == nullptr);
  REQUIRE(find_kernel({"ring", kPlain, ""}) == nullptr);
  REQUIRE(find_kernel({"", kPlain, ""}) == nullptr);
  Arithmetic arithmetic = kPlain;
  arithmetic.element = Format::e5m2;
  REQUIRE(find_kernel({"flat", arithmetic, ""}) == nullptr);
}

TEST_CASE("scratch is the wire's bytes in whole words", "[kernels]") {
  using kernels::emulator::scratch_bytes;
  REQUIRE(scratch_bytes(kPlain, 0) == 0);
  REQUIRE(scratch_bytes(kPlain, 8) == 16);
  REQUIRE(scratch_bytes(kPlain, 9) == 32);
  REQUIRE(scratch_bytes(kFnuz, 16) == 16);
  REQUIRE(scratch_bytes(kFnuz, 17) == 32);
}

}  // namespace tally::test
