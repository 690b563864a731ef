// Goal: the bytes and the wait edges of a schedule are counted as its steps say.
// Method: small schedules written by hand, which pull, push and signal.

#include "model/schedule.h"

#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::model {
namespace {

/// Two or more ranks, one lane, no steps: input 0, output 1, scratch 2 (encoded), of 100 elements.
Schedule empty_schedule(int ranks, Format element, Wire wire) {
  Schedule schedule;
  schedule.arithmetic = {element, wire, Op::sum, Accumulate::f32};
  schedule.ranks = ranks;
  schedule.count = 100;
  schedule.buffers = {{"input", Role::input, false, 100},
                      {"output", Role::output, false, 100},
                      {"scratch", Role::scratch, true, 100}};
  schedule.lanes.assign(ranks, std::vector<Lane>(1));
  return schedule;
}

using Bytes = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a step at home moves nothing between ranks", "[model]") {
  Schedule schedule = empty_schedule(2, Format::f32, kNoWire);
  schedule.lanes[1][0] = {Copy{{1, 0, {0, 100}}, {1, 1, {0, 100}}}};
  REQUIRE(link_bytes(schedule) == Bytes{0, 0, 0, 0});
}

TEST_CASE("a read moves bytes toward the lane, a write away from it", "[model]") {
  Schedule schedule = empty_schedule(2, Format::f32, kNoWire);
  schedule.lanes[1][0] = {Copy{{0, 0, {0, 4}}, {1, 1, {0, 4}}}};  // rank 1 pulls from rank 0
  REQUIRE(link_bytes(schedule) == Bytes{0, 16, 0, 0});
  schedule.lanes[1][0] = {Copy{{1, 0, {0, 4}}, {0, 1, {0, 4}}}};  // rank 1 pushes to rank 0
  REQUIRE(link_bytes(schedule) == Bytes{0, 0, 16, 0});
}

TEST_CASE("a third rank that copies moves the bytes twice", "[model]") {
  Schedule schedule = empty_schedule(3, Format::f32, kNoWire);
  schedule.lanes[2][0] = {Copy{{0, 0, {0, 8}}, {1, 1, {0, 8}}}};
  REQUIRE(link_bytes(schedule) == Bytes{0, 0, 32, 0, 0, 0, 0, 32, 0});
}

TEST_CASE("a sum reads each source and writes its destination", "[model]") {
  Schedule schedule = empty_schedule(3, Format::f16, kNoWire);
  schedule.lanes[0][0] = {
      Reduce{{{0, 0, {0, 80}}, {1, 0, {0, 80}}, {2, 0, {0, 80}}}, {1, 1, {0, 80}}}};
  REQUIRE(link_bytes(schedule) == Bytes{0, 160, 0, 160, 0, 0, 160, 0, 0});
}

TEST_CASE("each slice's bytes round up to whole words, and nothing takes nothing", "[model]") {
  const auto bytes_of = [](Format element, Wire wire, int buffer, std::int64_t elements) {
    Schedule schedule = empty_schedule(2, element, wire);
    schedule.lanes[1][0] = {Copy{{0, buffer, {0, elements}}, {1, buffer, {0, elements}}}};
    return link_bytes(schedule)[1];
  };
  REQUIRE(bytes_of(Format::f32, kNoWire, 0, 0) == 0);
  REQUIRE(bytes_of(Format::f32, kNoWire, 0, 1) == 16);
  REQUIRE(bytes_of(Format::f32, kNoWire, 0, 5) == 32);
  REQUIRE(bytes_of(Format::bf16, kNoWire, 0, 8) == 16);
  REQUIRE(bytes_of(Format::bf16, kNoWire, 0, 9) == 32);
  const Wire wire = cast_wire(Format::e5m2);
  REQUIRE(bytes_of(Format::f32, wire, 2, 16) == 16);  // scratch is encoded
  REQUIRE(bytes_of(Format::f32, wire, 2, 17) == 32);
  REQUIRE(bytes_of(Format::f32, wire, 0, 16) == 64);  // input is not
}

TEST_CASE("flags between the codes of a buffer are bytes too", "[model]") {
  Schedule schedule = empty_schedule(2, Format::f32, cast_wire(Format::e5m2));
  schedule.buffers[2].bytes_per_word = 48;
  schedule.lanes[1][0] = {Copy{{1, 0, {0, 17}}, {0, 2, {0, 17}}}};  // two words of codes
  REQUIRE(link_bytes(schedule) == Bytes{0, 0, 96, 0});
  schedule.lanes[1][0] = {Copy{{1, 0, {0, 17}}, {0, 1, {0, 17}}}};  // five of elements
  REQUIRE(link_bytes(schedule) == Bytes{0, 0, 80, 0});
}

TEST_CASE("wait edges count waits, in the order of ranks and lanes", "[model]") {
  Schedule schedule = empty_schedule(2, Format::f32, kNoWire);
  schedule.lanes.assign(2, std::vector<Lane>(2));
  schedule.lanes[1][0] = {Wait{0, 1}, Wait{0, 0}, Wait{0, 1}};
  schedule.lanes[0][1] = {Wait{1, 1}, Signal{1, 0}, Signal{1, 0}};
  REQUIRE(wait_edges(schedule) ==
          std::vector<Edge>{{0, 0, 1, 0, 1}, {0, 1, 1, 0, 2}, {1, 1, 0, 1, 1}});
  schedule.lanes[1][0].pop_back();
  REQUIRE(wait_edges(schedule) ==
          std::vector<Edge>{{0, 0, 1, 0, 1}, {0, 1, 1, 0, 1}, {1, 1, 0, 1, 1}});
}

TEST_CASE("a schedule without scratch is asked for it", "[.]") {
  Schedule schedule = empty_schedule(1, Format::f32, kNoWire);
  schedule.buffers.pop_back();
  buffer_with(schedule, Role::scratch);
}

TEST_CASE("in place the smaller buffer's home is the rank's block of the larger one", "[model]") {
  Schedule schedule = empty_schedule(3, Format::f32, kNoWire);
  const auto home_of = [&](int rank, int buffer) {
    const Home found = home(schedule, rank, buffer);
    return std::pair(found.buffer, found.offset);
  };
  REQUIRE(home_of(2, 1) == std::pair(1, std::int64_t{0}));
  schedule.in_place = true;
  REQUIRE(home_of(2, 0) == std::pair(0, std::int64_t{0}));
  REQUIRE(home_of(2, 1) == std::pair(0, std::int64_t{0}));
  REQUIRE(home_of(2, 2) == std::pair(2, std::int64_t{0}));  // scratch is its own
  schedule.collective = Collective::reduce_scatter;
  schedule.buffers[0].elements = 300;
  REQUIRE(home_of(2, 0) == std::pair(0, std::int64_t{0}));
  REQUIRE(home_of(2, 1) == std::pair(0, std::int64_t{200}));
  schedule.collective = Collective::all_gather;
  std::swap(schedule.buffers[0].elements, schedule.buffers[1].elements);
  REQUIRE(home_of(2, 0) == std::pair(1, std::int64_t{200}));
  REQUIRE(home_of(2, 1) == std::pair(1, std::int64_t{0}));
}

TEST_CASE("of all_to_all_v only the blocks are used, of the others all", "[model]") {
  Schedule schedule = empty_schedule(2, Format::f32, kNoWire);
  schedule.collective = Collective::all_to_all_v;
  schedule.send_counts = {1, 20, 3, 40};
  REQUIRE(used_inputs(schedule, 0) == 21);
  REQUIRE(used_inputs(schedule, 1) == 43);
  REQUIRE(used_outputs(schedule, 0) == 4);
  REQUIRE(used_outputs(schedule, 1) == 60);
  REQUIRE(contributions(schedule, 1, 20).element == 3);
  schedule.collective = Collective::reduce_scatter;
  REQUIRE(used_inputs(schedule, 0) == 200);
  REQUIRE(used_outputs(schedule, 1) == 100);
  REQUIRE(contributions(schedule, 1, 20).element == 120);
}

TEST_CASE("buffers are found by their role", "[model]") {
  const Schedule schedule = empty_schedule(1, Format::f32, kNoWire);
  REQUIRE(buffer_with(schedule, Role::input) == 0);
  REQUIRE(buffer_with(schedule, Role::output) == 1);
  REQUIRE(buffer_with(schedule, Role::scratch) == 2);
  REQUIRE(test::aborts("a schedule without scratch is asked for it",
                       "the schedule has no buffer with that role"));
}

}  // namespace tally::model
