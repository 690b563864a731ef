// Goal: the built-in all-reduces are the ones that are meant, at every number of ranks.
// Method: three small schedules are written out step by step; of all others the bytes on each link
// and the wait edges equal closed forms, and signals and waits pair up. That the schedules are
// all-reduces is proved in tests/reference/provenance_test.cc.

#include "model/builders.h"

#include <map>
#include <tuple>

#include "tests/model/built_schedules.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::model {
namespace {

using test::all_pairs;
using test::any_shape;
using test::kNine;
using test::kPlain;
using test::texts;
using test::with_counts;
using test::words;

/// The length of a rank's chunk: C = 128 ceil(n / (128 N)), the tail short.
std::int64_t chunk_length(std::int64_t n, int rank, int ranks) {
  std::int64_t length = 0;
  while (length * ranks < n) length += 128;
  return std::max<std::int64_t>(0, std::min(length, n - rank * length));
}

/// Whether signals and waits between each two lanes are equally many.
bool signals_pair_up(const Schedule& schedule) {
  std::map<std::tuple<int, int, int, int>, int> open;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int lane = 0; lane < std::ssize(schedule.lanes[rank]); ++lane) {
      for (const Step& step : schedule.lanes[rank][lane]) {
        if (const auto* s = std::get_if<Signal>(&step)) ++open[{rank, lane, s->rank, s->lane}];
        if (const auto* w = std::get_if<Wait>(&step)) --open[{w->rank, w->lane, rank, lane}];
      }
    }
  }
  for (const auto& [lanes, count] : open) {
    if (count != 0) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("flat on 2 ranks and 2 lanes, step by step", "[model]") {
  const Schedule schedule = flat_all_reduce({2, 200, 2, false, kPlain});
  REQUIRE(schedule.algorithm == "flat");
  REQUIRE(texts(schedule, 1, 0) ==
          std::vector<std::string>{"1.scratch[0,128) = 1.input[0,128)", "signal 0.0", "wait 0.0",
                                   "1.output[0,128) = 0 + 0.scratch[0,128) + 1.scratch[0,128)",
                                   "signal 0.0", "wait 0.0"});
  REQUIRE(
      texts(schedule, 0, 1) ==
      std::vector<std::string>{"0.scratch[128,200) = 0.input[128,200)", "signal 1.1", "wait 1.1",
                               "0.output[128,200) = 0 + 0.scratch[128,200) + 1.scratch[128,200)",
                               "signal 1.1", "wait 1.1"});
}

TEST_CASE("flat_ll on 2 ranks and 3 lanes, step by step", "[model]") {
  const Schedule schedule = flat_ll_all_reduce({2, 200, 3, false, kPlain});
  REQUIRE(schedule.algorithm == "flat_ll");
  REQUIRE(texts(schedule, 1, 0) ==
          std::vector<std::string>{"1.scratch[256,384) = 1.input[0,128)",
                                   "0.scratch[256,384) = 1.scratch[256,384)", "signal 0.0",
                                   "wait 0.0",
                                   "1.output[0,128) = 0 + 1.scratch[0,128) + 1.scratch[256,384)"});
  REQUIRE(
      texts(schedule, 0, 1) ==
      std::vector<std::string>{"0.scratch[128,200) = 0.input[128,200)",
                               "1.scratch[128,200) = 0.scratch[128,200)", "signal 1.1", "wait 1.1",
                               "0.output[128,200) = 0 + 0.scratch[128,200) + 0.scratch[384,456)"});
  REQUIRE(texts(schedule, 0, 2).empty());  // no elements: nobody to wait for
}

TEST_CASE("tree on 2 ranks, step by step", "[model]") {
  const Schedule schedule = tree_all_reduce({2, 200, 1, false, kPlain});
  REQUIRE(schedule.algorithm == "tree");
  REQUIRE(
      texts(schedule, 1, 0) ==
      std::vector<std::string>{"1.scratch[0,128) = 1.input[0,128)",
                               "1.scratch[128,200) = 1.input[128,200)", "signal 0.0", "wait 0.0",
                               "1.scratch[128,200) = 0 + 0.scratch[128,200) + 1.scratch[128,200)",
                               "signal 0.0", "wait 0.0", "1.output[128,200) = 1.scratch[128,200)",
                               "1.output[0,128) = 0.scratch[0,128)", "signal 0.0", "wait 0.0"});
}

TEST_CASE("builders are found by collective and name", "[model]") {
  for (const Builder& builder : builders()) {
    CAPTURE(std::string(builder.algorithm));  // found again only if no other has its name
    REQUIRE(find_builder(builder.collective, builder.algorithm) == &builder);
    const Schedule schedule = builder.build({3, 5, 1, false, kPlain, 1, kNine});
    REQUIRE(schedule.algorithm == builder.algorithm);
    REQUIRE(schedule.collective == builder.collective);
  }
  REQUIRE(find_builder(Collective::all_gather, "ring") == nullptr);
  REQUIRE(find_builder(Collective::all_reduce, "flat") != nullptr);
  REQUIRE(find_builder(Collective::all_reduce, "flat_ll") != nullptr);
  REQUIRE(find_builder(Collective::all_reduce, "tree") != nullptr);
  REQUIRE(find_builder(Collective::all_reduce, "Flat") == nullptr);
  REQUIRE(find_builder(Collective::all_reduce, "") == nullptr);
}

TEST_CASE("a schedule of flat", "[model]") {
  test::property("moves all of a rank's words over each link, whatever the lanes", [] {
    const auto [shape, wire_bytes] = any_shape();
    const auto bytes = link_bytes(flat_all_reduce(shape));
    for (int from = 0; from < shape.ranks; ++from) {
      for (int to = 0; to < shape.ranks; ++to) {
        const std::int64_t expected = from == to ? 0 : words(shape.count, wire_bytes);
        RC_ASSERT(bytes[from * shape.ranks + to] == expected);
      }
    }
  });
  test::property("meets every other rank twice", [] {
    const Shape shape = any_shape().shape;
    RC_ASSERT(wait_edges(flat_all_reduce(shape)) == all_pairs(shape.ranks, shape.lanes, 2));
  });
}

TEST_CASE("a schedule of flat_ll", "[model]") {
  test::property("moves as many bytes of flags as of a rank's words, whatever the lanes", [] {
    const auto [shape, wire_bytes] = any_shape();
    const auto bytes = link_bytes(flat_ll_all_reduce(shape));
    for (int from = 0; from < shape.ranks; ++from) {
      for (int to = 0; to < shape.ranks; ++to) {
        const std::int64_t expected = from == to ? 0 : 2 * words(shape.count, wire_bytes);
        RC_ASSERT(bytes[from * shape.ranks + to] == expected);
      }
    }
  });
  test::property("meets every other rank once, in the lanes that have elements", [] {
    const Shape shape = any_shape().shape;
    int lanes = 0;
    while (lanes < shape.lanes && chunk_length(shape.count, lanes, shape.lanes) > 0) ++lanes;
    RC_ASSERT(wait_edges(flat_ll_all_reduce(shape)) == all_pairs(shape.ranks, lanes, 1));
  });
  test::property("never reads what another rank holds", [] {
    const Schedule schedule = flat_ll_all_reduce(any_shape().shape);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (const Step& step : schedule.lanes[rank][0]) {
        if (const auto* copy = std::get_if<Copy>(&step)) RC_ASSERT(copy->source.rank == rank);
        const auto* reduce = std::get_if<Reduce>(&step);
        if (reduce == nullptr) continue;
        for (const Slice& source : reduce->sources) RC_ASSERT(source.rank == rank);
      }
    }
  });
}

TEST_CASE("what flat_ll does not allow is named", "[model]") {
  const auto with = [](const Wire& wire) {
    return disallowed(Collective::all_reduce, "flat_ll",
                      {Format::bf16, wire, Op::sum, Accumulate::f32});
  };
  REQUIRE(!with(kNoWire));
  REQUIRE(!with(cast_wire(Format::e5m2)));
  const auto error = with(block_wire(Format::e4m3fn, 32, Format::f32, ScaleRule::amax));
  REQUIRE(error.has_value());
  REQUIRE(error->what == "e4m3fn:b32:f32 does not go with flat_ll");
}

TEST_CASE("a schedule of tree", "[model]") {
  test::property("moves the reader's chunk and then the owner's over each link", [] {
    const auto [shape, wire_bytes] = any_shape();
    const auto bytes = link_bytes(tree_all_reduce(shape));
    for (int from = 0; from < shape.ranks; ++from) {
      for (int to = 0; to < shape.ranks; ++to) {
        const std::int64_t summed = chunk_length(shape.count, to, shape.ranks);
        const std::int64_t fetched = chunk_length(shape.count, from, shape.ranks);
        const std::int64_t expected = words(summed, wire_bytes) + words(fetched, wire_bytes);
        RC_ASSERT(bytes[from * shape.ranks + to] == (from == to ? 0 : expected));
      }
    }
  });
  test::property("fetches the own chunk first and then the following ranks', around", [] {
    const Shape shape = any_shape().shape;
    const Schedule schedule = tree_all_reduce(shape);
    for (int rank = 0; rank < shape.ranks; ++rank) {
      int owner = rank;
      for (const Step& step : schedule.lanes[rank][0]) {
        const auto* copy = std::get_if<Copy>(&step);
        if (copy == nullptr || schedule.buffers[copy->destination.buffer].role != Role::output) {
          continue;
        }
        RC_ASSERT(copy->source.rank == owner);
        owner = (owner + 1) % shape.ranks;
      }
      RC_ASSERT(owner == rank);
    }
  });
  test::property("meets every other rank three times", [] {
    const Shape shape = any_shape().shape;
    RC_ASSERT(wait_edges(tree_all_reduce(shape)) == all_pairs(shape.ranks, shape.lanes, 3));
  });
}

TEST_CASE("every built schedule", "[model]") {
  test::property("has the shape that was asked for, and pairs signals with waits", [] {
    const Shape any = any_shape().shape, counted = with_counts(any);
    for (const Builder& builder : builders()) {
      const bool has_counts = builder.collective == Collective::all_to_all_v;
      const Shape& shape = has_counts ? counted : any;
      const Schedule schedule = builder.build(shape);
      RC_ASSERT(schedule.collective == builder.collective);
      RC_ASSERT(schedule.ranks == shape.ranks);
      RC_ASSERT(schedule.count == shape.count);
      RC_ASSERT(schedule.in_place == shape.in_place);
      RC_ASSERT(std::ssize(schedule.lanes) == shape.ranks);
      for (const auto& lanes : schedule.lanes) RC_ASSERT(std::ssize(lanes) == shape.lanes);
      RC_ASSERT(schedule.send_counts == shape.send_counts);
      const auto elements = [&](Role role) {
        return schedule.buffers[buffer_with(schedule, role)].elements;
      };
      RC_ASSERT(elements(Role::input) ==
                input_elements(builder.collective, shape.ranks, shape.count));
      RC_ASSERT(elements(Role::output) ==
                output_elements(builder.collective, shape.ranks, shape.count));
      RC_ASSERT(signals_pair_up(schedule));
    }
  });
  test::property("pairs no longer when a signal is taken away", [] {
    Shape shape = any_shape().shape;
    shape.ranks = *rc::gen::inRange(2, 9).as("ranks");
    Schedule schedule = flat_all_reduce(shape);
    Lane& lane = schedule.lanes[shape.ranks - 1][shape.lanes - 1];
    lane.erase(lane.begin() + 1);
    RC_ASSERT(!signals_pair_up(schedule));
  });
}

TEST_CASE("no ranks", "[.]") { flat_all_reduce({0, 1, 1, false, kPlain}); }
TEST_CASE("65 ranks", "[.]") { tree_all_reduce({65, 1, 1, false, kPlain}); }
TEST_CASE("a negative count", "[.]") { flat_all_reduce({1, -1, 1, false, kPlain}); }
TEST_CASE("no lanes", "[.]") { tree_all_reduce({1, 1, 0, false, kPlain}); }

TEST_CASE("a shape that no builder takes stops the program", "[model]") {
  REQUIRE(test::aborts("no ranks", "builders take 1..64 ranks"));
  REQUIRE(test::aborts("65 ranks", "builders take 1..64 ranks"));
  REQUIRE(test::aborts("a negative count", "builders take count >= 0"));
  REQUIRE(test::aborts("no lanes", "builders take count >= 0"));
}

}  // namespace tally::model
