#pragma once

// Happens-before the slow way, to judge the fast one by: a graph over all events of a run, with an
// edge for each pair that the language orders directly, closed over.

#include <set>
#include <tuple>
#include <vector>

#include "kernels/emulator/happens_before.h"

namespace tally::kernels::emulator {

/// One thing that happened; the run is a list of them.
struct OrderEvent {
  enum class What { load, store, update, performed, fence, barrier, relaunch };
  What what;
  int slot = 0;   // barrier: any of the block's; relaunch: any of the rank's
  int first = 0;  // byte of the buffer
  int bytes = 0;  // performed: which event's store, in `first`
  Order order = Order::plain;
  Scope scope = Scope::system;
};

/// Two events, the earlier one first, and what kind of race they are.
using RacingEvents = std::tuple<int, int, Race::Kind>;

/// All pairs of racing events. `places` are by slot. A relaunch ends the kernel of a rank's
/// threads and begins the next one, behind all that relaunched before.
std::set<RacingEvents> races_of(const std::vector<OrderEvent>& events,
                                const std::vector<Place>& places);

}  // namespace tally::kernels::emulator
