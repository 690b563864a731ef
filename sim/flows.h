#pragma once

// Flows that share resources: at every moment each has its max-min fair rate.

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "sim/units.h"

namespace tally::sim {

/// No flow can be given more without taking from one that has no more than it: every flow has a
/// bottleneck, a full resource on which nobody is faster. Bertsekas and Gallager, "Data Networks",
/// 2nd edition, section 6.5.2. Rates are computed again only for flows that a start or an end
/// reaches: through resources that a changed flow uses, and on from there through flows whose rates
/// may change. A flow that has its narrowest resource to itself, and whose share of every other is
/// no less, is held at that rate and hands nothing on.
class Flows {
 public:
  /// The capacity of each resource, more than 0.
  explicit Flows(const std::vector<double>& bytes_per_s);

  /// A flow of `bytes` > 0 over different resources, at least one. Time never goes back. Returns
  /// the lowest number that is free; it is free again when the flow has ended.
  int start(Picos now, std::int64_t bytes, std::span<const int> resources);

  bool empty() const { return under_way_ == 0; }
  /// When the next flow ends, if none starts before. There must be one.
  Picos next_end();

  /// By number. `bottleneck` is the resource that held the flow last.
  struct Ended {
    int flow, bottleneck;
  };
  /// Ends the flows whose end is next_end().
  std::vector<Ended> end_next();

  /// The rate that a flow has now, in bytes a second.
  double rate(int flow);

 private:
  struct Resource {
    double capacity;
    std::vector<int> flows = {};
    int visit = 0;
    double left = 0;  // while rates are computed: what is not given away, to how many, in shares of
    int sharers = 0;
    double share = 0;
  };
  struct Flow {
    std::vector<int> resources;
    std::vector<int> places;  // of this flow in each resource's list
    double left = 0;          // bytes at `since`
    double rate = 0;
    Picos since;
    int bottleneck = -1;
    int version = 0;  // of its end
    int visit = 0;    // the settlement that came by
    int frozen = 0;   // the settlement that gave it its rate
    bool is_held = false;
  };
  struct End {
    Picos at;
    int flow, version;
    bool operator>(const End& o) const { return at != o.at ? at > o.at : flow > o.flow; }
  };
  struct Share {
    double share;
    int resource;
    bool operator>(const Share& o) const {
      return share != o.share ? share > o.share : resource > o.resource;
    }
  };
  template <class T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  void leave(int flow);
  void settle();
  void collect();
  void fill();
  void visit_resource(int resource);
  int narrowest(const Flow& flow) const;
  bool is_held_by(int narrowest, const Flow& flow) const;
  void freeze_at_share(const std::vector<int>& tied, double share, Earliest<Share>& shares);
  void set_rate(int flow, double rate);

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  Earliest<int> free_;
  Earliest<End> ends_;
  std::vector<int> changed_;  // resources where a flow started or ended since the last settlement
  std::vector<int> reached_;  // resources of the settlement
  std::vector<int> touched_, tied_;
  Picos now_;
  int under_way_ = 0, settlement_ = 0;
};

}  // namespace tally::sim
