// Goal: halving and doubling, and the hierarchical all-reduce, are all-reduces on any number of
// nodes, with the same bits on all ranks, and stop being such when one step is broken.
// Method: prove all small shapes and some large ones; read the orders of small ones; break every
// step in turn.

#include "model/builders.h"
#include "reference/provenance.h"
#include "tests/reference/schedule_breaks.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Copy;
using model::Expressions;
using model::Format;
using model::Lane;
using model::Op;
using model::Reduce;
using model::Schedule;
using model::Shape;

Arithmetic arithmetic_of(const std::string& wire, Op op = Op::sum) {
  const Accumulate accumulate = wire == "none" ? Accumulate::element : Accumulate::f32;
  return {Format::bf16, *model::parse_wire(wire), op, accumulate};
}

Schedule build(int nodes, int ranks_per_node, std::int64_t count, int lanes,
               const Arithmetic& arithmetic) {
  Shape shape{nodes * ranks_per_node, count, lanes, count % 2 == 0, arithmetic};
  shape.ranks_per_node = ranks_per_node;
  return hierarchical_all_reduce(shape);
}

std::string order_of(int nodes, int ranks_per_node, const std::string& wire, Op op,
                     std::int64_t element) {
  Expressions pool;
  const auto outputs =
      provenance(build(nodes, ranks_per_node, 1024, 1, arithmetic_of(wire, op)), pool);
  for (const auto& output : outputs) REQUIRE(output == outputs[0]);
  return pool.order(outputs[0][element]);
}

}  // namespace

TEST_CASE("hierarchical all-reduces of 1 to 24 ranks in nodes of every size are such",
          "[reference]") {
  constexpr const char* kWires[] = {"none", "e5m2", "e4m3fn:b32:e8m0"};
  for (int ranks = 1; ranks <= 24; ++ranks) {
    for (int size = 1; size <= ranks; ++size) {
      if (ranks % size != 0) continue;
      for (const std::int64_t count : {0, 129, 700}) {
        const std::string wire = kWires[(ranks + size + count) % 3];
        const Op op = ranks % 2 == 0 ? Op::avg : Op::sum;
        const int lanes = 1 + static_cast<int>(ranks + count) % 3;
        const auto counterexample =
            prove(build(ranks / size, size, count, lanes, arithmetic_of(wire, op)));
        if (!counterexample) continue;
        FAIL(wire << ", " << ranks << " ranks in nodes of " << size << ", " << count << ": "
                  << counterexample->what);
      }
    }
  }
}

TEST_CASE("so are those of 63 and 64 ranks, and of ranks without nodes", "[reference]") {
  for (const int size : {1, 8, 64}) {
    REQUIRE(!prove(build(64 / size, size, 300, 1, arithmetic_of("e5m2"))));
  }
  for (const int size : {1, 3, 9}) {
    REQUIRE(!prove(build(63 / size, size, 300, 1, arithmetic_of("none"))));
  }
  for (int ranks = 1; ranks <= 33; ++ranks) {
    const Shape shape{ranks, 300, 2, ranks % 2 == 0, arithmetic_of("none", Op::avg)};
    REQUIRE(!prove(halving_doubling_all_reduce(shape)));
  }
}

TEST_CASE("halves are added to the own, pair by pair, a folded rank first", "[reference]") {
  REQUIRE(order_of(2, 1, "none", Op::sum, 0) == "(1+0)");
  REQUIRE(order_of(4, 1, "none", Op::sum, 0) == "((3+1)+(2+0))");
  REQUIRE(order_of(3, 1, "none", Op::sum, 0) == "(2+(0+1))");
  REQUIRE(order_of(2, 2, "none", Op::sum, 0) == "((3+2)+(1+0))");
  REQUIRE(order_of(2, 2, "e5m2", Op::avg, 1023) == "q((q((q(1)+q(0)))+q((q(3)+q(2))))/4)");
}

TEST_CASE("a hierarchical all-reduce with any one step broken is rejected", "[reference]") {
  const auto drop = [](Lane& lane, std::size_t step, int) {
    lane.erase(lane.begin() + static_cast<std::ptrdiff_t>(step));
    return true;
  };
  const auto sum_once_more = [](Lane& lane, std::size_t step, int) {
    auto* reduce = std::get_if<Reduce>(&lane[step]);
    if (reduce != nullptr) reduce->sources.push_back(reduce->sources[0]);
    return reduce != nullptr;
  };
  for (const auto& [nodes, size] : {std::pair{3, 1}, {2, 2}, {3, 2}}) {
    const Schedule schedule = build(nodes, size, 1024, 1, arithmetic_of("none"));
    CAPTURE(nodes, size);
    REQUIRE(test::accepted_break(schedule, test::moves_data, drop) == "");
    REQUIRE(test::accepted_break(schedule, test::is_signal, drop) == "");
    REQUIRE(test::accepted_break(schedule, test::moves_data, sum_once_more) == "");
  }
}

}  // namespace tally::reference
