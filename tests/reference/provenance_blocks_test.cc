// Goal: the schedules of reduce_scatter, all_gather, all_to_all and all_to_all_v are what they are
// called, and a schedule that is not is rejected; contributions that are multiplied are shown so.
// Method: prove all of them at small sizes; break one step after the other; read expressions.

#include "model/builders.h"
#include "reference/provenance.h"
#include "tests/reference/rank_buffers.h"
#include "tests/reference/schedule_breaks.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Collective;
using model::Expressions;
using model::Format;
using model::Op;
using model::Schedule;
using model::Shape;
using model::Slice;
using test::accepted_break;

constexpr Collective kCollectives[] = {Collective::reduce_scatter, Collective::all_gather,
                                       Collective::all_to_all, Collective::all_to_all_v};
constexpr Arithmetic kElement{Format::bf16};
constexpr Arithmetic kFp8{Format::bf16, model::cast_wire(Format::e4m3fnuz), Op::sum,
                          Accumulate::f32};
constexpr Arithmetic kBlocks{
    Format::bf16, model::block_wire(Format::e4m3fn, 32, Format::f32, model::ScaleRule::amax),
    Op::sum, Accumulate::f32};

Schedule build(Collective collective, Shape shape, std::uint64_t seed = 1) {
  if (collective == Collective::all_to_all_v) {
    shape.in_place = false;
    test::Random random(seed);
    for (int pair = 0; pair < shape.ranks * shape.ranks; ++pair) {
      const auto below = static_cast<std::uint32_t>(shape.count + 1);
      shape.send_counts.push_back(random.below(3) == 0 ? 0 : random.below(below));
    }
  }
  return model::find_builder(collective, "flat")->build(shape);
}

/// 3 ranks, out of place (in place an own block may stay where it is), parts with elements in them.
std::vector<Schedule> schedules_to_break() {
  std::vector<Schedule> all;
  for (const Collective collective : kCollectives) {
    all.push_back(build(collective, {3, 300, 2, false, kElement}, 8));
    all.push_back(build(collective, {3, 140, 1, false, kBlocks}, 8));
  }
  return all;
}

void require_all_slices_matter(const std::function<void(Slice&)>& change) {
  for (const Schedule& schedule : schedules_to_break()) {
    for (std::size_t which = 0; which < 2; ++which) {
      const std::string accepted =
          accepted_break(schedule, test::moves_data, [&](model::Lane& lane, std::size_t step, int) {
            change(*test::slices_of(lane[step])[which]);
            return true;
          });
      REQUIRE(accepted == "");
    }
  }
}

std::string text_of(const Schedule& schedule, int rank, std::int64_t element) {
  Expressions pool;
  return pool.text(provenance(schedule, pool)[rank][element]);
}

}  // namespace

TEST_CASE("every schedule of blocks is its collective: 1 to 8 ranks, ragged counts",
          "[reference]") {
  for (const Collective collective : kCollectives) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const std::int64_t count : {0, 1, 127, 128, 129, 300}) {
        for (int lanes = 1; lanes <= 3; ++lanes) {
          const Arithmetic& arithmetic = lanes == 1 ? kElement : lanes == 2 ? kFp8 : kBlocks;
          const Shape shape{ranks, count, lanes, (ranks + lanes) % 2 == 0, arithmetic};
          const auto counterexample =
              prove(build(collective, shape, static_cast<std::uint64_t>(ranks * lanes)));
          if (counterexample) FAIL(name(collective) << ": " << counterexample->what);
        }
      }
    }
  }
}

TEST_CASE("all_to_all_v without anything to send is one too", "[reference]") {
  for (const std::int64_t bound : {0, 300}) {
    Shape shape{3, bound, 2, false, kElement, 1, std::vector<std::int64_t>(9, 0)};
    REQUIRE(test::is_accepted(model::flat_all_to_all_v(shape)));
    shape.send_counts = std::vector<std::int64_t>(9, bound);
    REQUIRE(test::is_accepted(model::flat_all_to_all_v(shape)));
  }
}

TEST_CASE("a schedule of blocks without any one step is rejected", "[reference]") {
  const auto drop = [](model::Lane& lane, std::size_t step, int) {
    lane.erase(lane.begin() + static_cast<std::ptrdiff_t>(step));
    return true;
  };
  for (const Schedule& schedule : schedules_to_break()) {
    REQUIRE(accepted_break(schedule, test::moves_data, drop) == "");
    REQUIRE(accepted_break(schedule, test::is_signal, drop) == "");
  }
}

TEST_CASE("a schedule of blocks with a slice shifted, cut, grown or elsewhere is rejected",
          "[reference]") {
  require_all_slices_matter([](Slice& slice) { ++slice.range.begin, ++slice.range.end; });
  require_all_slices_matter([](Slice& slice) { --slice.range.begin, --slice.range.end; });
  require_all_slices_matter([](Slice& slice) { --slice.range.end; });
  require_all_slices_matter([](Slice& slice) { ++slice.range.end; });
  require_all_slices_matter([](Slice& slice) { slice.rank = (slice.rank + 1) % 3; });
  require_all_slices_matter([](Slice& slice) { slice.buffer = 3; });
}

TEST_CASE("all_to_all_v that writes after the last block, or has other counts, is rejected",
          "[reference]") {
  Schedule schedule =
      model::flat_all_to_all_v({2, 4, 1, false, kElement, 1, {1, 2, 3, 4}});  // rank 0 receives 4
  REQUIRE(test::is_accepted(schedule));
  Schedule late = schedule;
  late.lanes[0][0].push_back(model::Copy{{0, 1, {0, 1}}, {0, 1, {4, 5}}});
  REQUIRE(prove(late)->what == "output[4] of rank 0 is written, after the last block");
  Schedule unread = schedule;  // of rank 0's input only 3 elements are there
  unread.lanes[0][0].insert(unread.lanes[0][0].begin(),
                            model::Copy{{0, 0, {3, 4}}, {0, 2, {100, 101}}});
  REQUIRE(prove(unread)->what ==
          "rank 0 lane 0: reads input[3] of rank 0, which nothing has written");
  Schedule other = schedule;
  other.send_counts = {1, 2, 2, 4};
  REQUIRE_FALSE(test::is_accepted(other));
  other.send_counts.pop_back();
  REQUIRE(prove(other)->what == "wrong number of send counts");
  REQUIRE(test::is_accepted(schedule));
}

TEST_CASE("in place, an input that is written before it was read is rejected", "[reference]") {
  for (const Collective collective :
       {Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all}) {
    CAPTURE(std::string(name(collective)));
    for (const bool in_place : {false, true}) {
      Schedule schedule = build(collective, {2, 100, 1, in_place, kElement});
      model::Lane& lane = schedule.lanes[1][0];  // the value of rank 0 comes too early
      lane.insert(lane.begin(), model::Copy{{0, 0, {0, 100}}, {1, 1, {0, 100}}});
      const bool is_overwritten = in_place && collective != Collective::all_gather;
      REQUIRE(test::is_accepted(schedule) == !is_overwritten);
    }
  }
}

TEST_CASE("what is premultiplied is shown, wherever an input is read, and nothing else",
          "[reference]") {
  for (const Op op : {Op::premul_sum, Op::avg_premul}) {
    const Arithmetic a{Format::bf16, model::kNoWire, op, Accumulate::element, 0.5f};
    REQUIRE(text_of(build(Collective::reduce_scatter, {2, 1, 1, false, a}), 1, 0) ==
            "r((f*(1.1)+r((f*(0.1)+z))))");
    REQUIRE(text_of(build(Collective::reduce_scatter, {2, 1, 1, true, a}), 1, 0) ==
            "r((f*(1.1)+r((f*(0.1)+z))))");
    const auto of = [&](const char* algorithm) {
      const Shape shape{2, 1, 1, true, a};
      return text_of(model::find_builder(Collective::all_reduce, algorithm)->build(shape), 1, 0);
    };
    REQUIRE(of("flat") == "r((f*(1.0)+r((f*(0.0)+z))))");
    REQUIRE(of("tree") == "r((f*(1.0)+r((f*(0.0)+z))))");
    REQUIRE(of("ring") == "r((f*(0.0)+f*(1.0)))");
  }
}

}  // namespace tally::reference
