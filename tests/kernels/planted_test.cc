// Goal: each fault of values in the catalogue is in a kernel, shows itself in a small case, and is
// the only thing that does.
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
constexpr Arithmetic kPlainF32{Format::bf16, model::kNoWire, Op::sum, Accumulate::f32};
constexpr Arithmetic kFnuz{Format::f32, model::cast_wire(Format::e4m3fnuz), Op::sum,
                           Accumulate::f32};
constexpr Arithmetic kSaturating{Format::f32, model::cast_wire(Format::e4m3fn, model::kSaturate),
                                 Op::sum, Accumulate::f32};
constexpr Arithmetic kBf16Fnuz{Format::bf16, model::cast_wire(Format::e4m3fnuz), Op::sum,
                               Accumulate::f32};
constexpr Arithmetic with_blocks(int length, Format scale, model::ScaleRule rule) {
  return {Format::f32, model::block_wire(Format::e4m3fn, length, scale, rule), Op::sum,
          Accumulate::f32};
}
constexpr Arithmetic kBlocks = with_blocks(32, Format::f32, model::ScaleRule::amax);
constexpr Arithmetic kLongBlocks = with_blocks(256, Format::f32, model::ScaleRule::amax);
constexpr Arithmetic kPowers = with_blocks(16, Format::e8m0, model::ScaleRule::floor);
constexpr Arithmetic without_wire(Op op) {
  return {Format::bf16, model::kNoWire, op, Accumulate::element};
}
constexpr std::string_view kAlgorithms[] = {"flat", "tree", "ring"};

constexpr KernelRun kCase{.ranks = 3, .count = 300, .geometry = {3, 16, 64}};

/// The same value in all elements of a rank.
reference::RankBuffers ranks_of(Format element, const std::vector<double>& values) {
  reference::RankBuffers inputs;
  for (const double value : values) {
    inputs.push_back(codes_of(element, std::vector<double>(kCase.count, value)));
  }
  return inputs;
}

/// Inputs that show the fault. Where it says 256, 1, 5: in bf16 their order and rounding show,
/// since 256 + 1 + 5 is 260, and 5 + 1 + 256 is 262.
reference::RankBuffers inputs_for(std::string_view fault, const Arithmetic& arithmetic) {
  const Format element = arithmetic.element;
  if (arithmetic.wire.overflow.finite == model::Beyond::max_finite && !arithmetic.wire.is_block()) {
    return ranks_of(element, {1000, 1, 5});  // beyond e4m3fn
  }
  if (fault == "e8m0_zero_flushed") return ranks_of(element, {0, 0, 0});
  if (fault == "reciprocal_scale" || fault == "log2_scale") {
    // 39 of 52 is 336 of 448: midway between two codes. What is just below 2^7 has exponent 6.
    std::vector<double> values(kCase.count, 39);
    for (int i = 0; i < kCase.count; i += 32) values[i] = 52;
    if (fault == "log2_scale") values[0] = 0x1.fffffep6;
    return {codes_of(element, values), codes_of(element, values), codes_of(element, values)};
  }
  if (fault == "double_rounding") return ranks_of(element, {0x1.100002p7, 1, 5});
  if (arithmetic.wire.is_block()) {
    std::vector<double> values[3];
    for (int i = 0; i < kCase.count; ++i) {
      for (const int rank : {0, 1, 2}) values[rank].push_back((i + 1) * (rank == 0 ? 16 : rank));
    }
    return {codes_of(element, values[0]), codes_of(element, values[1]),
            codes_of(element, values[2])};
  }
  if (fault == "owner_keeps_unquantised") return ranks_of(element, {16, 1, 6});  // 23 becomes 24
  if (fault == "bf16_truncated" || arithmetic.op != Op::sum) {
    return random_inputs(element, kCase.ranks, kCase.count, 1);
  }
  return ranks_of(element, {arithmetic.wire.is_none() ? 256.0 : 16.0, 1, 5});
}

/// What the kernel did wrong in kCase, with inputs for `fault`; "" where nothing.
std::string deviation(const KernelKey& key, std::string_view fault) {
  const reference::RankBuffers inputs = inputs_for(fault, key.arithmetic);
  const KernelOutcome outcome = run_kernel(key, kCase, inputs);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (outcome.inputs != inputs) return "inputs";
  const auto wanted = reference::run(schedule_of(key.algorithm, key.arithmetic, kCase), inputs);
  return first_difference(key.arithmetic.element, outcome.outputs, wanted);
}

/// The arithmetics of the kernels in which a fault is planted, where it shows.
std::vector<Arithmetic> hosts_of(std::string_view fault) {
  if (fault == "block_across_chunk") return {kLongBlocks};
  if (fault == "log2_scale" || fault == "e8m0_zero_flushed") return {kPowers};
  std::vector<Arithmetic> hosts;
  for (const Arithmetic& arithmetic :
       {kPlain, kPlainF32, kFnuz, kSaturating, kBf16Fnuz, kBlocks, without_wire(Op::min),
        without_wire(Op::max), without_wire(Op::avg)}) {
    for (const std::string_view algorithm : kAlgorithms) {
      if (find_kernel({algorithm, arithmetic, fault}) == nullptr) continue;
      hosts.push_back(arithmetic);
      break;
    }
  }
  return hosts;
}

/// Sums of e4m3fnuz codes are exact in f32, so their order is in no value. tie_test sees it.
bool is_hidden(std::string_view fault, const Arithmetic& arithmetic) {
  return fault == "other_order" && !arithmetic.wire.is_none();
}

}  // namespace

TEST_CASE("every planted fault has a name of its own, a kind, a description and a report",
          "[kernels]") {
  const std::set<std::string_view> kinds = {"arithmetic", "movement", "order", "flags", "bounds"};
  std::set<std::string_view> names;
  for (const auto& fault : planted_faults()) {
    REQUIRE(names.insert(fault.name).second);
    REQUIRE(!fault.name.empty());
    REQUIRE(kinds.count(fault.kind) == 1);
    REQUIRE(!fault.what.empty());
    REQUIRE(!fault.report.empty());
  }
  REQUIRE(names.size() == 43);
}

TEST_CASE("a planted fault of values shows wherever it is, and the healthy kernel shows nothing",
          "[kernels]") {
  for (const auto& fault : planted_faults()) {
    if (fault.kind == "order" || fault.kind == "flags") continue;  // planted_order_test has these
    const std::vector<Arithmetic> hosts = hosts_of(fault.name);
    CAPTURE(std::string(fault.name));
    REQUIRE(!hosts.empty());
    for (const Arithmetic& arithmetic : hosts) {
      for (const std::string_view algorithm : kAlgorithms) {
        if (find_kernel({algorithm, arithmetic, fault.name}) == nullptr) continue;
        CAPTURE(std::string(algorithm), arithmetic.wire.name());
        REQUIRE(deviation({algorithm, arithmetic, ""}, fault.name) == "");
        const bool shows = deviation({algorithm, arithmetic, fault.name}, fault.name) != "";
        REQUIRE(shows == !is_hidden(fault.name, arithmetic));
      }
    }
  }
}

TEST_CASE("faults show where they are", "[kernels]") {
  const auto in_flat = [](std::string_view fault, const Arithmetic& arithmetic) {
    return deviation({"flat", arithmetic, fault}, fault);
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
  REQUIRE(find_kernel({"pairwise", kPlain, ""}) == nullptr);
  REQUIRE(find_kernel({"", kPlain, ""}) == nullptr);
  Arithmetic arithmetic = kPlain;
  arithmetic.element = Format::e5m2;
  REQUIRE(find_kernel({"flat", arithmetic, ""}) == nullptr);
}

}  // namespace tally::test
