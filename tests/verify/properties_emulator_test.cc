// Goal: the kernels, run by the emulator, have the properties that every all-reduce has by
// definition, whatever the reference says.
// Method: the properties of the reference's tests, with the emulator as their subject; and planted
// faults that they have to reject.

#include <rapidcheck.h>

#include "tests/reference/collective_properties.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"
#include "verify/subject.h"

namespace tally::verify {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using test::CollectiveProperty;
using test::PropertyCall;

/// The calls as a case; a block for each lane.
Case case_of(std::span<const PropertyCall> calls, const std::string& fault) {
  const model::Schedule& schedule = calls[0].schedule;
  Case c;
  c.collective = schedule.collective;
  c.algorithm = schedule.algorithm;
  c.arithmetic = schedule.arithmetic;
  c.ranks = schedule.ranks;
  c.placement = schedule.in_place ? Placement::in_place : Placement::out_of_place;
  c.launch.blocks = static_cast<int>(schedule.lanes[0].size());
  c.seed = calls[0].seed;
  c.fault = fault;
  for (const PropertyCall& call : calls) c.counts.push_back(call.schedule.count);
  return c;
}

test::PropertySubject emulated(const std::string& fault = "") {
  return [fault](std::span<const PropertyCall> calls) {
    const Case c = case_of(calls, fault);
    std::vector<reference::RankBuffers> inputs;
    for (const PropertyCall& call : calls) inputs.push_back(call.inputs);
    const Observation seen = emulator_subject()->run(c, inputs, {});
    if (fault.empty()) RC_ASSERT(seen.hang.empty() && seen.broken.empty());
    return seen.outputs;
  };
}

bool has_kernel(const std::string& algorithm, const Arithmetic& arithmetic,
                const std::string& fault = "") {
  Case c;
  c.algorithm = algorithm;
  c.arithmetic = arithmetic;
  c.fault = fault;
  return !emulator_subject()->cannot_run(c);
}

/// Those with kernels for this wire.
std::vector<std::string> algorithms(const model::Wire& wire) {
  const Arithmetic a{Format::bf16, wire, model::Op::sum,
                     wire.is_none() ? Accumulate::element : Accumulate::f32};
  std::vector<std::string> all;
  for (const model::Builder& builder : model::builders()) {
    if (builder.collective != model::Collective::all_reduce) continue;
    if (has_kernel(std::string(builder.algorithm), a)) all.emplace_back(builder.algorithm);
  }
  return all;
}

/// Those for which every one of the algorithms has a kernel.
std::vector<Arithmetic> arithmetics(const std::vector<std::string>& among) {
  std::vector<Arithmetic> all;
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    for (const model::Op op : {model::Op::sum, model::Op::avg}) {
      for (const model::Wire& wire : model::all_wires()) {
        const Arithmetic a{element, wire, op,
                           wire.is_none() ? Accumulate::element : Accumulate::f32};
        bool is_everywhere = true;
        for (const std::string& algorithm : among) is_everywhere &= has_kernel(algorithm, a);
        if (is_everywhere) all.push_back(a);
      }
    }
  }
  return all;
}

/// Whether cases drawn with a fixed seed all have the property.
bool holds(const CollectiveProperty& property, const std::string& fault) {
  rc::detail::TestParams params;
  params.seed = 1;
  params.disableShrinking = true;
  const Arithmetic a{Format::bf16, model::kNoWire, model::Op::sum, Accumulate::element};
  const auto check = [&] {
    const auto c = test::any_property_case({"flat"}, {a}, 3);
    RC_ASSERT(property.violation(emulated(fault), c) == "");
  };
  const auto result = rc::detail::checkTestable(check, rc::detail::TestMetadata(), params);
  return result.is<rc::detail::SuccessResult>();
}

}  // namespace

TEST_CASE("the kernels' all-reduce", "[verify]") {
  const auto blocks = model::block_wire(Format::e4m3fn, 32, Format::f32, model::ScaleRule::amax);
  for (const model::Wire& wire : {model::kNoWire, blocks}) {
    const std::vector<std::string> names = algorithms(wire);
    const std::vector<Arithmetic> all = arithmetics(names);
    REQUIRE(names.size() >= 2);
    REQUIRE(all.size() >= 3);
    for (const CollectiveProperty& property : test::collective_properties()) {
      test::property(std::string(property.claim), [&] {
        const auto c = test::any_property_case(names, all, 4);
        RC_ASSERT(property.violation(emulated(), c) == "");
      });
    }
  }
}

TEST_CASE("faults in kernels break properties", "[verify]") {
  const std::pair<const char*, std::string_view> kRejected[] = {
      {"stale_scratch", "what a call left"},
      {"tail_dropped", "begin alike"},
      {"rank_doubled", "the order of the ranks"},
      {"output_not_written", "zeros sum"},
  };
  const Arithmetic a{Format::bf16, model::kNoWire, model::Op::sum, Accumulate::element};
  for (const auto& [fault, part] : kRejected) {
    INFO(fault);
    REQUIRE(has_kernel("flat", a, fault));
    for (const CollectiveProperty& property : test::collective_properties()) {
      if (property.claim.find(part) == std::string_view::npos) continue;
      CHECK_FALSE(holds(property, fault));
    }
  }
}

}  // namespace tally::verify
