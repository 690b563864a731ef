#include "model/schedule.h"

#include <map>
#include <tuple>

#include "model/check.h"

namespace tally::model {
namespace {

std::int64_t moved_bytes(const Schedule& schedule, const Slice& slice) {
  const Arithmetic& arithmetic = schedule.arithmetic;
  const Buffer& buffer = schedule.buffers[slice.buffer];
  const Wire& wire = buffer.encoded ? arithmetic.wire : kNoWire;
  const std::int64_t count = slice.range.size();
  const std::int64_t words = ceil_divide(wire.code_bytes(count, arithmetic.element), kWordBytes);
  return buffer.bytes_per_word * words + wire.scale_bytes(count);
}

}  // namespace

int buffer_with(const Schedule& schedule, Role role) {
  for (std::size_t i = 0; i < schedule.buffers.size(); ++i) {
    if (schedule.buffers[i].role == role) return static_cast<int>(i);
  }
  TALLY_CHECK(false, "the schedule has no buffer with that role");
}

Home home(const Schedule& schedule, int rank, int buffer) {
  const Role role = schedule.buffers[buffer].role;
  if (!schedule.in_place || role == Role::scratch) return {buffer, 0};
  const int input = buffer_with(schedule, Role::input);
  const int output = buffer_with(schedule, Role::output);
  const std::int64_t inputs = schedule.buffers[input].elements;
  const std::int64_t outputs = schedule.buffers[output].elements;
  const int larger = outputs > inputs ? output : input;
  const bool is_whole = buffer == larger || inputs == outputs;
  return {larger, is_whole ? 0 : in_place_offset(schedule.collective, rank, schedule.count)};
}

std::int64_t used_inputs(const Schedule& schedule, int rank) {
  const int ranks = schedule.ranks;
  return schedule.collective == Collective::all_to_all_v
             ? send_offset(schedule.send_counts, ranks, rank, ranks)
             : input_elements(schedule.collective, ranks, schedule.count);
}

std::int64_t used_outputs(const Schedule& schedule, int rank) {
  const int ranks = schedule.ranks;
  return schedule.collective == Collective::all_to_all_v
             ? receive_offset(schedule.send_counts, ranks, ranks, rank)
             : output_elements(schedule.collective, ranks, schedule.count);
}

Contributions contributions(const Schedule& schedule, int rank, std::int64_t output_element) {
  return schedule.collective == Collective::all_to_all_v
             ? contributions_v(schedule.send_counts, schedule.ranks, rank, output_element)
             : contributions(schedule.collective, schedule.ranks, schedule.count, rank,
                             output_element);
}

std::vector<std::int64_t> link_bytes(const Schedule& schedule) {
  std::vector<std::int64_t> bytes(schedule.ranks * schedule.ranks, 0);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto add = [&](const Slice& slice, bool read) {
      if (slice.rank == rank) return;
      const int link =
          read ? slice.rank * schedule.ranks + rank : rank * schedule.ranks + slice.rank;
      bytes[link] += moved_bytes(schedule, slice);
    };
    for (const Lane& lane : schedule.lanes[rank]) {
      for (const Step& step : lane) {
        if (const auto* copy = std::get_if<Copy>(&step)) {
          add(copy->source, true);
          add(copy->destination, false);
        } else if (const auto* reduce = std::get_if<Reduce>(&step)) {
          for (const Slice& source : reduce->sources) add(source, true);
          add(reduce->destination, false);
        }
      }
    }
  }
  return bytes;
}

std::vector<Edge> wait_edges(const Schedule& schedule) {
  std::map<std::tuple<int, int, int, int>, int> times;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (std::size_t lane = 0; lane < schedule.lanes[rank].size(); ++lane) {
      for (const Step& step : schedule.lanes[rank][lane]) {
        if (const auto* wait = std::get_if<Wait>(&step)) {
          ++times[{wait->rank, wait->lane, rank, static_cast<int>(lane)}];
        }
      }
    }
  }
  std::vector<Edge> edges;
  for (const auto& [key, count] : times) {
    const auto& [from_rank, from_lane, to_rank, to_lane] = key;
    edges.push_back({from_rank, from_lane, to_rank, to_lane, count});
  }
  return edges;
}

}  // namespace tally::model
