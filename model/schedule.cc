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
