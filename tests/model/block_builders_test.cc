// Goal: the built-in schedules of reduce_scatter, all_gather, all_to_all and all_to_all_v are the
// ones that are meant, and what only moves is not asked to compute.
// Method: small schedules are written out step by step; of all others the bytes on each link and
// the wait edges equal closed forms. That the schedules are these collectives is proved in
// tests/reference/provenance_blocks_test.cc.

#include "model/builders.h"
#include "tests/model/built_schedules.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::model {

using test::all_pairs;
using test::any_shape;
using test::kPlain;
using test::texts;
using test::with_counts;
using test::words;

TEST_CASE("reduce_scatter on 2 ranks and 2 lanes, step by step", "[model]") {
  const Schedule schedule = flat_reduce_scatter({2, 200, 2, false, kPlain});  // slots of 256
  REQUIRE(texts(schedule, 1, 0) ==
          std::vector<std::string>{"1.scratch[0,128) = 1.input[0,128)",
                                   "1.scratch[256,384) = 1.input[200,328)", "signal 0.0",
                                   "wait 0.0",
                                   "1.output[0,128) = 0 + 0.scratch[256,384) + 1.scratch[256,384)",
                                   "signal 0.0", "wait 0.0"});
  REQUIRE(
      texts(schedule, 0, 1) ==
      std::vector<std::string>{"0.scratch[128,200) = 0.input[128,200)",
                               "0.scratch[384,456) = 0.input[328,400)", "signal 1.1", "wait 1.1",
                               "0.output[128,200) = 0 + 0.scratch[128,200) + 1.scratch[128,200)",
                               "signal 1.1", "wait 1.1"});
}

TEST_CASE("all_gather on 3 ranks, step by step", "[model]") {
  REQUIRE(texts(flat_all_gather({3, 10, 1, false, kPlain}), 1, 0) ==
          std::vector<std::string>{"1.scratch[0,10) = 1.input[0,10)", "signal 0.0", "signal 2.0",
                                   "wait 0.0", "wait 2.0", "1.output[10,20) = 1.scratch[0,10)",
                                   "1.output[20,30) = 2.scratch[0,10)",
                                   "1.output[0,10) = 0.scratch[0,10)", "signal 0.0", "signal 2.0",
                                   "wait 0.0", "wait 2.0"});
}

TEST_CASE("all_to_all and all_to_all_v on 2 ranks, step by step", "[model]") {
  REQUIRE(texts(flat_all_to_all({2, 10, 1, false, kPlain}), 1, 0) ==
          std::vector<std::string>{
              "1.scratch[0,10) = 1.input[0,10)", "1.scratch[128,138) = 1.input[10,20)",
              "signal 0.0", "wait 0.0", "1.output[10,20) = 1.scratch[128,138)",
              "1.output[0,10) = 0.scratch[128,138)", "signal 0.0", "wait 0.0"});
  REQUIRE(texts(flat_all_to_all_v({2, 10, 1, false, kPlain, 1, {0, 7, 3, 2}}), 1, 0) ==
          std::vector<std::string>{"1.scratch[0,3) = 1.input[0,3)",
                                   "1.scratch[128,130) = 1.input[3,5)", "signal 0.0", "wait 0.0",
                                   "1.output[7,9) = 1.scratch[128,130)",
                                   "1.output[0,7) = 0.scratch[128,135)", "signal 0.0", "wait 0.0"});
}

TEST_CASE("what only moves has nothing to compute", "[model]") {
  constexpr Collective kMoving[] = {Collective::all_gather, Collective::all_to_all,
                                    Collective::all_to_all_v};
  constexpr Collective kReducing[] = {Collective::all_reduce, Collective::reduce_scatter};
  const auto flag = [](Collective collective, const Arithmetic& arithmetic) {
    const auto error = disallowed(collective, "flat", arithmetic);
    return error ? error->where : "";
  };
  const Wire cast = cast_wire(Format::e5m2);
  for (const Collective collective : kMoving) {
    REQUIRE(flag(collective, {Moved::f64}) == "");
    REQUIRE(flag(collective, {Format::f16}) == "");
    REQUIRE(flag(collective, {Format::f16, cast, Op::sum, Accumulate::f32}) == "");
    REQUIRE(flag(collective, {Moved::int8, cast, Op::sum, Accumulate::f32}) == "--wire");
    REQUIRE(flag(collective, {Format::f16, kNoWire, Op::sum, Accumulate::f32}) == "--accumulate");
    REQUIRE(flag(collective, {Format::f16, cast, Op::sum, Accumulate::element}) == "--accumulate");
    for (const Op op : all_ops()) {
      REQUIRE(flag(collective, {Format::f16, kNoWire, op}) == (op == Op::sum ? "" : "--op"));
    }
  }
  for (const Collective collective : kReducing) {
    REQUIRE(flag(collective, {Moved::int32}) == "--dtype");
    REQUIRE(flag(collective, {Format::f16, kNoWire, Op::sum, Accumulate::f32}) == "");
    for (const Op op : all_ops()) {
      REQUIRE(flag(collective, {Format::f16, kNoWire, op}) == "");
      REQUIRE(flag(collective, {Format::f16, cast, op, Accumulate::f32}) ==
              (allows_wire(op) ? "" : "--op"));
    }
  }
  const auto error = disallowed(Collective::reduce_scatter, "flat", {Moved::int32});
  REQUIRE(error->what == "int32 does not go with reduce_scatter");
}

TEST_CASE("a schedule of blocks", "[model]") {
  test::property("moves each block once over its link, rounded up to words", [] {
    const auto [any, wire_bytes] = any_shape();
    const Shape shape = with_counts(any);
    const auto scattered = link_bytes(flat_reduce_scatter(shape));
    const auto gathered = link_bytes(flat_all_gather(shape));
    const auto exchanged = link_bytes(flat_all_to_all(shape));
    const auto exchanged_v = link_bytes(flat_all_to_all_v(shape));
    for (int from = 0; from < shape.ranks; ++from) {
      for (int to = 0; to < shape.ranks; ++to) {
        const int link = from * shape.ranks + to;
        const std::int64_t expected = from == to ? 0 : words(shape.count, wire_bytes);
        RC_ASSERT(scattered[link] == expected);
        RC_ASSERT(gathered[link] == expected);
        RC_ASSERT(exchanged[link] == expected);
        RC_ASSERT(exchanged_v[link] ==
                  (from == to ? 0 : words(shape.send_counts[link], wire_bytes)));
      }
    }
  });
  test::property("meets every other rank twice", [] {
    const Shape shape = with_counts(any_shape().shape);
    const auto twice = all_pairs(shape.ranks, shape.lanes, 2);
    RC_ASSERT(wait_edges(flat_reduce_scatter(shape)) == twice);
    RC_ASSERT(wait_edges(flat_all_gather(shape)) == twice);
    RC_ASSERT(wait_edges(flat_all_to_all(shape)) == twice);
    RC_ASSERT(wait_edges(flat_all_to_all_v(shape)) == twice);
  });
  test::property("begins every slice of its scratch at a block of the wire", [] {
    Shape shape = with_counts(any_shape().shape);
    shape.arithmetic.wire = block_wire(Format::e4m3fn, 256, Format::f32, ScaleRule::amax);
    for (const Builder& builder : builders()) {
      if (builder.collective == Collective::all_reduce) continue;
      const Schedule schedule = builder.build(shape);
      for (const Step& step : schedule.lanes[0][shape.lanes - 1]) {
        const auto* copy = std::get_if<Copy>(&step);
        if (copy == nullptr || copy->source.range.size() == 0) continue;
        const bool is_staging = schedule.buffers[copy->destination.buffer].encoded;
        const Slice& staged = is_staging ? copy->destination : copy->source;
        RC_ASSERT(staged.range.begin % 256 == 0);
      }
    }
  });
}

TEST_CASE("all_to_all_v without counts", "[.]") { flat_all_to_all_v({2, 1, 1, false, kPlain}); }
TEST_CASE("all_to_all_v above its bound", "[.]") {
  flat_all_to_all_v({1, 1, 1, false, kPlain, 1, {2}});
}
TEST_CASE("all_to_all_v in place", "[.]") { flat_all_to_all_v({1, 1, 1, true, kPlain, 1, {1}}); }

TEST_CASE("counts that all_to_all_v does not take stop the program", "[model]") {
  REQUIRE(test::aborts("all_to_all_v without counts",
                       "all_to_all_v has a count for each pair of ranks"));
  REQUIRE(test::aborts("all_to_all_v above its bound",
                       "counts of all_to_all_v are from 0 to their bound"));
  REQUIRE(test::aborts("all_to_all_v in place", "all_to_all_v is out of place only"));
}

}  // namespace tally::model
