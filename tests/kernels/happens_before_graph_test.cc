// Goal: vector clocks accuse the same accesses as the graph of everything that happened.
// Method: random runs of a few threads over a few bytes, judged by both; and runs of which the
// clocks are told something weaker, where the two must come apart.

#include "tests/kernels/happens_before_graph.h"

#include <algorithm>
#include <ostream>

#include "kernels/emulator/choices.h"
#include "tests/kernels/order_program.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::kernels::emulator {

void showValue(const OrderEvent& e, std::ostream& out) {
  constexpr const char* kNames[] = {"load",  "store",   "update",  "performed",
                                    "fence", "barrier", "relaunch"};
  out << "slot " << e.slot << ' ' << kNames[int(e.what)] << " [" << e.first << ", "
      << e.first + e.bytes << ") order " << int(e.order) << " scope " << int(e.scope);
}

namespace {

using What = OrderEvent::What;
using Events = std::vector<OrderEvent>;

constexpr int kMostEvents = 32;

/// A place of its own in the source for every event.
std::source_location site_of_event(int event) {
#define TALLY_AT std::source_location::current()
  static const std::source_location kSites[kMostEvents] = {
      TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT,
      TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT,
      TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT,
      TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT, TALLY_AT};
#undef TALLY_AT
  return kSites[event];
}
int event_at(const std::source_location& site) {
  for (int event = 0; event < kMostEvents; ++event) {
    const std::source_location one = site_of_event(event);
    if (one.line() == site.line() && one.column() == site.column()) return event;
  }
  return -1;
}

/// below(n) chooses. Six threads, of which some share a wave, a block, a rank; mostly two flags of
/// 4 bytes, and data that overlaps in all ways.
template <class Below>
OrderEvent any_event(int number, Below&& below) {
  constexpr int kSlotsOfThreads[] = {0, 1, 2, 4, 8, 12};
  constexpr Scope kScopes[] = {Scope::system, Scope::system, Scope::agent, Scope::workgroup,
                               Scope::wavefront};
  OrderEvent e;
  e.slot = kSlotsOfThreads[below(6)];
  e.scope = kScopes[below(5)];
  const int what = below(20);
  if (what == 0) return {What::relaunch, e.slot};
  if (what == 1) return {What::barrier, e.slot};
  if (what <= 3) return {What::performed, 0, below(std::max(number, 1))};
  if (what <= 6) {
    constexpr Order kFences[] = {Order::acquire, Order::release, Order::acq_rel};
    return {What::fence, e.slot, 0, 0, kFences[below(3)], e.scope};
  }
  e.what = what <= 11 ? What::load : what <= 17 ? What::store : What::update;
  e.bytes = below(3) > 0 ? 4 : 1 << below(5);
  e.first = below(3) > 0 ? 4 * below(2) / e.bytes * e.bytes : below(8) / e.bytes * e.bytes;
  constexpr Order kLoads[] = {Order::acquire, Order::relaxed, Order::acquire, Order::plain};
  constexpr Order kStores[] = {Order::release, Order::relaxed, Order::release, Order::plain};
  constexpr Order kUpdates[] = {Order::acq_rel, Order::relaxed, Order::acquire, Order::release};
  const int order = below(4);
  e.order = e.what == What::load    ? kLoads[order]
            : e.what == What::store ? kStores[order]
                                    : kUpdates[order];
  if (e.what == What::update) e.bytes = std::clamp(e.bytes, 4, 8), e.first &= -e.bytes;
  if (e.order == Order::plain) e.first += below(3);
  return e;
}

/// Performs the event in the detector; tokens are by event.
void happen(OrderProgram& p, const Events& events, int number, std::vector<StoreToken>& tokens,
            Clock& host) {
  const OrderEvent& e = events[number];
  OrderProgram::Thread& thread = p.slot(e.slot);
  std::byte* const address = p.data + e.first;
  const auto bytes = static_cast<std::uint32_t>(e.bytes);
  const std::source_location site = site_of_event(number);
  switch (e.what) {
    case What::load:
      thread.load(address, bytes, e.order, e.scope, site);
      break;
    case What::store:
      tokens[number] = thread.issue(address, bytes, e.order, e.scope, site);
      break;
    case What::update:
      thread.update(address, bytes, e.order, e.scope, site);
      break;
    case What::performed:
      p.order.performed(std::exchange(tokens[e.first], 0));
      break;
    case What::fence:
      thread.fence(e.order, e.scope);
      break;
    case What::barrier:
      p.barrier(thread.place.id.rank, thread.place.id.block);
      break;
    case What::relaunch:
      p.order.kernel_ends(p.places(thread.place.id.rank), host);
      p.order.kernel_begins(p.places(thread.place.id.rank), host);
  }
}

std::vector<Place> all_places() {
  OrderProgram p;
  std::vector<Place> places = p.places(0), others = p.places(1);
  places.insert(places.end(), others.begin(), others.end());
  return places;
}

/// Whether the clocks, told `told`, accuse as the graph of `events` does: no pair that does not
/// race, and each event that races with an earlier one.
bool agree(const Events& events, const Events& told) {
  static const std::vector<Place> places = all_places();
  const std::set<RacingEvents> expected = races_of(events, places);
  OrderProgram p;
  std::vector<StoreToken> tokens(events.size());
  Clock host;
  for (int i = 0; i < static_cast<int>(told.size()); ++i) happen(p, told, i, tokens, host);
  std::set<int> accused, racing;
  for (const Race& race : p.order.races()) {
    const int first = event_at(race.first.site), second = event_at(race.second.site);
    if (expected.count({first, second, race.kind}) == 0) return false;
    accused.insert(second);
  }
  for (const auto& [first, second, kind] : expected) racing.insert(second);
  return p.order.races().size() == 10 || accused == racing;
}

Events random_run(std::uint64_t seed) {
  SplitMix random(seed);
  Events events;
  const int size = 1 + random.below(kMostEvents);
  while (static_cast<int>(events.size()) < size) {
    const int number = static_cast<int>(events.size());
    events.push_back(any_event(number, [&](int n) { return random.below(n); }));
  }
  return events;
}

}  // namespace

TEST_CASE("clocks and graph accuse the same accesses", "[kernels]") {
  test::property("in any short run", [] {
    const int size = *rc::gen::inRange(1, kMostEvents + 1);
    const Events events = *rc::gen::container<Events>(
        size, rc::gen::exec([size] {
          return any_event(size, [](int n) { return *rc::gen::inRange(0, n); });
        }));
    RC_ASSERT(agree(events, events));
  });
  int disagree = 0, free_of_races = 0;
  for (int seed = 0; seed < 20'000; ++seed) {
    const Events events = random_run(seed);
    disagree += !agree(events, events);
    free_of_races += events.size() >= 8 && races_of(events, all_places()).empty();
  }
  REQUIRE(disagree == 0);
  REQUIRE(free_of_races >= 100);
}

TEST_CASE("clocks that are told less come to other verdicts", "[kernels]") {
  const auto come_apart = [](auto weaken) {
    for (int seed = 0; seed < 20'000; ++seed) {
      const Events events = random_run(seed);
      Events told = events;
      for (OrderEvent& event : told) weaken(event);
      if (!agree(events, told)) return true;
    }
    return false;
  };
  REQUIRE_FALSE(come_apart([](OrderEvent&) {}));
  REQUIRE(come_apart([](OrderEvent& e) {
    if (e.order == Order::release) e.order = Order::relaxed;
  }));
  REQUIRE(come_apart([](OrderEvent& e) {
    if (e.what == What::fence) e.scope = Scope::wavefront;
  }));
  REQUIRE(come_apart([](OrderEvent& e) {
    if (e.what == What::update) e.what = What::store;
  }));
  REQUIRE(come_apart([](OrderEvent& e) {
    if (e.what == What::barrier || e.what == What::relaunch) e.what = What::performed;
  }));
  REQUIRE(come_apart([](OrderEvent& e) { e.bytes = std::min(e.bytes, 4); }));
}

}  // namespace tally::kernels::emulator
