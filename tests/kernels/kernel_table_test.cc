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

using kernels::emulator::can_launch;
using kernels::emulator::find_kernel;
using kernels::emulator::Geometry;
using kernels::emulator::KernelKey;
using model::Accumulate;
using model::Arithmetic;
using model::Format;
using model::Op;

constexpr std::int64_t kCounts[] = {0, 1, 3, 15, 16, 17, 127, 128, 129, 255, 257, 1000, 2049};
constexpr Geometry kGeometries[] = {{1, 1, 64}, {1, 4, 64}, {2, 64, 64}, {3, 32, 32}, {2, 16, 32}};
constexpr std::string_view kAlgorithms[] = {"flat", "tree", "ring", "flat_ll"};
constexpr std::string_view kWithBlocks[] = {"flat", "tree", "ring"};
constexpr Format kElements[] = {Format::f32, Format::f16, Format::bf16};

/// How a kernel differs from its schedule; "" where it does not.
std::string difference(const KernelKey& key, const KernelRun& how,
                       const reference::RankBuffers& inputs) {
  const KernelOutcome outcome = run_kernel(key, how, inputs);
  const model::Schedule schedule = schedule_of(key.algorithm, key.arithmetic, how);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (!how.in_place && outcome.inputs != inputs) return "inputs: changed";
  if (outcome.trace.link_bytes != model::link_bytes(schedule)) return "bytes: other than planned";
  if (!meets_as_planned(outcome.trace, schedule)) return "edges: other than planned";
  return first_difference(key.arithmetic.element, outcome.outputs,
                          reference::run(schedule, inputs));
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
  auto inputs = random_inputs(arithmetic.element, how.ranks, how.count, how.seed);
  const auto& f = model::format(arithmetic.element);
  for (auto& input : inputs) {
    for (std::int64_t i = 0; i < how.count; ++i) {
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
    for (const std::string_view algorithm : kAlgorithms) {
      const KernelKey key{algorithm, arithmetic, ""};
      REQUIRE((find_kernel(key) == nullptr) ==
              model::disallowed(model::Collective::all_reduce, algorithm, arithmetic).has_value());
      if (find_kernel(key) == nullptr) continue;
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
        CAPTURE(std::string(algorithm), std::string(model::name(arithmetic.op)), ranks, how.count,
                arithmetic.wire.name(), how.geometry.threads);
        REQUIRE(difference(key, how, inputs_for(arithmetic, how)) == "");
      }
    }
  }
  REQUIRE(runs == 3 * 5 * (5 * 7 + 2 * (8 * 4 + 16 * 3)));
}

TEST_CASE("block wires of every length, scale and rule give the reference's bits", "[kernels]") {
  std::uint64_t runs = 0;
  for (const char* scale : {"f32", "f16", "e8m0:floor", "e8m0:rceil"}) {
    for (const char* format : {"e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz"}) {
      for (const int length : {16, 32, 64, 128, 256}) {
        const auto wire =
            model::parse_wire(std::string(format) + ":b" + std::to_string(length) + ":" + scale);
        for (const std::string_view algorithm : kWithBlocks) {
          for (const Format element : kElements) {
            ++runs;
            const Arithmetic arithmetic{element, *wire, Op::sum, Accumulate::f32};
            const KernelRun how{.ranks = 3,
                                .count = runs % 2 == 0 ? 1000 : 2047,
                                .geometry = {2, 32, 32},
                                .in_place = runs % 5 == 0,
                                .seed = runs};
            CAPTURE(std::string(algorithm), wire->name());
            REQUIRE(difference({algorithm, arithmetic, ""}, how, inputs_for(arithmetic, how)) ==
                    "");
          }
        }
      }
    }
  }
  REQUIRE(runs == 4 * 4 * 5 * 3 * 3);
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
  using kernels::emulator::scratch_bytes;
  const Arithmetic plain{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, plain, 1, 0) == 0);
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, plain, 1, 8) == 16);
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, plain, 1, 9) == 32);
  const auto with = [](const char* wire) {
    return Arithmetic{Format::f32, *model::parse_wire(wire), Op::sum, Accumulate::f32};
  };
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, with("e4m3fnuz"), 1, 16) == 16);
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, with("e4m3fnuz"), 1, 17) == 32);
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, with("e4m3fn:b32:f32"), 1, 33) ==
          48 + 16);  // 8 bytes of scales
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, with("e4m3fn:b16:f16"), 1, 129) ==
          144 + 32);  // 18
  REQUIRE(kernels::scratch_bytes(model::Collective::all_reduce, with("e4m3fn:b32:e8m0:floor"), 1,
                                 512) == 512 + 16);
}

TEST_CASE("packets take four times the wire's words of every rank, where any are sent",
          "[kernels]") {
  using kernels::emulator::packet_bytes;
  const Arithmetic plain{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};
  const Arithmetic cast{Format::f32, model::cast_wire(Format::e5m2), Op::sum, Accumulate::f32};
  REQUIRE(kernels::packet_bytes("flat_ll", plain, 8, 0) == 0);
  REQUIRE(kernels::packet_bytes("flat_ll", plain, 8, 9) ==
          2 * 8 * 2 * 32);  // halves, ranks, flags, words
  REQUIRE(kernels::packet_bytes("flat_ll", cast, 3, 17) == 2 * 3 * 2 * 32);
  REQUIRE(kernels::packet_bytes("flat", plain, 8, 9) == 0);
}

}  // namespace tally::test
