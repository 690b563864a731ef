#include "reference/provenance.h"

#include <algorithm>

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
        auto& values = buffers.emplace_back(buffer.elements, std::optional<Id>());
        if (buffer.role != Role::input) continue;
        for (std::int64_t i = 0; i < buffer.elements; ++i) values[i] = expressions.input(rank, i);
      }
    }
  }

  void step(int rank, int lane, const model::Step& step) {
    place_ = "rank " + std::to_string(rank) + " lane " + std::to_string(lane);
    if (const auto* copy = std::get_if<Copy>(&step)) this->copy(*copy);
    if (const auto* reduce = std::get_if<Reduce>(&step)) this->reduce(*reduce);
  }

  std::optional<Id>& value(int rank, int buffer, std::int64_t element) {
    const bool alias = schedule_.in_place && schedule_.buffers[buffer].role == Role::output;
    return values_[rank][alias ? buffer_with(schedule_, Role::input) : buffer][element];
  }

  const std::string& fault() const { return fault_; }

 private:
  void note(const std::string& what) {
    if (fault_.empty()) fault_ = place_ + ": " + what;
  }

  bool in_bounds(const Slice& slice) {
    const model::Buffer& buffer = schedule_.buffers[slice.buffer];
    const bool inside = slice.range.begin >= 0 && slice.range.begin <= slice.range.end &&
                        slice.range.end <= buffer.elements;
    if (!inside) {
      note(buffer.name + "[" + std::to_string(slice.range.begin) + ", " +
           std::to_string(slice.range.end) + ") is out of bounds");
    }
    return inside;
  }

  bool is_encoded(const Slice& slice) const {
    return schedule_.buffers[slice.buffer].encoded && !schedule_.arithmetic.wire.is_none();
  }

  Id load(const Slice& slice, std::int64_t offset) {
    const auto held = value(slice.rank, slice.buffer, slice.range.begin + offset);
    if (!held) {
      note("reads " + schedule_.buffers[slice.buffer].name + "[" +
           std::to_string(slice.range.begin + offset) + "] of rank " +
           std::to_string(slice.rank) + ", which nothing has written");
      return expressions_.zero();
    }
    return is_encoded(slice) ? expressions_.decode(*held) : *held;
  }

  void store(const Slice& slice, std::int64_t offset, Id x) {
    value(slice.rank, slice.buffer, slice.range.begin + offset) =
        is_encoded(slice) ? expressions_.encode(x) : expressions_.round(x);
  }

  void copy(const Copy& copy) {
    if (!in_bounds(copy.source) || !in_bounds(copy.destination)) return;
    for (std::int64_t i = 0; i < copy.source.range.size(); ++i) {
      if (is_encoded(copy.source) && is_encoded(copy.destination)) {
        value(copy.destination.rank, copy.destination.buffer, copy.destination.range.begin + i) =
            value(copy.source.rank, copy.source.buffer, copy.source.range.begin + i);
      } else {
        store(copy.destination, i, load(copy.source, i));
      }
    }
  }

  void reduce(const Reduce& reduce) {
    if (!in_bounds(reduce.destination)) return;
    for (const Slice& source : reduce.sources) {
      if (!in_bounds(source)) return;
    }
    const bool round_each = schedule_.arithmetic.accumulate == model::Accumulate::element;
    for (std::int64_t i = 0; i < reduce.destination.range.size(); ++i) {
      Id sum = expressions_.zero();
      bool is_first = reduce.start == Reduce::Start::first_source;
      for (const Slice& source : reduce.sources) {
        const Id term = load(source, i);
        if (is_first) {
          sum = term;
        } else {
          sum = expressions_.add(sum, term);
          if (round_each) sum = expressions_.round(sum);
        }
        is_first = false;
      }
      store(reduce.destination, i, sum);
    }
  }

  const model::Schedule& schedule_;
  Expressions& expressions_;
  std::vector<std::vector<std::vector<std::optional<Id>>>> values_;  // [rank][buffer][element]
  std::string place_, fault_;
};

std::string where(int rank, std::int64_t element) {
  return "output[" + std::to_string(element) + "] of rank " + std::to_string(rank);
}

}  // namespace

OutputExpressions provenance(const model::Schedule& schedule, Expressions& expressions) {
  Symbols symbols(schedule, expressions);
  walk(schedule, [&](int rank, int lane, const model::Step& step) { symbols.step(rank, lane, step); });
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
  Expressions expressions;
  Symbols symbols(schedule, expressions);
  const auto stuck = walk(
      schedule, [&](int rank, int lane, const model::Step& step) { symbols.step(rank, lane, step); });
  if (stuck) {
    return Counterexample{"rank " + std::to_string(stuck->rank) + " lane " +
                          std::to_string(stuck->lane) + " step " + std::to_string(stuck->step) +
                          ": waits for a signal that never comes"};
  }
  if (!symbols.fault().empty()) return Counterexample{symbols.fault()};

  const int output = buffer_with(schedule, Role::output);
  const std::int64_t elements = output_elements(schedule.collective, schedule.ranks, schedule.count);
  if (schedule.buffers[output].elements != elements) return Counterexample{"wrong output size"};
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto held = symbols.value(rank, output, i);
      if (!held) return Counterexample{where(rank, i) + " is never written"};
      const auto wanted =
          contributions(schedule.collective, schedule.ranks, schedule.count, rank, i);
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
