#pragma once

// What a transfer alone gets on its way from one GPU to another, for tests of topologies.

#include "model/machine.h"

namespace tally::test {

/// The way of the fewest links: how many, the least of their rates, and the sum of their latencies.
/// No links: there is no way.
struct Route {
  int links = 0;
  double bytes_per_s = 0, latency_ns = 0;
};
Route route(const model::Topology& topology, int from, int to);

}  // namespace tally::test
