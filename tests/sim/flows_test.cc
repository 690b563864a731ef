// Goal: flows get their max-min fair rates, and end to the picosecond when these say.
// Method: on random networks, naive water-filling is the oracle, and the two properties that define
// max-min fairness are looked for: also when flows start and end one after the other. Ends are
// compared with what can be written down.

#include "sim/flows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/support/aborts.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

/// |computed - exact| <= gamma(k) * exact for k roundings of half an ulp each. Higham, "Accuracy
/// and Stability of Numerical Algorithms", lemma 3.1.
double gamma(std::size_t k) {
  const double u = std::numeric_limits<double>::epsilon() / 2, n = static_cast<double>(k);
  return n * u / (1 - n * u);
}

struct Case {
  std::vector<double> capacities;
  std::vector<std::vector<int>> flows;  // the resources of each
};

/// All rates grow by the same amount until a resource is full; its flows stop. Cubic.
std::vector<double> water_filling(const Case& c) {
  std::vector<double> rates(c.flows.size(), 0);
  std::vector<bool> stopped(c.flows.size(), false);
  const auto uses = [&](std::size_t flow, int resource) {
    return std::ranges::count(c.flows[flow], resource) > 0;
  };
  while (std::ranges::count(stopped, false) > 0) {
    double level = std::numeric_limits<double>::infinity();
    std::vector<double> levels(c.capacities.size(), level);
    for (std::size_t r = 0; r < c.capacities.size(); ++r) {
      double left = c.capacities[r], growing = 0;
      for (std::size_t f = 0; f < rates.size(); ++f) {
        if (!uses(f, static_cast<int>(r))) continue;
        if (stopped[f]) left -= rates[f];
        if (!stopped[f]) growing += 1;
      }
      if (growing > 0) levels[r] = left / growing;
      level = std::min(level, levels[r]);
    }
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const bool stops = !stopped[f] && std::ranges::any_of(c.flows[f], [&](int resource) {
        return levels[resource] == level;
      });
      if (stops) rates[f] = level, stopped[f] = true;
    }
  }
  return rates;
}

/// Up to 12 flows over up to 8 resources. Capacities are few, so that ties are common.
Case any_case() {
  Case c;
  const int resources = *rc::gen::inRange(1, 9).as("resources");
  for (int r = 0; r < resources; ++r) c.capacities.push_back(*rc::gen::inRange(1, 6) * 12e9);
  const int flows = *rc::gen::inRange(1, 13).as("flows");
  for (int f = 0; f < flows; ++f) {
    std::vector<int> uses;
    const int first = *rc::gen::inRange(0, resources);
    for (int r = 0; r < resources; ++r) {
      if (r == first || *rc::gen::inRange(0, 3) == 0) uses.push_back(r);
    }
    c.flows.push_back(uses);
  }
  return c;
}

/// Whether nobody has more than its resources give, and everybody has a full resource on which
/// nobody is faster. Sums of `roundings` numbers are compared as exactly as they are made.
bool is_max_min_fair(const Case& c, const std::vector<double>& rates) {
  const double one = 1 + gamma(4 * rates.size());
  std::vector<double> used(c.capacities.size(), 0), fastest(c.capacities.size(), 0);
  for (std::size_t f = 0; f < rates.size(); ++f) {
    for (const int r : c.flows[f]) {
      used[r] += rates[f];
      fastest[r] = std::max(fastest[r], rates[f]);
    }
  }
  for (std::size_t r = 0; r < used.size(); ++r) {
    if (!(used[r] <= c.capacities[r] * one)) return false;
  }
  for (std::size_t f = 0; f < rates.size(); ++f) {
    const bool has_bottleneck = std::ranges::any_of(c.flows[f], [&](int r) {
      return used[r] * one >= c.capacities[r] && rates[f] * one >= fastest[r];
    });
    if (!has_bottleneck) return false;
  }
  return true;
}

constexpr std::int64_t kLong = std::int64_t{1} << 50;  // bytes that do not end in a test

std::vector<double> rates_of(Flows& flows, const std::vector<int>& numbers) {
  std::vector<double> rates;
  for (const int number : numbers) rates.push_back(flows.rate(number));
  return rates;
}

}  // namespace

TEST_CASE("rates", "[sim]") {
  test::property("are those of water-filling", [] {
    const Case c = any_case();
    Flows flows(c.capacities);
    std::vector<int> numbers;
    for (const auto& uses : c.flows) numbers.push_back(flows.start({}, kLong, uses));
    const auto rates = rates_of(flows, numbers), expected = water_filling(c);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      RC_ASSERT(std::abs(rates[f] - expected[f]) <= gamma(4 * rates.size()) * expected[f]);
    }
    RC_ASSERT(is_max_min_fair(c, rates));
  });
  test::property("are max-min fair whenever flows have started and ended", [] {
    const Case all = any_case();
    Flows flows(all.capacities);
    std::map<int, std::size_t> under_way;  // which flow has that number
    const auto check = [&] {
      Case now{all.capacities, {}};
      std::vector<int> numbers;
      for (const auto& [number, f] : under_way) {
        numbers.push_back(number);
        now.flows.push_back(all.flows[f]);
      }
      RC_ASSERT(is_max_min_fair(now, rates_of(flows, numbers)));
    };
    Picos now;
    for (std::size_t f = 0; f < all.flows.size(); ++f) {
      const auto bytes = *rc::gen::inRange<std::int64_t>(1, 1'000'000).as("bytes");
      under_way[flows.start(now, bytes, all.flows[f])] = f;
      check();
      if (*rc::gen::inRange(0, 2) == 0) continue;
      now = flows.next_end();
      for (const auto& [number, bottleneck] : flows.end_next()) under_way.erase(number);
      check();
    }
    while (!flows.empty()) {
      RC_ASSERT(flows.next_end() >= now);
      now = flows.next_end();
      for (const auto& [number, bottleneck] : flows.end_next()) under_way.erase(number);
      check();
    }
    RC_ASSERT(under_way.empty());
  });
  test::property("that are too high or too low are seen by the check itself", [] {
    const Case c = any_case();
    std::vector<double> rates = water_filling(c);
    const auto which = *rc::gen::inRange<std::size_t>(0, rates.size());
    rates[which] *= *rc::gen::element(0.99, 1.01);
    RC_ASSERT(!is_max_min_fair(c, rates));
  });
}

TEST_CASE("a flow ends", "[sim]") {
  test::property("when its bytes have passed at its narrowest resource's rate", [] {
    const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
    const double slow = *rc::gen::inRange(1, 1000) * 1e8;
    Flows flows({3 * slow, slow, 2 * slow});
    const int flow = flows.start({7}, bytes, {{0, 1, 2}});
    RC_ASSERT(flows.next_end() == Picos{7} + transfer_time(bytes, slow));
    const auto ended = flows.end_next();
    RC_ASSERT(ended.size() == 1u);
    RC_ASSERT(ended[0].flow == flow);
    RC_ASSERT(ended[0].bottleneck == 1);
  });
  test::property("with all those that share a resource equally, at that share", [] {
    const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
    const int sharers = *rc::gen::inRange(1, 20);
    const double rate = *rc::gen::inRange(1, 1000) * 1e8;
    Flows flows({rate, 1e15});
    for (int i = 0; i < sharers; ++i) flows.start({}, bytes, {{0, 1}});
    RC_ASSERT(flows.next_end() == transfer_time(bytes, rate / sharers));
    RC_ASSERT(std::ssize(flows.end_next()) == sharers);
    RC_ASSERT(flows.empty());
  });
  test::property("as if nobody else were there, where nothing is shared", [] {
    Flows flows({1e9, 2e9});
    const auto a = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    const auto b = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    flows.start({}, a, {{0}});
    flows.start({}, b, {{1}});
    const Picos ends[] = {transfer_time(a, 1e9), transfer_time(b, 2e9)};
    RC_ASSERT(flows.next_end() == std::min(ends[0], ends[1]));
    flows.end_next();
    if (!flows.empty()) RC_ASSERT(flows.next_end() == std::max(ends[0], ends[1]));
  });
}

TEST_CASE("a flow that is joined by another goes on at half the rate, and alone at all of it again",
          "[sim]") {
  Flows flows({1e12});  // a byte each picosecond
  flows.start({0}, 1000, {{0}});
  REQUIRE(flows.next_end() == Picos{1000});
  flows.start({400}, 300, {{0}});
  REQUIRE(flows.next_end() == Picos{1000});  // 600 picoseconds for 300 bytes of each
  REQUIRE(flows.end_next().size() == 1);
  REQUIRE(flows.next_end() == Picos{1300});
  flows.end_next();
  REQUIRE(flows.empty());
}

TEST_CASE("a flow that others hold back leaves them what it cannot use", "[sim]") {
  Flows flows({10e9, 4e9, 100e9});
  const int held = flows.start({}, kLong, {{0, 1}}), free = flows.start({}, kLong, {{0, 2}});
  REQUIRE(flows.rate(held) == 4e9);
  REQUIRE(flows.rate(free) == 6e9);
}

TEST_CASE("a resource without capacity", "[.]") { Flows flows({1.0, 0.0}); }
TEST_CASE("a flow of nothing", "[.]") { Flows({1.0}).start({}, 0, {{0}}); }
TEST_CASE("a flow in the past", "[.]") {
  Flows flows({1.0});
  flows.start({5}, 1, {{0}});
  flows.start({4}, 1, {{0}});
}

TEST_CASE("what is no flow stops the program", "[sim]") {
  REQUIRE(test::aborts("a resource without capacity", "a resource has some capacity"));
  REQUIRE(test::aborts("a flow of nothing", "a flow of something over something"));
  REQUIRE(test::aborts("a flow in the past", "time never goes back"));
}

}  // namespace tally::sim
