#pragma once

// What a prediction is asked for.

#include <string>

#include "model/collective.h"
#include "model/wire_size.h"
#include "sim/launch_mode.h"

namespace tally::sim {

/// A row of measured tables, but for its size.
struct Scenario {
  std::string machine = "mi300x";  // as model::find_machine takes it
  int nodes = 1, ranks = 8;
  model::Collective collective = model::Collective::all_reduce;
  std::string library = "tally";
  std::string version;             // as manifests spell it; decides what was built in
  std::string algorithm = "auto";  // auto: as the library chooses
  model::WireSize wire;
  model::ElementType dtype = model::Format::f32;
  Launch launch = Launch::process_per_gpu;
  bool in_place = false;
};

}  // namespace tally::sim
