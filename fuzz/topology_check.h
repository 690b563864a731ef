#pragma once

// What holds of a machine that was read from anything.

#include "model/fabric.h"
#include "model/machine.h"

namespace tally::fuzz {

/// Connected, over links with rates; or an error that says what, with a hint.
inline void check_machine(const model::Result<model::Machine>& machine) {
  if (!machine) {
    TALLY_CHECK(!machine.error().what.empty() && !machine.error().hint.empty(), "a silent error");
    return;
  }
  TALLY_CHECK(model::is_connected(machine->topology), "a machine that falls apart");
  for (const model::Link& link : machine->topology.links) {
    TALLY_CHECK(link.bytes_per_s > 0 && link.latency_ns >= 0, "a link without a rate");
  }
}

}  // namespace tally::fuzz
