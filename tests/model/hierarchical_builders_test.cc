// Goal: the hierarchical all-reduces are the ones that are meant, on any number of nodes.
// Method: small schedules step by step; bytes on each link and edges of others against closed
// forms; the ends of the family against tree. That they are all-reduces is proved in
// tests/reference/provenance_hierarchical_test.cc.

#include <bit>
#include <map>

#include "model/builders.h"
#include "tests/model/built_schedules.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::model {
namespace {

using test::kPlain;
using test::texts;

/// A shape whose chunks and halves are all whole units.
Shape even_shape(int nodes, int ranks_per_node) {
  const auto active = static_cast<std::int64_t>(std::bit_floor(static_cast<unsigned>(nodes)));
  Shape shape{nodes * ranks_per_node, 128 * active * ranks_per_node, 1, false, kPlain};
  shape.ranks_per_node = ranks_per_node;
  return shape;
}

/// Bytes that leave a rank for other nodes, or for its own.
std::int64_t bytes_from(const Schedule& schedule, int rank, int ranks_per_node, bool across) {
  const auto bytes = link_bytes(schedule);
  std::int64_t sum = 0;
  for (int to = 0; to < schedule.ranks; ++to) {
    const bool is_across = to / ranks_per_node != rank / ranks_per_node;
    if (is_across == across) sum += bytes[rank * schedule.ranks + to];
  }
  return sum;
}

}  // namespace

TEST_CASE("halving and doubling on 2 ranks, step by step", "[model]") {
  const Schedule schedule = halving_doubling_all_reduce({2, 200, 1, false, kPlain});
  REQUIRE(schedule.algorithm == "halving_doubling");
  REQUIRE(
      texts(schedule, 1, 0) ==
      std::vector<std::string>{"1.scratch[0,200) = 1.input[0,200)", "signal 0.0", "wait 0.0",
                               "1.scratch[128,200) = 0 + 1.scratch[128,200) + 0.scratch[128,200)",
                               "signal 0.0", "wait 0.0", "1.scratch[0,128) = 0.scratch[0,128)",
                               "1.output[0,200) = 1.scratch[0,200)", "signal 0.0", "wait 0.0"});
}

TEST_CASE("of 3 ranks the first is folded into the second, step by step", "[model]") {
  const Schedule schedule = halving_doubling_all_reduce({3, 256, 1, false, kPlain});
  REQUIRE(texts(schedule, 0, 0) ==
          std::vector<std::string>{"0.scratch[0,256) = 0.input[0,256)", "signal 1.0", "wait 1.0",
                                   "0.scratch[0,256) = 1.scratch[0,256)",
                                   "0.output[0,256) = 0.scratch[0,256)", "signal 1.0", "wait 1.0"});
  REQUIRE(texts(schedule, 1, 0) ==
          std::vector<std::string>{
              "1.scratch[0,256) = 1.input[0,256)", "wait 0.0",
              "1.scratch[0,256) = 0 + 1.scratch[0,256) + 0.scratch[0,256)", "signal 2.0",
              "wait 2.0", "1.scratch[0,128) = 0 + 1.scratch[0,128) + 2.scratch[0,128)",
              "signal 2.0", "wait 2.0", "1.scratch[128,256) = 2.scratch[128,256)", "signal 0.0",
              "1.output[0,256) = 1.scratch[0,256)", "signal 2.0", "signal 0.0", "wait 2.0",
              "wait 0.0"});
}

TEST_CASE("a node of a hierarchical all-reduce, step by step", "[model]") {
  Shape shape{4, 512, 1, false, kPlain};
  shape.ranks_per_node = 2;
  const Schedule schedule = hierarchical_all_reduce(shape);
  REQUIRE(schedule.algorithm == "hierarchical");
  REQUIRE(texts(schedule, 3, 0) ==
          std::vector<std::string>{
              "3.scratch[0,256) = 3.input[0,256)", "3.scratch[256,512) = 3.input[256,512)",
              "signal 2.0", "wait 2.0",
              "3.scratch[256,512) = 0 + 2.scratch[256,512) + 3.scratch[256,512)", "signal 1.0",
              "wait 1.0", "3.scratch[384,512) = 0 + 3.scratch[384,512) + 1.scratch[384,512)",
              "signal 1.0", "wait 1.0", "3.scratch[256,384) = 1.scratch[256,384)", "signal 2.0",
              "wait 2.0", "3.output[256,512) = 3.scratch[256,512)",
              "3.output[0,256) = 2.scratch[0,256)", "signal 2.0", "signal 1.0", "wait 2.0",
              "wait 1.0"});
}

TEST_CASE("one node is a tree", "[model]") {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    Shape shape{ranks, 1000, 2, false, kPlain};
    shape.ranks_per_node = ranks;
    const Schedule one_node = hierarchical_all_reduce(shape), tree = tree_all_reduce(shape);
    for (int rank = 0; rank < ranks; ++rank) {
      CAPTURE(ranks, rank);
      REQUIRE(texts(one_node, rank, 1) == texts(tree, rank, 1));
    }
  }
}

TEST_CASE("a hierarchical all-reduce", "[model]") {
  test::property("sends 2 (q - 1) / q of its chunk to other nodes, q a power of two", [] {
    const int nodes = 1 << *rc::gen::inRange(0, 4).as("log2 nodes");
    const int size = *rc::gen::inRange(1, 5).as("ranks of a node");
    const Shape shape = even_shape(nodes, size);
    const Schedule schedule = hierarchical_all_reduce(shape);
    const int rank = *rc::gen::inRange(0, shape.ranks);
    const std::int64_t chunk_bytes = 4 * shape.count / size;
    RC_ASSERT(bytes_from(schedule, rank, size, true) == 2 * (nodes - 1) * chunk_bytes / nodes);
    RC_ASSERT(bytes_from(schedule, rank, size, false) == 2 * (size - 1) * chunk_bytes);
  });
  test::property("pairs signals with waits, whatever the shape", [] {
    Shape shape = test::any_shape().shape;
    const int at_most = *rc::gen::inRange(1, shape.ranks + 1).as("ranks of a node, at most");
    shape.ranks_per_node = at_most;
    while (shape.ranks % shape.ranks_per_node != 0) --shape.ranks_per_node;
    const Schedule schedule = hierarchical_all_reduce(shape);
    std::map<std::pair<int, int>, int> open;
    for (int rank = 0; rank < shape.ranks; ++rank) {
      for (const Step& step : schedule.lanes[rank][0]) {
        if (const auto* signal = std::get_if<Signal>(&step)) ++open[{rank, signal->rank}];
        if (const auto* wait = std::get_if<Wait>(&step)) --open[{wait->rank, rank}];
      }
    }
    for (const auto& [edge, count] : open) RC_ASSERT(count == 0);
  });
}

TEST_CASE("algorithms without kernels have names of their own", "[model]") {
  for (const Builder& builder : unlaunched_builders()) {
    CAPTURE(std::string(builder.algorithm));
    REQUIRE(find_builder(builder.collective, builder.algorithm) == nullptr);
    REQUIRE(builder.build({4, 5, 1, false, kPlain}).algorithm == builder.algorithm);
  }
}

TEST_CASE("unfinished sums that are handed on are elements", "[model]") {
  for (const char* algorithm : {"ring", "halving_doubling", "hierarchical"}) {
    CAPTURE(algorithm);
    Arithmetic arithmetic{Format::bf16, kNoWire, Op::sum, Accumulate::f32};
    const auto error = disallowed(Collective::all_reduce, algorithm, arithmetic);
    REQUIRE(error.has_value());
    REQUIRE(error->where == "--accumulate");
    arithmetic.accumulate = Accumulate::element;
    REQUIRE(!disallowed(Collective::all_reduce, algorithm, arithmetic));
  }
}

TEST_CASE("nodes of 3 among 8 ranks", "[.]") {
  Shape shape{8, 1, 1, false, kPlain};
  shape.ranks_per_node = 3;
  hierarchical_all_reduce(shape);
}

TEST_CASE("nodes that do not divide the ranks stop the program", "[model]") {
  REQUIRE(test::aborts("nodes of 3 among 8 ranks", "the ranks of a node divide all"));
}

}  // namespace tally::model
