#include "sim/flows.h"

#include <algorithm>
#include <cmath>

#include "model/check.h"

namespace tally::sim {

Flows::Flows(const std::vector<double>& bytes_per_s) {
  for (const double capacity : bytes_per_s) {
    TALLY_CHECK(capacity > 0, "a resource has some capacity");
    resources_.push_back({capacity});
  }
}

int Flows::start(Picos now, std::int64_t bytes, std::span<const int> resources) {
  TALLY_CHECK(now >= now_, "time never goes back");
  TALLY_CHECK(bytes > 0 && !resources.empty(), "a flow of something over something");
  if (now > now_) settle();  // what changed before, as of then
  now_ = now;
  int number = static_cast<int>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
  } else {
    number = free_.top();
    free_.pop();
  }
  Flow& flow = flows_[number];
  flow.resources.assign(resources.begin(), resources.end());
  flow.places.clear();
  flow.left = static_cast<double>(bytes);
  flow.rate = 0;
  flow.since = now;
  flow.is_held = false;
  for (const int resource : resources) {
    flow.places.push_back(static_cast<int>(resources_[resource].flows.size()));
    resources_[resource].flows.push_back(number);
    changed_.push_back(resource);
  }
  ++under_way_;
  return number;
}

Picos Flows::next_end() {
  TALLY_CHECK(!empty(), "no flow is under way");
  settle();
  while (flows_[ends_.top().flow].version != ends_.top().version) ends_.pop();
  return ends_.top().at;
}

std::vector<Flows::Ended> Flows::end_next() {
  now_ = next_end();
  std::vector<Ended> ended;
  while (!ends_.empty() && ends_.top().at == now_) {
    const End end = ends_.top();
    ends_.pop();
    if (flows_[end.flow].version != end.version) continue;
    ended.push_back({end.flow, flows_[end.flow].bottleneck});
    leave(end.flow);
  }
  for (const Ended& each : ended) free_.push(each.flow);
  return ended;
}

double Flows::rate(int flow) {
  settle();
  return flows_[flow].rate;
}

void Flows::leave(int number) {
  Flow& flow = flows_[number];
  for (std::size_t i = 0; i < flow.resources.size(); ++i) {
    // The last flow of the list takes this one's place.
    std::vector<int>& list = resources_[flow.resources[i]].flows;
    const int last = list.back();
    list[flow.places[i]] = last;
    list.pop_back();
    Flow& moved = flows_[last];
    const auto at = std::ranges::find(moved.resources, flow.resources[i]);
    moved.places[at - moved.resources.begin()] = flow.places[i];
    changed_.push_back(flow.resources[i]);
  }
  ++flow.version;
  --under_way_;
}

void Flows::settle() {
  if (changed_.empty()) return;
  ++settlement_;
  collect();
  fill();
}

void Flows::visit_resource(int resource) {
  if (resources_[resource].visit == settlement_) return;
  resources_[resource].visit = settlement_;
  reached_.push_back(resource);
}

int Flows::narrowest(const Flow& flow) const {
  int narrowest = flow.resources[0];
  for (const int resource : flow.resources) {
    if (resources_[resource].capacity < resources_[narrowest].capacity) narrowest = resource;
  }
  return narrowest;
}

/// Whether the flow surely has all of its narrowest resource's capacity, since an equal share of
/// each of its resources is no less.
bool Flows::is_held_by(int narrowest, const Flow& flow) const {
  return std::ranges::all_of(flow.resources, [&](int resource) {
    const Resource& shared = resources_[resource];
    return shared.capacity / static_cast<double>(shared.flows.size()) >=
           resources_[narrowest].capacity;
  });
}

/// Finds all resources whose flows may have to change their rates, and settles the held flows.
void Flows::collect() {
  reached_.clear();
  for (const int resource : changed_) visit_resource(resource);
  changed_.clear();
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    for (const int number : resources_[reached_[i]].flows) {
      Flow& flow = flows_[number];
      if (flow.visit == settlement_) continue;
      flow.visit = settlement_;
      const bool was_held = flow.is_held;
      flow.bottleneck = narrowest(flow);
      flow.is_held = is_held_by(flow.bottleneck, flow);
      if (flow.is_held) set_rate(number, resources_[flow.bottleneck].capacity);
      if (was_held && flow.is_held) continue;
      for (const int resource : flow.resources) visit_resource(resource);
    }
  }
}

/// Progressive filling: all flows grow alike until a resource is full; those on it are frozen.
void Flows::fill() {
  Earliest<Share> shares;
  for (const int number : reached_) {
    Resource& resource = resources_[number];
    resource.left = resource.capacity;
    resource.sharers = 0;
    for (const int flow : resource.flows) {
      if (flows_[flow].is_held) {
        resource.left -= flows_[flow].rate;
      } else {
        ++resource.sharers;
      }
    }
    if (resource.sharers == 0) continue;
    resource.share = resource.left / resource.sharers;
    shares.push({resource.share, number});
  }
  while (!shares.empty()) {
    // Resources with equal shares are frozen together, so that what is alike gets the same rate,
    // to the last bit.
    const double share = shares.top().share;
    tied_.clear();
    while (!shares.empty() && shares.top().share == share) {
      const Resource& resource = resources_[shares.top().resource];
      if (resource.sharers > 0 && resource.share == share) tied_.push_back(shares.top().resource);
      shares.pop();
    }
    freeze_at_share(tied_, share, shares);
  }
}

void Flows::freeze_at_share(const std::vector<int>& tied, double share, Earliest<Share>& shares) {
  touched_.clear();
  for (const int full : tied) {
    for (const int number : resources_[full].flows) {
      Flow& flow = flows_[number];
      if (flow.is_held || flow.frozen == settlement_) continue;
      flow.frozen = settlement_;
      flow.bottleneck = full;
      set_rate(number, share);
      for (const int other : flow.resources) {
        resources_[other].left -= share;
        --resources_[other].sharers;
        touched_.push_back(other);
      }
    }
  }
  for (const int number : touched_) {
    Resource& resource = resources_[number];
    if (resource.sharers == 0) continue;
    const double next = std::max(share, resource.left / resource.sharers);
    if (next == resource.share) continue;
    resource.share = next;
    shares.push({next, number});
  }
}

/// A flow whose rate stays keeps the end that it has: it is rounded once.
void Flows::set_rate(int number, double rate) {
  Flow& flow = flows_[number];
  if (flow.rate == rate) return;
  const double seconds = static_cast<double>((now_ - flow.since).n) * 1e-12;
  flow.left = std::max(0.0, flow.left - flow.rate * seconds);
  flow.since = now_;
  flow.rate = rate;
  const auto lasts = static_cast<std::int64_t>(std::ceil(flow.left * (1e12 / rate)));
  ends_.push({now_ + Picos{lasts}, number, ++flow.version});
}

}  // namespace tally::sim
