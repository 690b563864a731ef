#pragma once

// What the flags of `tally sim` say of the collectives whose time is asked for.

#include <string>
#include <vector>

#include "model/result.h"
#include "sim/predict.h"

namespace CLI {
class App;
}

namespace tally::cli {

/// What was typed, before it is understood. An empty list of algorithms is all of them.
struct TypedScenarios {
  std::string collective = "all_reduce", machine = "mi300x", nodes = "1", ranks, dtype = "f32";
  std::string library = "tally", version, algorithm, wire = "none", launch = "process_per_gpu";
  bool in_place = false;
};

void declare_scenarios(CLI::App& app, TypedScenarios& typed);

/// The lists multiplied out, later ones of collective, machine, nodes, ranks, dtype, library,
/// algorithm, wire and launch varying faster. A library is left out of what it has no algorithm of.
model::Result<std::vector<sim::Scenario>> read_scenarios(const TypedScenarios& typed);

}  // namespace tally::cli
