#include "verify/museum.h"

#include <algorithm>
#include <set>

#include "kernels/emulator/litmus_kernels.h"
#include "model/check.h"
#include "verify/mutants.h"
#include "verify/order_fault.h"
#include "verify/planted_cases.h"

namespace tally::verify {
namespace {

using namespace kernels::emulator;

/// Of all_reduce, and of the collectives that share one of its barriers.
constexpr int kHealthyInterleavings = 500, kHealthyInterleavingsOfOthers = 150;
constexpr int kLitmusInterleavings = 300;

/// A kernel without a fault, in three calls of different sizes.
Exhibit healthy(const model::Builder& kernel, const model::Arithmetic& arithmetic) {
  Case c;
  c.collective = kernel.collective;
  c.algorithm = kernel.algorithm;
  c.arithmetic = arithmetic;
  c.ranks = 2;
  c.counts = {300, 520, 300};
  c.launch = {2, 4, 64};
  c.memory = MemoryKind::gfx942;
  c.interleavings = kernel.collective == model::Collective::all_reduce
                        ? kHealthyInterleavings
                        : kHealthyInterleavingsOfOthers;
  return {kernel_label(kernel) + ' ' + arithmetic.wire.name(), "", std::string(kHealthy), "",
          [c] { return detect(c, *emulator_subject()); }};
}

void add_healthy(std::vector<Exhibit>& all) {
  const model::Wire wires[] = {
      model::kNoWire, model::cast_wire(model::Format::e4m3fnuz),
      model::block_wire(model::Format::e4m3fn, 32, model::Format::f32, model::ScaleRule::amax)};
  for (const model::Builder& kernel : model::builders()) {
    for (const model::Wire& wire : wires) {
      const model::Arithmetic arithmetic{
          model::Format::bf16, wire, model::Op::sum,
          wire.is_none() ? model::Accumulate::element : model::Accumulate::f32};
      if (!model::disallowed(kernel.collective, kernel.algorithm, arithmetic)) {
        all.push_back(healthy(kernel, arithmetic));
      }
    }
  }
}

Exhibit planted(const PlantedCase& one, std::string exhibit_name) {
  const auto faults = planted_faults();
  const auto fault = std::find_if(faults.begin(), faults.end(),
                                  [&](const PlantedFault& f) { return f.name == one.fault; });
  TALLY_CHECK(fault != faults.end(), "a case plants a fault that is not in the catalogue");
  const auto c = parse_case(std::string(one.case_text));
  TALLY_CHECK(static_cast<bool>(c), "a planted case is a case");
  return {std::move(exhibit_name), std::string(fault->report), std::string(fault->kind), "",
          [c = *c] { return detect(c, *emulator_subject()); }};
}

/// The first case of a fault is called as it, the others "no_exit_barrier in all_gather".
void add_planted(std::vector<Exhibit>& all) {
  std::set<std::string_view> faults;
  for (const PlantedCase& one : planted_cases()) {
    std::string name(one.fault);
    const std::string_view collective = one.case_text.substr(0, one.case_text.find('/'));
    if (!faults.insert(one.fault).second) (name += " in ") += collective;
    all.push_back(planted(one, name));
  }
}

/// What a litmus kernel did wrong, first of all in the order of the exact judge.
Detector detector_of(const LitmusOutcome& outcome) {
  if (!outcome.trace.hang.empty()) return Detector::hang;
  if (!outcome.races.empty()) return Detector::race;
  if (!outcome.wrong.empty()) return Detector::value;
  return outcome.trace.out_of_bounds.empty() ? Detector::none : Detector::bounds;
}

Detection search(const LitmusKernel& kernel, Form form) {
  Detection found;
  const Settings settings{.memory = MemoryKind::gfx942, .finds_races = true};
  while (found.interleavings < kLitmusInterleavings && found.caught_by == Detector::none) {
    RandomWalk choices(static_cast<std::uint64_t>(++found.interleavings));
    const LitmusOutcome outcome = kernel.run(form, choices, settings);
    found.caught_by = detector_of(outcome);
    for (const auto* sentences :
         {&outcome.trace.hang, &outcome.races, &outcome.trace.out_of_bounds}) {
      if (found.reason.empty() && !sentences->empty()) found.reason = sentences->front();
    }
    if (found.reason.empty()) found.reason = outcome.wrong;
  }
  return found;
}

void add_litmus(std::vector<Exhibit>& all) {
  for (const LitmusKernel& kernel : litmus_kernels()) {
    const PlantedFault& fault = kernel.fault;
    all.push_back({std::string(fault.name), std::string(fault.report), std::string(fault.kind), "",
                   [&kernel] { return search(kernel, Form::faulty); }});
    all.push_back({std::string(fault.name) + " repaired", "", std::string(kHealthy), "",
                   [&kernel] { return search(kernel, Form::healthy); }});
  }
}

}  // namespace

std::vector<Exhibit> museum() {
  std::vector<Exhibit> all;
  add_healthy(all);
  add_planted(all);
  add_litmus(all);
  for (Exhibit& mutant : mutant_exhibits()) all.push_back(std::move(mutant));
  return all;
}

}  // namespace tally::verify
