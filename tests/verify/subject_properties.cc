#include "tests/verify/subject_properties.h"

#include <rapidcheck.h>

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::test {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using verify::Case;
using verify::Subject;

/// The calls as a case; a block for each lane.
Case case_of(std::span<const PropertyCall> calls, const std::string& fault) {
  const model::Schedule& schedule = calls[0].schedule;
  Case c;
  c.collective = schedule.collective;
  c.algorithm = schedule.algorithm;
  c.arithmetic = schedule.arithmetic;
  c.ranks = schedule.ranks;
  c.placement = schedule.in_place ? verify::Placement::in_place : verify::Placement::out_of_place;
  c.launch.blocks = static_cast<int>(schedule.lanes[0].size());
  c.seed = calls[0].seed;
  c.fault = fault;
  for (const PropertyCall& call : calls) c.counts.push_back(call.schedule.count);
  return c;
}

}  // namespace

PropertySubject property_subject(const Subject& subject, const std::string& fault) {
  return [&subject, fault](std::span<const PropertyCall> calls) {
    const Case c = case_of(calls, fault);
    std::vector<reference::RankBuffers> inputs;
    for (const PropertyCall& call : calls) inputs.push_back(call.inputs);
    const verify::Observation seen = subject.run(c, inputs, {});
    if (fault.empty()) RC_ASSERT(seen.hang.empty() && seen.broken.empty());
    return seen.outputs;
  };
}

bool has_kernel(const Subject& subject, const std::string& algorithm, const Arithmetic& arithmetic,
                const std::string& fault) {
  Case c;
  c.algorithm = algorithm;
  c.arithmetic = arithmetic;
  c.fault = fault;
  return !subject.cannot_run(c);
}

namespace {

/// Those with kernels for this wire.
std::vector<std::string> algorithms(const Subject& subject, const model::Wire& wire) {
  const Arithmetic a{Format::bf16, wire, model::Op::sum,
                     wire.is_none() ? Accumulate::element : Accumulate::f32};
  std::vector<std::string> all;
  for (const model::Builder& builder : model::builders()) {
    if (builder.collective != model::Collective::all_reduce) continue;
    const std::string algorithm(builder.algorithm);
    if (has_kernel(subject, algorithm, a)) all.push_back(algorithm);
  }
  return all;
}

/// Those for which every one of the algorithms has a kernel.
std::vector<Arithmetic> arithmetics(const Subject& subject, const std::vector<std::string>& among) {
  std::vector<Arithmetic> all;
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    for (const model::Op op : {model::Op::sum, model::Op::avg}) {
      for (const model::Wire& wire : model::all_wires()) {
        const Arithmetic a{element, wire, op,
                           wire.is_none() ? Accumulate::element : Accumulate::f32};
        bool is_everywhere = true;
        for (const std::string& algorithm : among) {
          is_everywhere = is_everywhere && has_kernel(subject, algorithm, a);
        }
        if (is_everywhere) all.push_back(a);
      }
    }
  }
  return all;
}

}  // namespace

void require_properties(const Subject& subject) {
  const auto blocks = model::block_wire(Format::e4m3fn, 32, Format::f32, model::ScaleRule::amax);
  for (const model::Wire& wire : {model::kNoWire, blocks}) {
    const std::vector<std::string> names = algorithms(subject, wire);
    const std::vector<Arithmetic> all = arithmetics(subject, names);
    REQUIRE(names.size() >= 2);
    REQUIRE(all.size() >= 3);
    for (const CollectiveProperty& property : collective_properties()) {
      test::property(std::string(property.claim), [&] {
        const auto c = any_property_case(names, all, 4);
        RC_ASSERT(property.violation(property_subject(subject), c) == "");
      });
    }
  }
}

}  // namespace tally::test
