#include <fmt/format.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "kernels/emulator/kernel_table.h"
#include "model/builders.h"
#include "model/machine.h"
#include "sim/predict.h"
#include "verify/plan.h"
#include "verify/subject.h"

namespace tally::cli {

int list(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] != "--help" && arguments[0] != "-h") {
    return complain({"list", "takes no argument, but got '" + arguments[0] + "'", "tally list"});
  }
  fmt::print("subjects\n");
  for (const std::string& name : verify::subject_names()) {
    const auto found = verify::find_subject(name, {kernels::hardware::linked_gpu_runtime()});
    fmt::print("  {:<26}{}\n", name,
               found->subject ? "available" : "not available here: " + found->unavailable);
  }
  fmt::print("algorithms\n");
  for (const model::Builder& builder : model::builders()) {
    fmt::print("  {:<26}{}\n", builder.algorithm, model::name(builder.collective));
  }
  fmt::print("machines of sim\n");
  for (const std::string& name : model::machine_names()) {
    fmt::print("  {:<26}{}\n", name, model::find_machine(name)->gpu.name);
  }
  fmt::print("libraries of sim\n");
  for (const std::string& name : sim::libraries()) fmt::print("  {}\n", name);
  fmt::print("wires\n");
  for (const model::Wire& wire : model::all_wires()) fmt::print("  {}\n", wire.name());
  fmt::print("inputs\n");
  for (const std::string_view name : reference::input_kinds()) fmt::print("  {}\n", name);
  if (const auto tensors = reference::bundled_tensors()) {
    for (const reference::Input& input : *tensors) fmt::print("  {}\n", input.name);
  }
  fmt::print("faults to plant\n");
  for (const auto& fault : kernels::emulator::planted_faults()) {
    fmt::print("  {:<26}{} ({})\n", fault.name, fault.what, fault.report);
  }
  return kHeld;
}

}  // namespace tally::cli
