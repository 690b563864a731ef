#include "tests/model/built_schedules.h"

#include "tests/support/property.h"

namespace tally::test {

using namespace model;

namespace {

std::string text(const Schedule& schedule, const Slice& slice) {
  return std::to_string(slice.rank) + "." + schedule.buffers[slice.buffer].name + "[" +
         std::to_string(slice.range.begin) + "," + std::to_string(slice.range.end) + ")";
}

std::string text(const Schedule& schedule, const Step& step) {
  if (const auto* copy = std::get_if<Copy>(&step)) {
    return text(schedule, copy->destination) + " = " + text(schedule, copy->source);
  }
  if (const auto* reduce = std::get_if<Reduce>(&step)) {
    std::string line = text(schedule, reduce->destination) + " = 0";
    for (const Slice& source : reduce->sources) line += " + " + text(schedule, source);
    return line;
  }
  if (const auto* signal = std::get_if<Signal>(&step)) {
    return "signal " + std::to_string(signal->rank) + "." + std::to_string(signal->lane);
  }
  const Wait& wait = std::get<Wait>(step);
  return "wait " + std::to_string(wait.rank) + "." + std::to_string(wait.lane);
}

}  // namespace

std::vector<std::string> texts(const Schedule& schedule, int rank, int lane) {
  std::vector<std::string> lines;
  for (const Step& step : schedule.lanes[rank][lane]) lines.push_back(text(schedule, step));
  return lines;
}

std::int64_t words(std::int64_t elements, std::int64_t bytes) {
  return (elements * bytes + 15) / 16 * 16;
}

AnyShape any_shape() {
  const auto [arithmetic, wire_bytes] = *rc::gen::elementOf(
      std::vector<std::pair<Arithmetic, std::int64_t>>{{kPlain, 4}, {kHalf, 2}, {kFp8, 1}});
  Shape shape;
  shape.ranks = *rc::gen::inRange(1, 65).as("ranks");
  shape.count = *rc::gen::inRange(0, 70'000).as("count");
  shape.lanes = *rc::gen::inRange(1, 6).as("lanes");
  shape.in_place = *rc::gen::arbitrary<bool>().as("in_place");
  shape.arithmetic = arithmetic;
  return {shape, wire_bytes};
}

Shape with_counts(Shape shape) {
  shape.in_place = false;
  const auto any_count = rc::gen::inRange<std::int64_t>(0, shape.count + 1);
  const int pairs = shape.ranks * shape.ranks;
  shape.send_counts = *rc::gen::container<std::vector<std::int64_t>>(pairs, any_count);
  return shape;
}

std::vector<Edge> all_pairs(int ranks, int lanes, int times) {
  std::vector<Edge> edges;
  for (int from = 0; from < ranks; ++from) {
    for (int lane = 0; lane < lanes; ++lane) {
      for (int to = 0; to < ranks; ++to) {
        if (to != from) edges.push_back({from, lane, to, lane, times});
      }
    }
  }
  return edges;
}

}  // namespace tally::test
