// Goal: every kernel of the emulator's table gives the reference's bits, moves its schedule's bytes
// and meets its edges, on real elements.
// Method: run all of them on random codes, in sizes and geometries that take turns.

#include "kernels/emulator/kernel_table.h"

#include "model/builders.h"
#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using kernels::packet_bytes;
using kernels::scratch_bytes;
using kernels::emulator::can_launch;
using kernels::emulator::find_kernel;
using kernels::emulator::Geometry;
using kernels::emulator::KernelKey;
using model::Accumulate;
using model::Arithmetic;
using model::Builder;
using model::Collective;
using model::Format;
using model::Op;

constexpr std::int64_t kCounts[] = {0, 1, 3, 15, 16, 17, 127, 128, 129, 255, 257, 1000, 2049};
constexpr Geometry kGeometries[] = {
    {1, 1, 64}, {1, 4, 64, 3}, {2, 64, 64}, {3, 32, 32, 2}, {2, 16, 32}};
constexpr std::byte kStale{0x7F};  // fills outputs, as KernelData has it
constexpr Format kElements[] = {Format::f32, Format::f16, Format::bf16};

KernelKey key_of(const Builder& builder, const Arithmetic& arithmetic) {
  return {builder.algorithm, arithmetic, "", builder.collective};
}

/// Fits the run to the collective: all_to_all_v has counts, and no form in place.
KernelRun fitted(KernelRun how, Collective collective) {
  how.collective = collective;
  if (collective != Collective::all_to_all_v) return how;
  how.in_place = false;
  how.send_counts = ragged_counts(how.ranks, how.count, how.seed);
  return how;
}

/// How a kernel differs from its schedule; "" where it does not.
std::string difference(const KernelKey& key, const KernelRun& how,
                       const reference::RankBuffers& inputs) {
  const KernelOutcome outcome = run_kernel(key, how, inputs);
  const model::Schedule schedule = schedule_of(key.algorithm, key.arithmetic, how);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (!how.in_place && outcome.inputs != inputs) return "inputs: changed";
  if (!was_told_what_was_sent(outcome, how)) return "counts: other than sent";
  if (outcome.trace.link_bytes != planned_link_bytes(schedule)) return "bytes: other than planned";
  if (!meets_as_planned(outcome.trace, schedule)) return "edges: other than planned";
  reference::RankBuffers wanted;  // where no block comes, what the outputs held before
  for (const auto& output : outcome.outputs) wanted.emplace_back(output.size(), kStale);
  reference::run_into(schedule, inputs, wanted);
  return first_difference(key.arithmetic.element, outcome.outputs, wanted);
}

/// Of every kernel in the table.
std::vector<Arithmetic> all_arithmetics() {
  std::vector<Arithmetic> all;
  for (const Format element : kElements) {
    for (const Op op : model::all_ops()) {
      if (model::premultiplies(op)) continue;
      all.push_back({element, model::kNoWire, op, Accumulate::element});
      all.push_back({element, model::kNoWire, op, Accumulate::f32});
      if (!model::allows_wire(op)) continue;
      for (const model::Wire& wire : model::all_wires()) {
        if (!wire.is_none()) all.push_back({element, wire, op, Accumulate::f32});
      }
    }
  }
  return all;
}

/// Random codes; in every other block of 64 elements none is NaN or infinite, so that blocks have
/// substance.
reference::RankBuffers inputs_for(const Arithmetic& arithmetic, const KernelRun& how) {
  const std::int64_t elements = model::input_elements(how.collective, how.ranks, how.count);
  auto inputs = random_inputs(arithmetic.element, how.ranks, elements, how.seed);
  const auto& f = model::format(arithmetic.element);
  for (auto& input : inputs) {
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::uint32_t code = code_at(arithmetic.element, input, i);
      const bool is_finite = (code & ~f.sign_mask()) <= f.max_code();
      if (is_finite || i / 64 % 2 == 0) continue;
      std::vector<std::byte> one;
      append_code(arithmetic.element, f.sign_mask() | 0x1234, one);
      std::copy(one.begin(), one.end(), input.begin() + i * f.bytes());
    }
  }
  return inputs;
}

}  // namespace

TEST_CASE("every kernel of the table moves its schedule's bytes and gives its bits", "[kernels]") {
  std::uint64_t runs = 0;
  for (const Arithmetic& arithmetic : all_arithmetics()) {
    for (const Builder& builder : model::builders()) {
      // Of kernels that only move, the op is in no name.
      if (model::only_moves(builder.collective) && arithmetic.op != Op::sum) continue;
      const KernelKey key = key_of(builder, arithmetic);
      const bool is_allowed =
          !model::disallowed(builder.collective, builder.algorithm, arithmetic).has_value();
      if (!is_allowed && model::only_moves(builder.collective)) continue;
      REQUIRE((find_kernel(key) != nullptr) == is_allowed);
      if (!is_allowed) continue;
      for (const int ranks : {1, 2, 3, 8, 16}) {
        ++runs;
        KernelRun how{.ranks = ranks,
                      .count = kCounts[runs % std::size(kCounts)],
                      .in_place = runs % 3 == 0,
                      .seed = runs};
        std::size_t shape = runs;
        do {
          how.geometry = kGeometries[++shape % std::size(kGeometries)];
        } while (!can_launch(arithmetic, how.geometry));
        how = fitted(how, builder.collective);
        CAPTURE(std::string(model::name(builder.collective)), std::string(builder.algorithm),
                std::string(model::name(arithmetic.op)), ranks, how.count, arithmetic.wire.name(),
                how.geometry.threads, how.geometry.rounds);
        REQUIRE(difference(key, how, inputs_for(arithmetic, how)) == "");
      }
    }
  }
  // Without a wire; with a cast; with blocks; what only moves.
  REQUIRE(runs == 3 * 5 * (5 * 9 + 2 * (8 * 5 + 16 * 4) + 3 * (1 + 8 + 16)));
}

TEST_CASE("block wires of every length, scale and rule give the reference's bits", "[kernels]") {
  std::uint64_t runs = 0;
  for (const char* scale : {"f32", "f16", "e8m0:floor", "e8m0:rceil"}) {
    for (const char* format : {"e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz"}) {
      for (const int length : {16, 32, 64, 128, 256}) {
        const auto wire =
            model::parse_wire(std::string(format) + ":b" + std::to_string(length) + ":" + scale);
        for (const Builder& builder : model::builders()) {
          if (builder.algorithm == "flat_ll") continue;  // its packets carry no scales
          for (const Format element : kElements) {
            ++runs;
            const Arithmetic arithmetic{element, *wire, Op::sum, Accumulate::f32};
            const KernelRun how = fitted({.ranks = 3,
                                          .count = runs % 2 == 0 ? 1000 : 2047,
                                          .geometry = {2, 32, 32, 1 + static_cast<int>(runs % 3)},
                                          .in_place = runs % 5 == 0,
                                          .seed = runs},
                                         builder.collective);
            CAPTURE(std::string(model::name(builder.collective)), std::string(builder.algorithm),
                    wire->name());
            REQUIRE(difference(key_of(builder, arithmetic), how, inputs_for(arithmetic, how)) ==
                    "");
          }
        }
      }
    }
  }
  REQUIRE(runs == 4 * 4 * 5 * 7 * 3);
}

TEST_CASE("the table has no kernel that rounds to the element behind a wire", "[kernels]") {
  for (const Arithmetic& arithmetic : all_arithmetics()) {
    if (arithmetic.wire.is_none()) continue;
    Arithmetic other = arithmetic;
    other.accumulate = Accumulate::element;
    REQUIRE(find_kernel({"flat", arithmetic, ""}) != nullptr);
    REQUIRE(find_kernel({"flat", other, ""}) == nullptr);
  }
}

TEST_CASE("a wire can be launched where its groups are whole and in one wave", "[kernels]") {
  const auto can = [](const char* wire, const Geometry& geometry) {
    return can_launch({Format::f32, *model::parse_wire(wire), Op::sum, Accumulate::f32}, geometry);
  };
  REQUIRE(can("none", {1, 1, 64}));
  REQUIRE(can("e4m3fn", {1, 7, 32}));
  REQUIRE(can("e4m3fn:b16:f32", {1, 7, 32}));
  REQUIRE(can("e4m3fn:b64:f32", {1, 4, 32}));
  REQUIRE(!can("e4m3fn:b64:f32", {1, 6, 32}));
  REQUIRE(can("e4m3fn:b256:f32", {1, 48, 64}));
  REQUIRE(!can("e4m3fn:b256:f32", {1, 8, 64}));
}

TEST_CASE("scratch is the wire's words, and behind them its scales in whole words", "[kernels]") {
  const Arithmetic plain{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};
  REQUIRE(scratch_bytes(Collective::all_reduce, plain, 1, 0) == 0);
  REQUIRE(scratch_bytes(Collective::all_reduce, plain, 1, 8) == 16);
  REQUIRE(scratch_bytes(Collective::all_reduce, plain, 1, 9) == 32);
  const auto with = [](const char* wire) {
    return Arithmetic{Format::f32, *model::parse_wire(wire), Op::sum, Accumulate::f32};
  };
  REQUIRE(scratch_bytes(Collective::all_reduce, with("e4m3fnuz"), 1, 16) == 16);
  REQUIRE(scratch_bytes(Collective::all_reduce, with("e4m3fnuz"), 1, 17) == 32);
  REQUIRE(scratch_bytes(Collective::all_reduce, with("e4m3fn:b32:f32"), 1, 33) ==
          48 + 16);  // 8 bytes of scales
  REQUIRE(scratch_bytes(Collective::all_reduce, with("e4m3fn:b16:f16"), 1, 129) == 144 + 32);  // 18
  REQUIRE(scratch_bytes(Collective::all_reduce, with("e4m3fn:b32:e8m0:floor"), 1, 512) == 512 + 16);
}

TEST_CASE("a scratch of slots has whole units for each rank, and that of others the count",
          "[kernels]") {
  const Arithmetic bf16{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};
  const Arithmetic blocks{Format::bf16, *model::parse_wire("e4m3fn:b256:f32"), Op::sum,
                          Accumulate::f32};
  for (const Collective collective :
       {Collective::reduce_scatter, Collective::all_to_all, Collective::all_to_all_v}) {
    REQUIRE(scratch_bytes(collective, bf16, 3, 0) == 0);
    REQUIRE(scratch_bytes(collective, bf16, 3, 1) == 3 * 128 * 2);
    REQUIRE(scratch_bytes(collective, bf16, 3, 129) == 3 * 256 * 2);
    REQUIRE(scratch_bytes(collective, blocks, 3, 1) == 3 * 256 + 16);  // 12 bytes of scales
  }
  REQUIRE(scratch_bytes(Collective::all_gather, bf16, 3, 9) == 32);
}

TEST_CASE("packets take four times the wire's words of every rank, where any are sent",
          "[kernels]") {
  const Arithmetic plain{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};
  const Arithmetic cast{Format::f32, model::cast_wire(Format::e5m2), Op::sum, Accumulate::f32};
  REQUIRE(packet_bytes("flat_ll", plain, 8, 0) == 0);
  REQUIRE(packet_bytes("flat_ll", plain, 8, 9) == 2 * 8 * 2 * 32);  // halves, ranks, flags, words
  REQUIRE(packet_bytes("flat_ll", cast, 3, 17) == 2 * 3 * 2 * 32);
  REQUIRE(packet_bytes("flat", plain, 8, 9) == 0);
}

}  // namespace tally::test
