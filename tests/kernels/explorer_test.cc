// Goal: an exploration comes to every result that any order of the threads can have, in one run for
// each class of orders that differ in nothing that can be seen.
// Method: small random programs, and ones that go wrong in one order only, run in all orders too.

#include "kernels/emulator/explorer.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "kernels/emulator/depth_first.h"
#include "kernels/emulator/emulated_gpu.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::kernels::emulator {
namespace {

constexpr int kVariables = 2;

/// What a thread does next to one of the variables.
struct Operation {
  enum class What { load, store, add, wait, barrier };
  What what;
  int variable = 0;
  std::uint32_t value = 0;
};
void showValue(const Operation& operation, std::ostream& out) {
  constexpr const char* kNames[] = {"load", "store", "add", "wait", "barrier"};
  out << kNames[int(operation.what)] << " x" << operation.variable << ' ' << operation.value;
}

using Operations = std::vector<Operation>;
/// One block for each rank; its threads make equally many barriers.
using Program = std::vector<std::vector<Operations>>;  // [rank][thread]

/// Holds once any thread has written: what is written is never 0.
struct Written {
  std::uint32_t target = 0;
  bool operator()(std::uint32_t value) const { return value != target; }
};

/// What one run has come to.
struct Result {
  std::string values;  // of the variables in the end and of all loads, or that it hung
  std::string order;   // of what interferes; the same for all runs of a class
  friend auto operator<=>(const Result&, const Result&) = default;
};

/// The accesses to each variable; loads between the same two writes come in no order.
std::string order_of(const Trace& trace, const std::byte* variables) {
  std::vector<std::vector<std::string>> groups[kVariables];
  for (const Event& event : trace.log) {
    if (event.what != Event::What::access && event.what != Event::What::wait) continue;
    const auto offset = static_cast<const std::byte*>(event.access.address) - variables;
    auto& of_variable = groups[offset / 4];
    const std::string who = std::to_string(event.thread.rank * 10 + event.thread.thread);
    if (of_variable.empty() || event.access.writes()) of_variable.emplace_back();
    of_variable.back().push_back((event.access.writes() ? "w" : "r") + who);
    if (event.access.writes()) of_variable.emplace_back();
  }
  std::string text;
  for (auto& of_variable : groups) {
    for (auto& group : of_variable) {
      std::sort(group.begin(), group.end());
      for (const std::string& one : group) text += one + ' ';
      if (!group.empty()) text += ", ";
    }
    text += "; ";
  }
  return text;
}

Result run(const Program& program, Choices& choices) {
  const int ranks = static_cast<int>(program.size());
  Memory memory(ranks, 4096);
  auto* x = reinterpret_cast<std::uint32_t*>(
      memory.allocate(0, "variables", 4 * kVariables, std::byte{0}).first);
  std::map<std::pair<int, int>, std::string> seen;
  Emulator emulator(memory, ranks, choices, {.keeps_log = true});
  for (int rank = 0; rank < ranks; ++rank) {
    const int threads = static_cast<int>(program[rank].size());
    emulator.launch(rank, {1, threads, 64}, [&, rank](EmulatedGpu& gpu) {
      for (const auto& [what, variable, value] : program[rank][gpu.thread()]) {
        std::string& log = seen[{rank, gpu.thread()}];
        std::uint32_t* const at = x + variable;
        switch (what) {
          case Operation::What::load:
            log += std::to_string(gpu.load(at)) + ' ';
            break;
          case Operation::What::store:
            gpu.store_flag(at, value, Release{}, System{});
            break;
          case Operation::What::add:
            log += std::to_string(gpu.fetch_add(at, value, Relaxed{}, System{})) + ' ';
            break;
          case Operation::What::wait:
            gpu.wait(at, Written{}, Acquire{}, System{});
            break;
          case Operation::What::barrier:
            gpu.block_barrier();
            break;
        }
      }
    });
  }
  const Trace trace = emulator.run();
  if (!trace.hang.empty()) return {"hang", ""};
  std::ostringstream values;
  values << x[0] << ' ' << x[1];
  for (const auto& [thread, log] : seen) values << " / " << log;
  return {values.str(), order_of(trace, reinterpret_cast<const std::byte*>(x))};
}

struct Results {
  std::set<std::string> values, orders;
  std::int64_t runs = 0, redundant = 0;
  bool is_exhausted = false;
};

template <class Search>
Results all_results(const Program& program) {
  Results results;
  Search search;
  do {
    typename Search::Run choices(search);
    const Result result = run(program, choices);
    results.values.insert(result.values);
    results.orders.insert(result.order);
  } while (search.advance());
  results.is_exhausted = search.is_exhausted();
  results.runs = search.runs();
  if constexpr (std::is_same_v<Search, Explorer>) results.redundant = search.redundant_runs();
  return results;
}

constexpr auto kLoad = Operation::What::load;
constexpr auto kStore = Operation::What::store;
constexpr auto kAdd = Operation::What::add;
constexpr auto kWait = Operation::What::wait;
constexpr auto kBarrier = Operation::What::barrier;

rc::Gen<Operations> operations(const std::vector<Operation::What>& kinds) {
  return rc::gen::exec([=] {
    const int size = *rc::gen::inRange(1, 3);
    return *rc::gen::container<Operations>(
        size,
        rc::gen::construct<Operation>(rc::gen::elementOf(kinds), rc::gen::inRange(0, kVariables),
                                      rc::gen::inRange<std::uint32_t>(1, 3)));
  });
}

}  // namespace

TEST_CASE("an exploration and all orders come to the same results", "[kernels]") {
  const auto agree = [](const Results& explored, const Results& all) {
    return all.is_exhausted && explored.is_exhausted && explored.values == all.values &&
           explored.orders == all.orders;
  };
  const auto add_barrier = [](Program& program) {
    for (Operations& thread : program[1]) thread.insert(thread.begin() + 1, {kBarrier, 0, 0});
  };
  test::property("of three threads that do not wait for flags, in one run for each class", [&] {
    const auto any = operations({kLoad, kStore, kAdd});
    Program program = {{*any}, {*any, *any}};
    if (*rc::gen::arbitrary<bool>()) add_barrier(program);
    const Results all = all_results<DepthFirst>(program);
    const Results explored = all_results<Explorer>(program);
    RC_ASSERT(agree(explored, all));
    RC_ASSERT(explored.runs - explored.redundant == std::int64_t(all.orders.size()));
  });
  test::property("of threads that wait for one another, or hang", [&] {
    const auto any = operations({kLoad, kStore, kStore, kAdd, kWait, kWait});
    Program program = {{*any}, {*any, *any}};
    if (*rc::gen::arbitrary<bool>()) add_barrier(program);
    RC_ASSERT(agree(all_results<Explorer>(program), all_results<DepthFirst>(program)));
  });
}

TEST_CASE("threads that do not interfere, or that a barrier or a wait orders, need one run",
          "[kernels]") {
  const auto runs = [](const Program& program) { return all_results<Explorer>(program).runs; };
  const Operations own = {{kStore, 0, 1}, {kLoad, 0}}, other = {{kStore, 1, 1}, {kAdd, 1, 1}};
  REQUIRE(all_results<DepthFirst>({{own}, {other}}).runs == 20);
  REQUIRE(runs({{own}, {other}}) == 1);
  REQUIRE(runs({{own}, {own}}) > 1);
  const Operations writer = {{kStore, 0, 1}, {kBarrier}};
  const Operations reader = {{kStore, 1, 1}, {kBarrier}, {kLoad, 0}};
  REQUIRE(runs({{writer, reader}}) == 1);
  REQUIRE(runs({{reader, writer}}) == 1);
  REQUIRE(runs({{writer}, {reader}}) == 2);
  const Operations last = {{kBarrier}, {kLoad, 0}}, beside = {{kStore, 1, 1}, {kBarrier}};
  REQUIRE(runs({{last, beside, writer}}) == 1);
  const Operations waits = {{kWait, 0, 1}}, flag = {{kStore, 0, 1}}, aside = {{kStore, 1, 1}};
  REQUIRE(runs({{waits}, {flag}, {aside}}) == 1);
  REQUIRE(runs({{waits}, {aside}, {flag}}) == 1);
}

TEST_CASE("programs that were explored wrongly once", "[kernels]") {
  // A step that others have to precede is none to begin the other order with.
  const Program program = {
      {{{kStore, 1, 1}, {kLoad, 0}}},
      {{{kStore, 0, 1}, {kBarrier}, {kAdd, 0, 1}}, {{kAdd, 0, 1}, {kBarrier}, {kStore, 1, 1}}}};
  REQUIRE(all_results<Explorer>(program).orders == all_results<DepthFirst>(program).orders);
}

TEST_CASE("a store that ends another thread's wait is no barrier of the two", "[kernels]") {
  const Program program = {{{{kStore, 0, 1}, {kLoad, 1}}, {{kStore, 1, 1}, {kWait, 0}}}};
  REQUIRE(all_results<Explorer>(program).orders.size() == 2);
}

TEST_CASE("a barrier that a store is followed by orders nothing for whom the store wakes",
          "[kernels]") {
  const Operations reader = {{kWait, 0, 1}, {kLoad, 1}};
  const Operations data = {{kStore, 1, 1}, {kBarrier}}, flag = {{kStore, 0, 1}, {kBarrier}};
  for (const Program& program : {Program{{reader}, {data, flag}}, {{reader}, {flag, data}}}) {
    REQUIRE(all_results<Explorer>(program).orders.size() == 2);
  }
}

namespace {

/// Three ranks of one thread; the first reads and the second writes data if they are the first and
/// the last of all to take a ticket, with nothing that orders them.
Trace race_of_tickets(Choices& choices) {
  Memory memory(3, 4096);
  auto* ticket =
      reinterpret_cast<std::uint32_t*>(memory.allocate(0, "ticket", 4, std::byte{0}).first);
  auto* data = reinterpret_cast<std::uint32_t*>(memory.allocate(0, "data", 4, std::byte{0}).first);
  Emulator emulator(memory, 3, choices, {.finds_races = true});
  for (int rank = 0; rank < 3; ++rank) {
    emulator.launch(rank, {1, 1, 64}, [=](EmulatedGpu& gpu) {
      const std::uint32_t mine = gpu.fetch_add(ticket, 1, Relaxed{}, System{});
      if (rank == 0 && mine == 2) gpu.load(data);
      if (rank == 1 && mine == 0) gpu.store(data, 1u);
    });
  }
  return emulator.run();
}

}  // namespace

TEST_CASE("an exploration finds what one order of six does, and its choices do it again",
          "[kernels]") {
  Explorer explorer;
  std::vector<std::vector<Deviation>> racing;
  do {
    Explorer::Run choices(explorer);
    if (!race_of_tickets(choices).races.empty()) racing.push_back(choices.deviations());
  } while (explorer.advance());
  REQUIRE(explorer.is_exhausted());
  REQUIRE(explorer.runs() - explorer.redundant_runs() == 6 + 1);  // in it, either access first
  REQUIRE(racing.size() == 2);
  for (const auto& deviations : racing) {
    Scripted again(deviations);
    REQUIRE(race_of_tickets(again).races.size() == 1);
  }
  Scripted usual({});
  REQUIRE(race_of_tickets(usual).races.empty());
}

TEST_CASE("an exploration says that it was cut short", "[kernels]") {
  Explorer explorer(3);
  do {
    Explorer::Run choices(explorer);
    race_of_tickets(choices);
  } while (explorer.advance());
  REQUIRE(explorer.runs() == 3);
  REQUIRE_FALSE(explorer.is_exhausted());
}

}  // namespace tally::kernels::emulator
