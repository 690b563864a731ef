#pragma once

// The way from one GPU to another over a topology.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/machine.h"
#include "sim/units.h"

namespace tally::sim {

struct Route {
  std::vector<int> links;  // in order, as numbered by the topology
  Picos latency;           // the sum of theirs
};

/// Routes are found when they are asked for, and kept. A GPU forwards nothing: routes pass through
/// switches, processors, network cards and networks. Of all ways the one with the fewest links, of
/// those the widest, of those the one whose links have the lowest numbers, compared as the search
/// meets them: a topology always gives the same route.
class Network {
 public:
  /// `topology` outlives the network.
  explicit Network(const model::Topology& topology);

  /// Null where there is no way. `from` and `to` differ.
  const Route* route(int from, int to);

 private:
  struct Visit {
    int search = 0;  // the search that reached the vertex last
    int depth = 0;
    int link = -1;     // by which it was reached
    double width = 0;  // of the narrowest link since the search's beginning
  };
  /// A breadth-first search from one end, along the links or against them.
  struct Side {
    std::vector<std::vector<int>> links_of;  // [vertex]
    std::vector<Visit> visits;
    std::vector<int> frontier;
    bool is_forward;
  };
  void begin(Side& side, int vertex);
  void advance(Side& side);
  std::size_t cost(const Side& side) const;
  std::int64_t meeting(const Side& advanced, const Side& other) const;
  int far_end(const Side& side, int link) const;
  Route search(int from, int to);

  const model::Topology& topology_;
  Side forward_, backward_;
  int searches_ = 0;
  std::unordered_map<std::int64_t, Route> routes_;
};

}  // namespace tally::sim
