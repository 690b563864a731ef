#pragma once

// The time of a program on a machine: a simulation of flows over links, memories and codecs.

#include <string>
#include <vector>

#include "model/machine.h"
#include "sim/costs.h"
#include "sim/program.h"
#include "sim/units.h"

namespace tally::sim {

/// A part of the critical path, from the host's call to the last lane's end: stages of one name in
/// a row, with the waits that end them. Phases follow each other without a gap.
struct Phase {
  std::string name;  // copy_launch, launch, or a stage's
  Picos begin, end;
  std::int64_t stages;   // on the path
  std::string bound_by;  // what took most of it: launch, signal, "link gpu0 -> gpu1", ...
  Picos bound;           // how long that was
};

struct Timing {
  Picos total;
  std::vector<Phase> phases;
  std::int64_t events = 0;  // that were simulated: stages and flows
};

/// All ranks begin at once. Work takes its links, the memory of the peer and its own, and its own
/// codec, all at once, each shared max-min fairly with whatever else is under way; a signal takes
/// `costs.signal` and the latencies of its route; a load or a store has no latency of its own, and
/// no stage of a lane begins before all of the one before it. Rank r runs on GPU r. Deterministic.
/// The error says which ranks have no route, or that there are not as many GPUs as ranks.
model::Result<Timing> time(const Program& program, const model::Topology& topology,
                           const Costs& costs);
/// A schedule with its own wire, started in that way.
model::Result<Timing> time(const model::Schedule& schedule, const model::Machine& machine,
                           Launch launch);

/// The phases, a line each.
std::string to_text(const Timing& timing);

}  // namespace tally::sim
