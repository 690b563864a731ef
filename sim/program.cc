#include "sim/program.h"

#include <algorithm>

#include "model/check.h"

namespace tally::sim {

using model::Copy;
using model::Range;
using model::Reduce;
using model::Role;
using model::Schedule;
using model::Signal;
using model::Slice;
using model::Step;
using model::Wait;

namespace {

std::int64_t whole_words(std::int64_t bytes, std::int64_t bytes_per_word) {
  return bytes_per_word * model::ceil_divide(bytes, model::kWordBytes);
}

/// Whether two slices share an element of one rank's memory.
bool overlap(const Schedule& schedule, const Slice& a, const Slice& b) {
  if (a.rank != b.rank || a.range.size() == 0 || b.range.size() == 0) return false;
  const model::Home of_a = home(schedule, a.rank, a.buffer),
                    of_b = home(schedule, b.rank, b.buffer);
  return of_a.buffer == of_b.buffer && of_a.offset + a.range.begin < of_b.offset + b.range.end &&
         of_b.offset + b.range.begin < of_a.offset + a.range.end;
}

/// Groups the steps of one lane.
class ScheduleLane {
 public:
  ScheduleLane(const Schedule& schedule, Sizes sizes, LaneId self)
      : schedule_(schedule),
        sizes_(std::move(sizes)),
        rank_(self.rank),
        steps_(schedule.lanes[self.rank][self.lane]) {}

  bool operator()(Stage& stage) {
    if (next_ == steps_.size()) return false;
    stage = Stage{};
    read_.clear();
    written_.clear();
    for (; next_ < steps_.size() && belongs(steps_[next_], stage); ++next_) {
      add(steps_[next_], stage);
    }
    if (!stage.has_work()) stage.name = "barrier";
    return !stage.is_nothing() || (*this)(stage);
  }

 private:
  bool belongs(const Step& step, const Stage& stage) const {
    if (std::holds_alternative<Wait>(step)) return true;
    if (!stage.waits.empty()) return false;
    if (std::holds_alternative<Signal>(step)) return true;
    if (!stage.signals.empty()) return false;
    const auto conflicts = [&](const Slice& slice, const std::vector<Slice>& others) {
      return std::ranges::any_of(
          others, [&](const Slice& other) { return overlap(schedule_, slice, other); });
    };
    if (const auto* copy = std::get_if<Copy>(&step)) {
      return !conflicts(copy->source, written_) && !conflicts(copy->destination, written_) &&
             !conflicts(copy->destination, read_);
    }
    const Reduce& reduce = std::get<Reduce>(step);
    return !conflicts(reduce.destination, written_) && !conflicts(reduce.destination, read_) &&
           std::ranges::none_of(reduce.sources,
                                [&](const Slice& s) { return conflicts(s, written_); });
  }

  void add(const Step& step, Stage& stage) {
    if (const auto* signal = std::get_if<Signal>(&step)) {
      stage.signals.push_back({signal->rank, signal->lane});
    } else if (const auto* wait = std::get_if<Wait>(&step)) {
      stage.waits.push_back({wait->rank, wait->lane});
    } else if (const auto* copy = std::get_if<Copy>(&step)) {
      move(copy->source, true, stage);
      move(copy->destination, false, stage);
      if (is_encoded(copy->source) != is_encoded(copy->destination)) {
        stage.codec_bytes += sizes_.converted(copy->source.range.size());
      }
      name(stage, copy->destination, false);
    } else {
      const Reduce& reduce = std::get<Reduce>(step);
      for (const Slice& source : reduce.sources) {
        move(source, true, stage);
        convert(source, stage);
      }
      move(reduce.destination, false, stage);
      convert(reduce.destination, stage);
      name(stage, reduce.destination, true);
    }
  }

  void move(const Slice& slice, bool is_load, Stage& stage) {
    (is_load ? read_ : written_).push_back(slice);
    const model::Buffer& buffer = schedule_.buffers[slice.buffer];
    const std::int64_t count = slice.range.size();
    const std::int64_t bytes =
        buffer.encoded ? sizes_.codes(count, buffer.bytes_per_word) : sizes_.elements(count);
    if (slice.rank == rank_) {
      stage.memory_bytes += bytes;
    } else if (bytes > 0) {
      stage.transfers.push_back({slice.rank, bytes, is_load});
    }
  }

  bool is_encoded(const Slice& slice) const { return schedule_.buffers[slice.buffer].encoded; }
  void convert(const Slice& slice, Stage& stage) {
    if (is_encoded(slice)) stage.codec_bytes += sizes_.converted(slice.range.size());
  }

  /// A stage is named after what tells most of it: a sum, an output, a transfer.
  void name(Stage& stage, const Slice& destination, bool is_sum) {
    if (is_sum) {
      stage.name = "reduce";
    } else if (stage.name == "reduce") {
      return;
    } else if (schedule_.buffers[destination.buffer].role == Role::output) {
      stage.name = "gather";
    } else if (stage.name != "gather") {
      stage.name = stage.transfers.empty() ? "stage" : "exchange";
    }
  }

  const Schedule& schedule_;
  const Sizes sizes_;
  const int rank_;
  const model::Lane& steps_;
  std::size_t next_ = 0;
  std::vector<Slice> read_, written_;  // by the stage
};

}  // namespace

std::int64_t Sizes::elements(std::int64_t count) const {
  return whole_words(count * element.bytes(), model::kWordBytes);
}

std::int64_t Sizes::codes(std::int64_t count, std::int64_t bytes_per_word) const {
  const std::int64_t all = wire.bytes(count, element);
  model::WireSize without_scales = wire;
  without_scales.block = 0;
  const std::int64_t codes = without_scales.bytes(count, element);
  return whole_words(codes, bytes_per_word) + all - codes;
}

std::int64_t Sizes::converted(std::int64_t count) const {
  return wire.is_none() ? 0 : count * element.bytes();
}

Program program_of(const Schedule& schedule, const model::WireSize& wire) {
  std::size_t lanes = 0;
  for (const auto& of_rank : schedule.lanes) lanes = std::max(lanes, of_rank.size());
  const Sizes sizes{schedule.arithmetic.element, wire};
  return {schedule.ranks, static_cast<int>(lanes), [&schedule, sizes](LaneId self) -> Stages {
            if (self.lane >= std::ssize(schedule.lanes[self.rank])) {
              return [](Stage&) { return false; };
            }
            return ScheduleLane(schedule, sizes, self);
          }};
}

Program program_of(const Schedule& schedule) {
  return program_of(schedule, model::size_of(schedule.arithmetic.wire));
}

}  // namespace tally::sim
