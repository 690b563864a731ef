// Goal: the built-in all-reduces are such, in the order of the contract, and a schedule that
// is none is rejected.
// Method: read the expressions; prove all builders; then break a schedule at one place after the
// other, and expect a counterexample each time. A wait that is taken away is not among the
// breaks: the proof runs the steps in one order, in which a missing wait changes nothing. That is
// a race, and needs happens-before.

#include "reference/provenance.h"

#include "model/builders.h"
#include "tests/reference/schedule_breaks.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Builder;
using model::Copy;
using model::Expressions;
using model::Format;
using model::Lane;
using model::Op;
using model::Range;
using model::Reduce;
using model::Schedule;
using model::Shape;
using model::Signal;
using model::Slice;
using model::Step;
using model::Wait;
using test::accepted_break;
using test::is_accepted;
using test::is_signal;
using test::moves_data;
using test::slices_of;

constexpr Arithmetic kElement{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};
constexpr Arithmetic kF32{Format::bf16, model::kNoWire, Op::sum, Accumulate::f32};
constexpr Arithmetic kFp8{Format::bf16, model::cast_wire(Format::e4m3fnuz), Op::sum,
                          Accumulate::f32};

Schedule build(const std::string& algorithm, const Shape& shape) {
  return model::find_builder(model::Collective::all_reduce, algorithm)->build(shape);
}

/// What an output is on each rank, the same on all, of 3 ranks.
std::string text_of(const std::string& algorithm, const Arithmetic& arithmetic, bool only_order) {
  Expressions pool;
  const auto outputs = provenance(build(algorithm, {3, 1, 1, false, arithmetic}), pool);
  REQUIRE(outputs.size() == 3);
  for (const auto& output : outputs) REQUIRE(output[0] == outputs[0][0]);
  return only_order ? pool.order(outputs[0][0]) : pool.text(outputs[0][0]);
}

/// The schedules that are broken: 3 ranks, each part of a lane with elements in it.
std::vector<Schedule> schedules_to_break() {
  std::vector<Schedule> all;
  for (const bool in_place : {false, true}) {
    const Arithmetic& arithmetic = in_place ? kFp8 : kElement;
    all.push_back(build("flat", {3, 300, 2, in_place, arithmetic}));
    all.push_back(build("tree", {3, 300, 1, in_place, arithmetic}));
  }
  all.push_back(build("tree", {3, 700, 2, false, kFp8}));
  return all;
}

/// Changes each slice of each step that moves data by `change`, one at a time.
void require_all_slices_matter(const std::function<void(Slice&)>& change) {
  for (const Schedule& schedule : schedules_to_break()) {
    CAPTURE(schedule.in_place, schedule.arithmetic.wire.name());
    for (std::size_t which = 0; which < 4; ++which) {
      CAPTURE(which);
      const std::string accepted =
          accepted_break(schedule, moves_data, [&](Lane& lane, std::size_t step, int) {
            const std::vector<Slice*> slices = slices_of(lane[step]);
            if (which >= slices.size()) return false;
            change(*slices[which]);
            return true;
          });
      REQUIRE(accepted == "");
    }
  }
}

}  // namespace

TEST_CASE("ranks are summed in ascending order, by every rank", "[reference]") {
  for (const char* algorithm : {"flat", "tree"}) {
    REQUIRE(text_of(algorithm, kElement, true) == "(2+(1+0))");
    REQUIRE(text_of(algorithm, kF32, true) == "(2+(1+0))");
  }
  REQUIRE(text_of("flat", kFp8, true) == "(q(2)+(q(1)+q(0)))");
  REQUIRE(text_of("tree", kFp8, true) == "q((q(2)+(q(1)+q(0))))");
}

TEST_CASE("the accumulator says where a sum is rounded", "[reference]") {
  REQUIRE(text_of("flat", kElement, false) == "r((2.0+r((1.0+r((0.0+z))))))");
  REQUIRE(text_of("flat", kF32, false) == "r((2.0+(1.0+(0.0+z))))");
  REQUIRE(text_of("tree", kElement, false) == text_of("flat", kElement, false));
  REQUIRE(text_of("tree", kF32, false) == text_of("flat", kF32, false));
  REQUIRE(text_of("flat", kFp8, false) == "r((d(q(2.0))+(d(q(1.0))+(d(q(0.0))+z))))");
  REQUIRE(text_of("tree", kFp8, false) == "r(d(q((d(q(2.0))+(d(q(1.0))+(d(q(0.0))+z))))))");
}

TEST_CASE("every element is made of the ranks' same element", "[reference]") {
  Expressions pool;
  const auto outputs = provenance(build("tree", {2, 300, 2, true, kElement}), pool);
  for (const auto& output : outputs) {
    REQUIRE(output.size() == 300);
    for (std::int64_t i = 0; i < 300; ++i) {
      const std::vector<std::pair<int, std::int64_t>> expected{{0, i}, {1, i}};
      if (pool.inputs(output[i]) != expected) REQUIRE(pool.text(output[i]) == "");
    }
  }
}

TEST_CASE("in place and lanes do not change an expression", "[reference]") {
  for (const Builder& builder : model::builders()) {
    if (builder.collective != model::Collective::all_reduce) continue;
    Expressions pool;
    const auto once = provenance(builder.build({4, 400, 1, false, kFp8}), pool);
    REQUIRE(provenance(builder.build({4, 400, 3, false, kFp8}), pool) == once);
    REQUIRE(provenance(builder.build({4, 400, 3, true, kFp8}), pool) == once);
  }
}

TEST_CASE("all builders of all-reduces build such: 1 to 16 ranks and 64, ragged counts",
          "[reference]") {
  for (const Builder& builder : model::builders()) {
    if (builder.collective != model::Collective::all_reduce) continue;
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (const std::int64_t count : {0, 1, 127, 129, 300}) {
        for (int lanes = 1; lanes <= 3; ++lanes) {
          const bool in_place = (ranks + lanes) % 2 == 0;
          const Shape shape{ranks == 17 ? 64 : ranks, ranks == 17 ? count / 2 : count, lanes,
                            in_place, count % 2 == 0 ? kFp8 : kElement};
          const auto counterexample = prove(builder.build(shape));
          if (counterexample) FAIL(builder.algorithm << ": " << counterexample->what);
        }
      }
    }
  }
}

TEST_CASE("a schedule without any one step that moves data is rejected", "[reference]") {
  for (const Schedule& schedule : schedules_to_break()) {
    CAPTURE(schedule.in_place, schedule.arithmetic.wire.name());
    const auto drop = [](Lane& lane, std::size_t step, int) {
      lane.erase(lane.begin() + static_cast<std::ptrdiff_t>(step));
      return true;
    };
    REQUIRE(accepted_break(schedule, moves_data, drop) == "");
    REQUIRE(accepted_break(schedule, is_signal, drop) == "");
  }
}

TEST_CASE("a sum with a source twice or one less is rejected", "[reference]") {
  for (const Schedule& schedule : schedules_to_break()) {
    for (std::size_t which = 0; which < 3; ++which) {
      const auto change_sources = [&](auto change) {
        return accepted_break(schedule, moves_data, [&](Lane& lane, std::size_t step, int) {
          auto* reduce = std::get_if<Reduce>(&lane[step]);
          if (reduce != nullptr) change(reduce->sources);
          return reduce != nullptr;
        });
      };
      using Sources = std::vector<Slice>;
      REQUIRE(change_sources([&](Sources& s) { s.push_back(s[which]); }) == "");
      REQUIRE(change_sources([&](Sources& s) { s.erase(s.begin() + std::ptrdiff_t(which)); }) ==
              "");
      REQUIRE(change_sources([&](Sources& s) { s[which] = s[(which + 1) % 3]; }) == "");
    }
  }
}

TEST_CASE("ranks that sum in different orders are rejected", "[reference]") {
  const Schedule whole = build("flat", {3, 700, 2, false, kElement});
  const auto swap_last = [](Lane& lane, std::size_t step, int) {
    auto* reduce = std::get_if<Reduce>(&lane[step]);
    if (reduce != nullptr) std::swap(reduce->sources[1], reduce->sources[2]);
    return reduce != nullptr;
  };
  REQUIRE(accepted_break(whole, moves_data, swap_last) == "");
  // The same change on all ranks is another order, but an all-reduce.
  Schedule other = whole;
  for (auto& lanes : other.lanes) {
    for (Lane& lane : lanes) {
      for (std::size_t step = 0; step < lane.size(); ++step) swap_last(lane, step, 0);
    }
  }
  REQUIRE(is_accepted(other));
  // As in the tree, where each sum is made once.
  Schedule tree = build("tree", {3, 700, 1, false, kElement});
  for (std::size_t step = 0; step < tree.lanes[1][0].size(); ++step) {
    swap_last(tree.lanes[1][0], step, 1);
  }
  REQUIRE(is_accepted(tree));
}

TEST_CASE("a slice shifted by one element is rejected", "[reference]") {
  require_all_slices_matter([](Slice& slice) { ++slice.range.begin, ++slice.range.end; });
  require_all_slices_matter([](Slice& slice) { --slice.range.begin, --slice.range.end; });
}

TEST_CASE("a slice cut or grown by one element is rejected", "[reference]") {
  require_all_slices_matter([](Slice& slice) { --slice.range.end; });
  require_all_slices_matter([](Slice& slice) { ++slice.range.begin; });
  require_all_slices_matter([](Slice& slice) { ++slice.range.end; });
}

TEST_CASE("a slice of another rank, buffer or nowhere is rejected", "[reference]") {
  require_all_slices_matter([](Slice& slice) { slice.rank = (slice.rank + 1) % 3; });
  require_all_slices_matter([](Slice& slice) { slice.rank = 3; });
  require_all_slices_matter([](Slice& slice) { slice.rank = -1; });
  require_all_slices_matter([](Slice& slice) { slice.buffer = 3; });
  require_all_slices_matter([](Slice& slice) { slice.range = {0, 1000}; });
  require_all_slices_matter([](Slice& slice) { slice.range = {5, 4}; });
}

TEST_CASE("a signal or wait for another lane is rejected", "[reference]") {
  const auto is_sync = [](const Step& step) {
    return std::holds_alternative<Signal>(step) || std::holds_alternative<Wait>(step);
  };
  for (const Schedule& schedule : schedules_to_break()) {
    for (const int rank : {-1, 0, 1, 3}) {
      for (const int lane : {-1, 0, 2}) {
        const auto redirect = [&](Lane& steps, std::size_t index, int) {
          if (auto* signal = std::get_if<Signal>(&steps[index])) {
            if (signal->rank == rank && signal->lane == lane) return false;
            *signal = {rank, lane};
          }
          if (auto* wait = std::get_if<Wait>(&steps[index])) {
            if (wait->rank == rank && wait->lane == lane) return false;
            *wait = {rank, lane};
          }
          return true;
        };
        REQUIRE(accepted_break(schedule, is_sync, redirect) == "");
      }
    }
  }
}

TEST_CASE("a counterexample says where and what", "[reference]") {
  const auto reason = [](const std::function<void(Schedule&)>& change) {
    Schedule schedule = build("flat", {2, 200, 1, false, kElement});
    change(schedule);
    const auto counterexample = prove(schedule);
    return counterexample ? counterexample->what : "";
  };
  const auto erase = [](Lane& lane, int step) { lane.erase(lane.begin() + step); };
  REQUIRE(reason([](Schedule&) {}) == "");
  REQUIRE(reason([&](Schedule& s) { erase(s.lanes[1][0], 0); }) ==
          "rank 1 lane 0: reads scratch[0] of rank 1, which nothing has written");
  REQUIRE(reason([&](Schedule& s) { erase(s.lanes[1][0], 1); }) ==
          "rank 0 lane 0 step 5: waits for a signal that never comes");
  REQUIRE(reason([&](Schedule& s) { erase(s.lanes[1][0], 3); }) ==
          "output[0] of rank 1 is never written");
  REQUIRE(reason([&](Schedule& s) { std::get<Reduce>(s.lanes[1][0][3]).sources.pop_back(); }) ==
          "output[0] of rank 1 is r((0.0+z))");
  REQUIRE(reason([&](Schedule& s) { std::get<Copy>(s.lanes[1][0][0]).source.range.end = 201; }) ==
          "rank 1 lane 0: input[0, 201) is out of bounds");
  REQUIRE(reason([&](Schedule& s) { std::get<Copy>(s.lanes[1][0][0]).source.range.end = 199; }) ==
          "rank 1 lane 0: input[0, 199) has another length than the destination");
  REQUIRE(reason([&](Schedule& s) { s.buffers[1].elements = 201; }) == "wrong output size");
  REQUIRE(reason([&](Schedule& s) { s.lanes[1].push_back({}); }) ==
          "rank 1 has another number of lanes");
}

TEST_CASE("a schedule of any shape", "[reference]") {
  test::property("is rejected without any one of its copies and sums", [] {
    Shape shape;
    shape.ranks = *rc::gen::inRange(2, 9).as("ranks");
    shape.count = *rc::gen::inRange(1, 700).as("count");
    shape.lanes = *rc::gen::inRange(1, 4).as("lanes");
    shape.in_place = *rc::gen::arbitrary<bool>().as("in_place");
    shape.arithmetic = *rc::gen::element(kElement, kF32, kFp8);
    Schedule schedule =
        build(*rc::gen::element<std::string>("flat", "tree").as("algorithm"), shape);
    RC_ASSERT(is_accepted(schedule));
    std::vector<std::pair<Lane*, std::ptrdiff_t>> steps;
    for (auto& lanes : schedule.lanes) {
      for (Lane& lane : lanes) {
        for (std::ptrdiff_t i = 0; i < std::ssize(lane); ++i) {
          if (moves_data(lane[i])) steps.push_back({&lane, i});
        }
      }
    }
    const auto [lane, step] = steps[*rc::gen::inRange<std::size_t>(0, steps.size()).as("step")];
    lane->erase(lane->begin() + step);
    RC_ASSERT(!is_accepted(schedule));
  });
}

}  // namespace tally::reference
