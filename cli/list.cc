#include <fmt/format.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "kernels/emulator/kernel_table.h"
#include "model/builders.h"
#include "verify/plan.h"
#include "verify/subject.h"

namespace tally::cli {

int list(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] != "--help" && arguments[0] != "-h") {
    return complain({"list", "takes no argument, but got '" + arguments[0] + "'", "tally list"});
  }
  fmt::print("subjects\n");
  for (const std::string& name : verify::subject_names()) {
    const auto subject = verify::find_subject(name);
    fmt::print("  {:<26}{}\n", name, *subject != nullptr ? "available" : "not available here");
  }
  fmt::print("algorithms\n");
  for (const model::Builder& builder : model::builders()) {
    if (builder.collective != model::Collective::all_reduce) continue;
    fmt::print("  {:<26}{}\n", builder.algorithm, model::name(builder.collective));
  }
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
