#include "sim/network.h"

#include <algorithm>
#include <limits>

#include "model/check.h"

namespace tally::sim {

using model::Link;
using model::Vertex;

Network::Network(const model::Topology& topology) : topology_(topology) {
  for (Side* side : {&forward_, &backward_}) {
    side->is_forward = side == &forward_;
    side->links_of.resize(topology.vertices.size());
    side->visits.resize(topology.vertices.size());
  }
  for (int i = 0; i < std::ssize(topology.links); ++i) {
    TALLY_CHECK(topology.links[i].bytes_per_s > 0, "a link has some bandwidth");
    forward_.links_of[topology.links[i].from].push_back(i);
    backward_.links_of[topology.links[i].to].push_back(i);
  }
}

const Route* Network::route(int from, int to) {
  TALLY_CHECK(from != to, "a route has two ends");
  const auto [at, is_new] =
      routes_.try_emplace(std::int64_t{from} * std::ssize(topology_.vertices) + to);
  if (is_new) at->second = search(from, to);
  return at->second.links.empty() ? nullptr : &at->second;
}

int Network::far_end(const Side& side, int link) const {
  return side.is_forward ? topology_.links[link].to : topology_.links[link].from;
}

void Network::begin(Side& side, int vertex) {
  side.visits[vertex] = {searches_, 0, -1, std::numeric_limits<double>::infinity()};
  side.frontier = {vertex};
}

/// One level further. GPUs are reached, since one of them may be the other end, but not left.
void Network::advance(Side& side) {
  std::vector<int> reached;
  for (const int vertex : side.frontier) {
    const Visit here = side.visits[vertex];
    if (here.depth > 0 && topology_.vertices[vertex].kind == Vertex::Kind::gpu) continue;
    for (const int link : side.links_of[vertex]) {
      Visit& there = side.visits[far_end(side, link)];
      const double width = std::min(here.width, topology_.links[link].bytes_per_s);
      const bool is_new = there.search != searches_;
      if (is_new) reached.push_back(far_end(side, link));
      if (is_new || (there.depth == here.depth + 1 && width > there.width)) {
        there = {searches_, here.depth + 1, link, width};
      }
    }
  }
  std::ranges::sort(reached);
  side.frontier = std::move(reached);
}

/// What it takes to advance a side: a network of thousands of nodes is left to the other one.
std::size_t Network::cost(const Side& side) const {
  std::size_t links = 0;
  for (const int vertex : side.frontier) {
    const bool is_left =
        side.visits[vertex].depth == 0 || topology_.vertices[vertex].kind != Vertex::Kind::gpu;
    if (is_left) links += side.links_of[vertex].size();
  }
  return links;
}

/// Where the side that advanced last has met the other: in the widest place, or -1.
std::int64_t Network::meeting(const Side& advanced, const Side& other) const {
  std::int64_t best = -1;
  double widest = 0;
  for (const int vertex : advanced.frontier) {
    if (other.visits[vertex].search != searches_) continue;
    const bool is_end = advanced.visits[vertex].depth == 0 || other.visits[vertex].depth == 0;
    if (!is_end && topology_.vertices[vertex].kind == Vertex::Kind::gpu) continue;
    const double width = std::min(advanced.visits[vertex].width, other.visits[vertex].width);
    if (width > widest) widest = width, best = vertex;
  }
  return best;
}

Route Network::search(int from, int to) {
  ++searches_;
  begin(forward_, from);
  begin(backward_, to);
  std::int64_t meeting_place = -1;
  while (meeting_place < 0) {
    if (forward_.frontier.empty() || backward_.frontier.empty()) return {};
    const bool is_forward = cost(forward_) <= cost(backward_);
    Side& side = is_forward ? forward_ : backward_;
    advance(side);
    meeting_place = meeting(side, is_forward ? backward_ : forward_);
  }
  Route route;
  const auto vertex = static_cast<int>(meeting_place);
  for (int v = vertex; v != from; v = topology_.links[route.links.back()].from) {
    route.links.push_back(forward_.visits[v].link);
  }
  std::ranges::reverse(route.links);
  for (int v = vertex; v != to; v = topology_.links[route.links.back()].to) {
    route.links.push_back(backward_.visits[v].link);
  }
  for (const int link : route.links) route.latency += from_nanos(topology_.links[link].latency_ns);
  return route;
}

}  // namespace tally::sim
