// Goal: steps are visited in an order that signals and waits allow, and a deadlock is found.
// Method: small schedules written by hand; then every order that the builders give is checked
// against the signals that were sent before.

#include "reference/walk.h"

#include <map>
#include <string>
#include <tuple>

#include "model/builders.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::reference {
namespace {

using model::Copy;
using model::Lane;
using model::Schedule;
using model::Signal;
using model::Step;
using model::Wait;

/// A schedule of nothing but `lanes`, [rank][lane].
Schedule schedule_of(std::vector<std::vector<Lane>> lanes) {
  Schedule schedule;
  schedule.ranks = static_cast<int>(lanes.size());
  schedule.lanes = std::move(lanes);
  return schedule;
}

/// A copy that can be told from others by its number.
Step numbered(int number) { return Copy{{0, 0, {number, number}}, {0, 0, {number, number}}}; }

struct Walked {
  std::string order;  // of the numbered steps
  std::optional<Stuck> stuck;
};

Walked walk_numbers(const Schedule& schedule) {
  Walked walked;
  walked.stuck = walk(schedule, [&](int, int, const Step& step) {
    const auto* copy = std::get_if<Copy>(&step);
    if (copy != nullptr) walked.order += std::to_string(copy->source.range.begin);
  });
  return walked;
}

/// What a walk did that it may not do; "" where nothing.
std::string fault_of(const Schedule& schedule) {
  std::map<std::pair<int, int>, std::size_t> next;
  std::map<std::tuple<int, int, int, int>, int> sent;
  std::string fault;
  const auto stuck = walk(schedule, [&](int rank, int lane, const Step& step) {
    if (&schedule.lanes[rank][lane].at(next[{rank, lane}]++) != &step) fault = "out of order";
    if (const auto* s = std::get_if<Signal>(&step)) ++sent[{rank, lane, s->rank, s->lane}];
    if (const auto* w = std::get_if<Wait>(&step)) {
      if (--sent[{w->rank, w->lane, rank, lane}] < 0) fault = "a wait before its signal";
    }
  });
  if (stuck) return "stuck";
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int lane = 0; lane < std::ssize(schedule.lanes[rank]); ++lane) {
      if (next[{rank, lane}] != schedule.lanes[rank][lane].size()) fault = "a step left out";
    }
  }
  return fault;
}

}  // namespace

TEST_CASE("lanes are taken in turn, each as far as it goes", "[reference]") {
  const Schedule schedule =
      schedule_of({{{numbered(1), Wait{1, 0}, numbered(2)}, {numbered(3)}},
                   {{numbered(4), Signal{0, 0}, numbered(5)}, {numbered(6)}}});
  const Walked walked = walk_numbers(schedule);
  REQUIRE(!walked.stuck);
  REQUIRE(walked.order == "134562");
  REQUIRE(walk_numbers(schedule).order == walked.order);
}

TEST_CASE("the n-th wait takes the n-th signal, and each signal is taken once", "[reference]") {
  const Lane two_waits = {Wait{1, 0}, numbered(1), Wait{1, 0}, numbered(2)};
  REQUIRE(walk_numbers(schedule_of({{two_waits}, {{Signal{0, 0}, Signal{0, 0}}}})).order == "12");
  const Walked walked = walk_numbers(schedule_of({{two_waits}, {{Signal{0, 0}}}}));
  REQUIRE(walked.order == "1");
  REQUIRE(walked.stuck);
  REQUIRE(walked.stuck->rank == 0);
  REQUIRE(walked.stuck->lane == 0);
  REQUIRE(walked.stuck->step == 2);
}

TEST_CASE("a signal is for one lane of one rank, and from one", "[reference]") {
  const Lane waits = {Wait{1, 0}, numbered(1)};
  const auto is_stuck = [](const Schedule& schedule) { return bool(walk_numbers(schedule).stuck); };
  REQUIRE(!is_stuck(schedule_of({{waits, {}}, {{Signal{0, 0}}, {}}})));
  REQUIRE(is_stuck(schedule_of({{waits, {}}, {{Signal{0, 1}}, {}}})));  // to another lane
  REQUIRE(is_stuck(schedule_of({{waits, {}}, {{Signal{1, 0}}, {}}})));  // to another rank
  REQUIRE(is_stuck(schedule_of({{waits, {}}, {{}, {Signal{0, 0}}}})));  // from another lane
  REQUIRE(is_stuck(schedule_of({{waits, {Signal{0, 0}}}, {{}, {}}})));  // from another rank
}

TEST_CASE("two lanes that wait for each other are stuck; what could run has run", "[reference]") {
  const Walked walked =
      walk_numbers(schedule_of({{{numbered(1), Wait{1, 0}, Signal{1, 0}, numbered(2)}},
                                {{numbered(3), Wait{0, 0}, Signal{0, 0}}},
                                {{numbered(4)}}}));
  REQUIRE(walked.order == "134");
  REQUIRE(walked.stuck);
  REQUIRE(walked.stuck->rank == 0);
  REQUIRE(walked.stuck->step == 1);
}

TEST_CASE("nothing is walked without steps", "[reference]") {
  REQUIRE(fault_of(schedule_of({})) == "");
  REQUIRE(fault_of(schedule_of({{{}, {}}, {{}, {}}})) == "");
}

TEST_CASE("a walk of a built schedule", "[reference]") {
  test::property("visits each lane's steps in order, and no wait before its signal", [] {
    model::Shape shape;
    shape.ranks = *rc::gen::inRange(1, 17).as("ranks");
    shape.count = *rc::gen::inRange(0, 3000).as("count");
    shape.lanes = *rc::gen::inRange(1, 4).as("lanes");
    const std::vector<std::int64_t> counts(shape.ranks * shape.ranks, shape.count / 2);
    for (const model::Builder& builder : model::builders()) {
      const bool has_counts = builder.collective == model::Collective::all_to_all_v;
      shape.send_counts = has_counts ? counts : std::vector<std::int64_t>();
      RC_ASSERT(fault_of(builder.build(shape)) == "");
    }
  });
  test::property("is stuck without any one of the signals", [] {
    model::Shape shape;
    shape.ranks = *rc::gen::inRange(2, 9).as("ranks");
    shape.lanes = *rc::gen::inRange(1, 4).as("lanes");
    const auto& builder = *rc::gen::elementOf(
        std::vector<model::Builder>(model::builders().begin(), model::builders().end()));
    if (builder.collective == model::Collective::all_to_all_v) {
      shape.send_counts.assign(shape.ranks * shape.ranks, 0);
    }
    Schedule schedule = builder.build(shape);
    Lane& lane = schedule.lanes[*rc::gen::inRange(0, shape.ranks).as("rank")]
                               [*rc::gen::inRange(0, shape.lanes).as("lane")];
    std::vector<std::ptrdiff_t> signals;
    for (std::ptrdiff_t i = 0; i < std::ssize(lane); ++i) {
      if (std::holds_alternative<Signal>(lane[i])) signals.push_back(i);
    }
    lane.erase(lane.begin() + *rc::gen::elementOf(signals).as("step"));
    RC_ASSERT(fault_of(schedule) == "stuck");
  });
}

}  // namespace tally::reference
