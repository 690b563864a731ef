#include "reference/provenance.h"

#include <algorithm>
#include <tuple>

#include "model/check.h"
#include "reference/walk.h"

namespace tally::reference {
namespace {

using model::Copy;
using model::Expressions;
using model::Reduce;
using model::Role;
using model::Slice;
using Id = Expressions::Id;

class Symbols {
 public:
  Symbols(const model::Schedule& schedule, Expressions& expressions)
      : schedule_(schedule), expressions_(expressions) {
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      auto& buffers = values_.emplace_back();
      for (const model::Buffer& buffer : schedule.buffers) {
        buffers.emplace_back(buffer.elements, std::optional<Id>());
      }
      const int input = buffer_with(schedule, Role::input);
      for (std::int64_t i = 0; i < used_inputs(schedule, rank); ++i) {
        value(rank, input, i) = expressions.input(rank, i);
      }
    }
  }

  void step(int rank, int lane, const model::Step& step) {
    place_ = "rank " + std::to_string(rank) + " lane " + std::to_string(lane);
    if (const auto* copy = std::get_if<Copy>(&step)) this->copy(*copy);
    if (const auto* reduce = std::get_if<Reduce>(&step)) this->reduce(*reduce);
  }

  std::optional<Id>& value(int rank, int buffer, std::int64_t element) {
    const model::Home home = model::home(schedule_, rank, buffer);
    return values_[rank][home.buffer][home.offset + element];
  }

  const std::string& fault() const { return fault_; }

 private:
  void note(const std::string& what) {
    if (fault_.empty()) fault_ = place_ + ": " + what;
  }

  /// Whether the slice exists and has the `size` elements that the step writes.
  bool is_sound(const Slice& slice, std::int64_t size) {
    if (slice.rank < 0 || slice.rank >= schedule_.ranks || slice.buffer < 0 ||
        slice.buffer >= std::ssize(schedule_.buffers)) {
      note("there is no buffer " + std::to_string(slice.buffer) + " of rank " +
           std::to_string(slice.rank));
      return false;
    }
    const model::Buffer& buffer = schedule_.buffers[slice.buffer];
    const auto [begin, end] = slice.range;
    const std::string text =
        buffer.name + "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
    const bool inside = begin >= 0 && begin <= end && end <= buffer.elements;
    if (!inside) note(text + " is out of bounds");
    if (inside && end - begin != size) note(text + " has another length than the destination");
    return inside && end - begin == size;
  }

  bool is_encoded(const Slice& slice) const {
    return schedule_.buffers[slice.buffer].encoded && !schedule_.arithmetic.wire.is_none();
  }

  bool is_premultiplied(const Slice& slice) const {
    return model::premultiplies(schedule_.arithmetic.op) &&
           schedule_.buffers[slice.buffer].role == Role::input;
  }

  Id load(const Slice& slice, std::int64_t offset) {
    const auto held = value(slice.rank, slice.buffer, slice.range.begin + offset);
    if (!held) {
      note("reads " + schedule_.buffers[slice.buffer].name + "[" +
           std::to_string(slice.range.begin + offset) + "] of rank " + std::to_string(slice.rank) +
           ", which nothing has written");
      return expressions_.zero();
    }
    if (is_premultiplied(slice)) return expressions_.premultiply(*held);
    return is_encoded(slice) ? expressions_.decode(*held) : *held;
  }

  /// Rounds or encodes the values of a whole slice; a block's codes depend on all of its values.
  void store(const Slice& slice, const std::vector<Id>& values) {
    const model::Wire& wire = schedule_.arithmetic.wire;
    const auto count = static_cast<std::int64_t>(values.size());
    std::optional<Id> block;
    for (std::int64_t i = 0; i < count; ++i) {
      auto& to = value(slice.rank, slice.buffer, slice.range.begin + i);
      if (!is_encoded(slice)) {
        to = expressions_.round(values[i]);
      } else if (!wire.is_block()) {
        to = expressions_.encode(values[i]);
      } else {
        if (i % wire.length == 0) block = members(values, i, std::min(count, i + wire.length));
        to = expressions_.encode_in(values[i], *block);
      }
    }
  }

  Id members(const std::vector<Id>& values, std::int64_t begin, std::int64_t end) {
    Id all = expressions_.members(values[begin]);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      all = expressions_.unite(all, expressions_.members(values[i]));
    }
    return all;
  }

  void copy(const Copy& copy) {
    const std::int64_t size = copy.destination.range.size();
    if (!is_sound(copy.destination, size) || !is_sound(copy.source, size)) return;
    std::vector<Id> values;
    for (std::int64_t i = 0; i < size; ++i) {
      if (is_encoded(copy.source) && is_encoded(copy.destination)) {
        value(copy.destination.rank, copy.destination.buffer, copy.destination.range.begin + i) =
            value(copy.source.rank, copy.source.buffer, copy.source.range.begin + i);
      } else {
        values.push_back(load(copy.source, i));
      }
    }
    store(copy.destination, values);
  }

  void reduce(const Reduce& reduce) {
    const std::int64_t size = reduce.destination.range.size();
    if (!is_sound(reduce.destination, size)) return;
    for (const Slice& source : reduce.sources) {
      if (!is_sound(source, size)) return;
    }
    std::vector<Id> values;
    for (std::int64_t i = 0; i < size; ++i) {
      values.push_back(reduced(reduce, i));
    }
    store(reduce.destination, values);
  }

  Id reduced(const Reduce& reduce, std::int64_t i) {
    const model::Arithmetic& arithmetic = schedule_.arithmetic;
    const bool round_each = arithmetic.accumulate == model::Accumulate::element;
    Id sum = reduce.start == Reduce::Start::one ? expressions_.one() : expressions_.zero();
    bool is_first = reduce.start == Reduce::Start::first_source;
    for (const Slice& source : reduce.sources) {
      const Id term = load(source, i);
      if (is_first) {
        sum = term;
      } else {
        sum = expressions_.combine(arithmetic.op, sum, term);
        if (round_each) sum = expressions_.round(sum);
      }
      is_first = false;
    }
    return expressions_.divide(sum, reduce.divisor);
  }

  const model::Schedule& schedule_;
  Expressions& expressions_;
  std::vector<std::vector<std::vector<std::optional<Id>>>> values_;  // [rank][buffer][element]
  std::string place_, fault_;
};

std::string where(int rank, std::int64_t element) {
  return "output[" + std::to_string(element) + "] of rank " + std::to_string(rank);
}

/// Why the lanes cannot be walked at all: ranks with other numbers of lanes, a signal or wait that
/// names a lane which does not exist, or buffers of another size than the collective's.
std::optional<Counterexample> find_misshapen(const model::Schedule& schedule) {
  const auto& [collective, ranks, count] =
      std::tie(schedule.collective, schedule.ranks, schedule.count);
  const bool has_counts = collective == model::Collective::all_to_all_v;
  if (std::ssize(schedule.send_counts) != (has_counts ? ranks * ranks : 0)) {
    return Counterexample{"wrong number of send counts"};
  }
  const auto elements = [&](Role role) {
    return schedule.buffers[buffer_with(schedule, role)].elements;
  };
  if (elements(Role::input) != input_elements(collective, ranks, count)) {
    return Counterexample{"wrong input size"};
  }
  if (elements(Role::output) != output_elements(collective, ranks, count)) {
    return Counterexample{"wrong output size"};
  }
  if (std::ssize(schedule.lanes) != schedule.ranks) return Counterexample{"ranks without lanes"};
  const auto exists = [&](int rank, int lane) {
    return rank >= 0 && rank < schedule.ranks && lane >= 0 && lane < std::ssize(schedule.lanes[0]);
  };
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    if (schedule.lanes[rank].size() != schedule.lanes[0].size()) {
      return Counterexample{"rank " + std::to_string(rank) + " has another number of lanes"};
    }
    for (const model::Lane& lane : schedule.lanes[rank]) {
      for (const model::Step& step : lane) {
        const auto* signal = std::get_if<model::Signal>(&step);
        const auto* wait = std::get_if<model::Wait>(&step);
        if ((signal && !exists(signal->rank, signal->lane)) ||
            (wait && !exists(wait->rank, wait->lane))) {
          return Counterexample{"rank " + std::to_string(rank) +
                                " signals or waits for a lane that does not exist"};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

OutputExpressions provenance(const model::Schedule& schedule, Expressions& expressions) {
  Symbols symbols(schedule, expressions);
  walk(schedule,
       [&](int rank, int lane, const model::Step& step) { symbols.step(rank, lane, step); });
  const int output = buffer_with(schedule, Role::output);
  OutputExpressions outputs(schedule.ranks);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (std::int64_t i = 0; i < schedule.buffers[output].elements; ++i) {
      outputs[rank].push_back(symbols.value(rank, output, i).value_or(expressions.zero()));
    }
  }
  return outputs;
}

std::optional<Counterexample> prove(const model::Schedule& schedule) {
  if (const auto misshapen = find_misshapen(schedule)) return misshapen;
  Expressions expressions;
  Symbols symbols(schedule, expressions);
  const auto stuck = walk(schedule, [&](int rank, int lane, const model::Step& step) {
    symbols.step(rank, lane, step);
  });
  if (stuck) {
    return Counterexample{"rank " + std::to_string(stuck->rank) + " lane " +
                          std::to_string(stuck->lane) + " step " + std::to_string(stuck->step) +
                          ": waits for a signal that never comes"};
  }
  if (!symbols.fault().empty()) return Counterexample{symbols.fault()};

  const int output = buffer_with(schedule, Role::output);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (std::int64_t i = used_outputs(schedule, rank); i < schedule.buffers[output].elements;
         ++i) {
      if (symbols.value(rank, output, i)) {
        return Counterexample{where(rank, i) + " is written, after the last block"};
      }
    }
    for (std::int64_t i = 0; i < used_outputs(schedule, rank); ++i) {
      const auto held = symbols.value(rank, output, i);
      if (!held) return Counterexample{where(rank, i) + " is never written"};
      const auto wanted = contributions(schedule, rank, i);
      auto found = expressions.inputs(*held);
      std::sort(found.begin(), found.end());
      std::vector<std::pair<int, std::int64_t>> expected;
      for (int r = wanted.first_rank; r <= wanted.last_rank; ++r) {
        expected.push_back({r, wanted.element});
      }
      if (found != expected) {
        return Counterexample{where(rank, i) + " is " + expressions.text(*held)};
      }
      if (same_on_all_ranks(schedule.collective) && *held != symbols.value(0, output, i)) {
        return Counterexample{where(rank, i) + " is " + expressions.text(*held) +
                              ", but another expression on rank 0"};
      }
    }
  }
  return std::nullopt;
}

}  // namespace tally::reference
