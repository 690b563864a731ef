// Goal: a program says exactly what its schedule does, whether it is made from it or without it.
// Method: small ones written out; bytes of every built schedule against model::link_bytes; lazy
// generators against the schedules' programs, stage by stage, for every small number of ranks.

#include "sim/program.h"

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

using model::Arithmetic;
using model::Format;
using model::Schedule;
using model::Shape;

constexpr Arithmetic kPlain{Format::f32};
const Arithmetic kFp8 = model::arithmetic_of_sums(Format::bf16, model::cast_wire(Format::e4m3fn));
const Arithmetic kBlocks = model::arithmetic_of_sums(
    Format::f32, model::block_wire(Format::e4m3fn, 32, Format::e8m0, model::ScaleRule::floor));

std::vector<Stage> stages_of(const Program& program, LaneId lane) {
  std::vector<Stage> all;
  const Stages next = program.open(lane);
  for (Stage stage; next(stage);) all.push_back(stage);
  return all;
}

/// Which lane differs, or "".
std::string difference(const Program& a, const Program& b) {
  if (a.ranks != b.ranks || a.lanes != b.lanes) return "other ranks or lanes";
  for (int rank = 0; rank < a.ranks; ++rank) {
    for (int lane = 0; lane < a.lanes; ++lane) {
      const auto one = stages_of(a, {rank, lane}), other = stages_of(b, {rank, lane});
      if (one == other) continue;
      std::size_t at = 0;
      while (at < one.size() && at < other.size() && one[at] == other[at]) ++at;
      return "rank " + std::to_string(rank) + ", lane " + std::to_string(lane) + ", stage " +
             std::to_string(at) + " of " + std::to_string(one.size()) + " and " +
             std::to_string(other.size());
    }
  }
  return "";
}

Shape any_shape() {
  Shape shape;
  shape.ranks = *rc::gen::inRange(1, 65).as("ranks");
  shape.count = *rc::gen::inRange(0, 70'000).as("count");
  shape.lanes = *rc::gen::inRange(1, 5).as("lanes");
  shape.in_place = *rc::gen::arbitrary<bool>().as("in_place");
  shape.arithmetic = *rc::gen::element(kPlain, kFp8, kBlocks);
  return shape;
}

/// One that divides.
int any_ranks_per_node(int ranks) {
  const int drawn = *rc::gen::inRange(1, ranks + 1).as("ranks of a node, at most");
  int divisor = drawn;
  while (ranks % divisor != 0) --divisor;
  return divisor;
}

std::vector<model::Builder> all_builders() {
  std::vector<model::Builder> all(model::builders().begin(), model::builders().end());
  all.insert(all.end(), model::unlaunched_builders().begin(), model::unlaunched_builders().end());
  return all;
}

std::string names(const std::vector<Stage>& stages) {
  std::string all;
  for (const Stage& stage : stages) all += std::string(stage.name) + " ";
  return all;
}

}  // namespace

TEST_CASE("what a GPU overlaps is one stage, and what depends on it the next", "[sim]") {
  const Shape shape{4, 1024, 1, false, kPlain};
  const auto names_of = [](const Schedule& schedule) {
    return names(stages_of(program_of(schedule), {1, 0}));
  };
  REQUIRE(names_of(model::flat_all_reduce(shape)) == "stage reduce ");
  REQUIRE(names_of(model::tree_all_reduce(shape)) == "stage reduce gather ");
  REQUIRE(names_of(model::flat_ll_all_reduce(shape)) == "stage exchange reduce ");
  REQUIRE(names_of(model::ring_all_reduce(shape)) ==
          "exchange reduce reduce reduce gather gather gather gather ");
  REQUIRE(names_of(model::halving_doubling_all_reduce(shape)) ==
          "stage reduce reduce exchange exchange gather ");
  Shape in_rounds = shape;
  in_rounds.rounds = 3;  // a piece is staged while the one before it is summed
  REQUIRE(names_of(model::flat_all_reduce(in_rounds)) == "stage stage reduce reduce reduce ");
}

TEST_CASE("a sum of four ranks, in bytes", "[sim]") {
  const Schedule schedule = model::flat_all_reduce({4, 1024, 1, false, kFp8});
  const auto stages = stages_of(program_of(schedule), {1, 0});
  REQUIRE(stages[0].transfers.empty());
  REQUIRE(stages[0].memory_bytes == 2048 + 1024);  // reads bf16, writes its codes
  REQUIRE(stages[0].codec_bytes == 2048);
  REQUIRE(stages[0].signals == std::vector<LaneId>{{0, 0}, {2, 0}, {3, 0}});
  REQUIRE(stages[0].waits == stages[0].signals);
  REQUIRE(stages[1].transfers ==
          std::vector<Transfer>{{0, 1024, true}, {2, 1024, true}, {3, 1024, true}});
  REQUIRE(stages[1].memory_bytes == 1024 + 2048);
  REQUIRE(stages[1].codec_bytes == 4 * 2048);  // decodes every rank's
}

TEST_CASE("a wire whose arithmetic is not here takes the place of the schedule's", "[sim]") {
  const Schedule schedule = model::flat_all_reduce({2, 1024, 1, false, kPlain});
  const auto int4 = *model::parse_wire_size("int4:b32:f16");
  const auto stages = stages_of(program_of(schedule, int4), {0, 0});
  REQUIRE(stages[1].transfers == std::vector<Transfer>{{1, 1024 / 2 + 2 * 1024 / 32, true}});
  REQUIRE(stages[0].codec_bytes == 4096);
}

TEST_CASE("a program of a schedule", "[sim]") {
  test::property("moves the schedule's bytes over each link", [] {
    Shape shape = any_shape();
    shape.ranks = *rc::gen::inRange(1, 17);
    shape.rounds = *rc::gen::inRange(1, 4);
    shape.in_place = false;
    shape.send_counts = *rc::gen::container<std::vector<std::int64_t>>(
        shape.ranks * shape.ranks, rc::gen::inRange<std::int64_t>(0, shape.count + 1));
    for (const model::Builder& builder : all_builders()) {
      if (builder.algorithm == "flat_ll" && shape.arithmetic.wire.is_block()) continue;
      const Schedule schedule = builder.build(shape);
      const Program program = program_of(schedule);
      std::vector<std::int64_t> moved(shape.ranks * shape.ranks, 0);
      for (int rank = 0; rank < shape.ranks; ++rank) {
        for (int lane = 0; lane < shape.lanes; ++lane) {
          for (const Stage& stage : stages_of(program, {rank, lane})) {
            for (const auto& [peer, bytes, is_load] : stage.transfers) {
              moved[is_load ? peer * shape.ranks + rank : rank * shape.ranks + peer] += bytes;
            }
          }
        }
      }
      RC_ASSERT(moved == link_bytes(schedule));
    }
  });
}

TEST_CASE("a program that is made without its schedule", "[sim]") {
  test::property("is the ring's, stage by stage", [] {
    const Shape shape = any_shape();
    const Schedule schedule = model::ring_all_reduce(shape);
    const Program lazy = ring_program(shape, size_of(shape.arithmetic.wire));
    RC_ASSERT(difference(program_of(schedule), lazy) == "");
  });
  test::property("is the hierarchical one's, stage by stage", [] {
    Shape shape = any_shape();
    shape.ranks_per_node = any_ranks_per_node(shape.ranks);
    const Schedule schedule = model::hierarchical_all_reduce(shape);
    const Program lazy = hierarchical_program(shape, size_of(shape.arithmetic.wire));
    RC_ASSERT(difference(program_of(schedule), lazy) == "");
  });
  test::property("is not another shape's", [] {
    Shape shape = any_shape();
    shape.ranks = *rc::gen::inRange(2, 17);
    shape.count += 1;
    const Schedule schedule = model::ring_all_reduce(shape);
    shape.count += 128 * shape.lanes * shape.ranks;
    const Program lazy = ring_program(shape, size_of(shape.arithmetic.wire));
    RC_ASSERT(difference(program_of(schedule), lazy) != "");
  });
}

TEST_CASE(
    "for every small number of ranks and every size of node, lazy programs are the schedules'",
    "[sim]") {
  for (int ranks = 1; ranks <= 24; ++ranks) {
    for (const std::int64_t count : {0, 1, 500, 5000}) {
      Shape shape{ranks, count, 1, false, kBlocks};
      const auto wire = size_of(shape.arithmetic.wire);
      CAPTURE(ranks, count);
      const Schedule ring = model::ring_all_reduce(shape);
      REQUIRE(difference(program_of(ring), ring_program(shape, wire)) == "");
      for (int size = 1; size <= ranks; ++size) {
        if (ranks % size != 0) continue;
        CAPTURE(size);
        shape.ranks_per_node = size;
        const Schedule schedule = model::hierarchical_all_reduce(shape);
        REQUIRE(difference(program_of(schedule), hierarchical_program(shape, wire)) == "");
      }
    }
  }
}

}  // namespace tally::sim
