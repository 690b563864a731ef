// Goal: each fault of values in the catalogue is in a kernel, shows itself in a small case, and is
// the only thing that does.
// Method: run the faulty kernel and the healthy one with the same key on the same inputs, and
// compare both with the reference.

#include <algorithm>
#include <set>

#include "model/builders.h"
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

constexpr int kRanks = 3;
constexpr std::int64_t kCount = 300;

/// Faults that show only where a rank's elements are not all alike.
constexpr std::string_view kOfBlocks[] = {"reduce_scatter_misplaced", "own_block_unquantised",
                                          "block_of_peer", "counts_of_sender",
                                          "received_count_lost"};

KernelRun run_of(model::Collective collective) {
  KernelRun how{.ranks = kRanks, .count = kCount, .geometry = {3, 16, 64}};
  how.collective = collective;
  if (collective == model::Collective::all_to_all_v) {
    how.send_counts = {100, 0, 300, 7, 200, 129, 300, 40, 0};
  }
  return how;
}

/// The same value in all elements of a rank.
reference::RankBuffers ranks_of(Format element, std::int64_t elements,
                                const std::vector<double>& values) {
  reference::RankBuffers inputs;
  for (const double value : values) {
    inputs.push_back(codes_of(element, std::vector<double>(elements, value)));
  }
  return inputs;
}

/// Inputs that show the fault. Where it says 256, 1, 5: in bf16 their order and rounding show,
/// since 256 + 1 + 5 is 260, and 5 + 1 + 256 is 262.
reference::RankBuffers inputs_for(std::string_view fault, const Arithmetic& arithmetic,
                                  std::int64_t elements) {
  const Format element = arithmetic.element;
  const auto of = [&](const std::vector<double>& values) {
    return ranks_of(element, elements, values);
  };
  if (arithmetic.wire.overflow.finite == model::Beyond::max_finite && !arithmetic.wire.is_block()) {
    return of({1000, 1, 5});  // beyond e4m3fn
  }
  if (fault == "e8m0_zero_flushed") return of({0, 0, 0});
  if (fault == "reciprocal_scale" || fault == "log2_scale") {
    // 39 of 52 is 336 of 448: midway between two codes. What is just below 2^7 has exponent 6.
    std::vector<double> values(elements, 39);
    for (int i = 0; i < elements; i += 32) values[i] = 52;
    if (fault == "log2_scale") values[0] = 0x1.fffffep6;
    return {codes_of(element, values), codes_of(element, values), codes_of(element, values)};
  }
  if (fault == "double_rounding") return of({0x1.100002p7, 1, 5});
  if (arithmetic.wire.is_block()) {
    std::vector<double> values[3];
    for (int i = 0; i < elements; ++i) {
      for (const int rank : {0, 1, 2}) values[rank].push_back((i + 1) * (rank == 0 ? 16 : rank));
    }
    return {codes_of(element, values[0]), codes_of(element, values[1]),
            codes_of(element, values[2])};
  }
  if (fault == "owner_keeps_unquantised") return of({16, 1, 6});  // 23 becomes 24
  const bool is_of_blocks =
      std::find(std::begin(kOfBlocks), std::end(kOfBlocks), fault) != std::end(kOfBlocks);
  if (fault == "bf16_truncated" || arithmetic.op != Op::sum || is_of_blocks) {
    return random_inputs(element, kRanks, elements, 1);
  }
  return of({arithmetic.wire.is_none() ? 256.0 : 16.0, 1, 5});
}

/// What the kernel did wrong, with inputs for `fault`; "" where nothing.
std::string deviation(const KernelKey& key, std::string_view fault) {
  const KernelRun how = run_of(key.collective);
  const std::int64_t elements = model::input_elements(key.collective, kRanks, kCount);
  const reference::RankBuffers inputs = inputs_for(fault, key.arithmetic, elements);
  const KernelOutcome outcome = run_kernel(key, how, inputs);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (outcome.inputs != inputs) return "inputs";
  if (!was_told_what_was_sent(outcome, how)) return "counts";
  reference::RankBuffers wanted;
  for (const auto& output : outcome.outputs) wanted.emplace_back(output.size(), std::byte{0x7F});
  reference::run_into(schedule_of(key.algorithm, key.arithmetic, how), inputs, wanted);
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
    for (const auto& [algorithm, collective, build] : model::builders()) {
      if (find_kernel({algorithm, arithmetic, fault, collective}) == nullptr) continue;
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
  REQUIRE(names.size() == 49);
}

TEST_CASE("a planted fault of values shows wherever it is, and the healthy kernel shows nothing",
          "[kernels]") {
  for (const auto& fault : planted_faults()) {
    if (fault.kind == "order" || fault.kind == "flags") continue;  // planted_order_test has these
    if (fault.name == "unchecked_counts") continue;                // all_to_all_v_test has it
    const std::vector<Arithmetic> hosts = hosts_of(fault.name);
    CAPTURE(std::string(fault.name));
    REQUIRE(!hosts.empty());
    for (const Arithmetic& arithmetic : hosts) {
      for (const auto& [algorithm, collective, build] : model::builders()) {
        const KernelKey faulty{algorithm, arithmetic, fault.name, collective};
        if (find_kernel(faulty) == nullptr) continue;
        CAPTURE(std::string(model::name(collective)), std::string(algorithm),
                arithmetic.wire.name());
        REQUIRE(deviation({algorithm, arithmetic, "", collective}, fault.name) == "");
        const bool shows = deviation(faulty, fault.name) != "";
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
