#include "tests/model/routes.h"

#include <algorithm>
#include <limits>

namespace tally::test {

Route route(const model::Topology& topology, int from, int to) {
  std::vector<Route> best(topology.vertices.size());
  std::vector<int> reached{from};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Route so_far = best[reached[i]];
    const double rate =
        reached[i] == from ? std::numeric_limits<double>::infinity() : so_far.bytes_per_s;
    for (const model::Link& link : topology.links) {
      if (link.from != reached[i] || link.to == from || best[link.to].links > 0) continue;
      best[link.to] = {so_far.links + 1, std::min(rate, link.bytes_per_s),
                       so_far.latency_ns + link.latency_ns};
      reached.push_back(link.to);
    }
  }
  return best[to];
}

}  // namespace tally::test
