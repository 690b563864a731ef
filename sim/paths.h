#pragma once

// The ways in which libraries carry a collective out, as data, and the closed form of each.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/parameters.h"
#include "sim/scenario.h"
#include "sim/traffic.h"

namespace tally::sim {

/// One way of one library. `link_bytes` are what crosses a link for each byte: LL sends 4 of flag
/// with 4 of data, LL128 8 with 120 (NVIDIA/nccl, src/device/prims_ll*.h).
struct PathRow {
  std::string_view library, name;
  Movement movement;
  double link_bytes;
  std::string_view parameters;  // the prefix of its terms in the table of parameters
  bool encodes = false;         // whether the scenario's wire is what travels
};
std::span<const PathRow> path_rows();

/// A path for one scenario: time_us(n) = base + hops * s(n) + n * per_byte + ramp * sqrt(n),
/// where s(n) rises from 0 to 1 until every rank has 16 bytes, and not below `floor`.
struct Path {
  std::string_view name;
  double base_us = 0, hops_us = 0, us_per_byte = 0, ramp_us = 0, floor_us = 0;
  double full_bytes = 0, small_exponent = 0;  // of s; exponent 0: s is 1

  double micros(double bytes) const;
  friend bool operator==(const Path&, const Path&) = default;
  /// The name of the largest term at that size: launch, hops, link or pipeline.
  std::string_view bound_by(double bytes) const;
};

/// What each path of the scenario's library costs there; nothing of those that cannot be had.
/// `machine` is the scenario's.
std::vector<Path> paths_of(const Scenario& scenario, const model::Machine& machine,
                           const Parameters& parameters);

}  // namespace tally::sim
