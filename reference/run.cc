#include "reference/run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "model/check.h"
#include "reference/block_codec.h"
#include "reference/convert.h"
#include "reference/extremes.h"
#include "reference/walk.h"

namespace tally::reference {
namespace {

using model::Copy;
using model::Format;
using model::Reduce;
using model::Role;
using model::Slice;

// Elements worked on at a time: accumulators stay in L1, and no block of a codec is cut.
constexpr std::int64_t kTile = 1024;

/// accumulator = accumulator op term, in f32.
void combine(model::Op op, std::span<float> accumulator, std::span<const float> term) {
  const std::size_t n = accumulator.size();
  switch (op) {
    case model::Op::sum:
    case model::Op::avg:
    case model::Op::premul_sum:
    case model::Op::avg_premul:
      for (std::size_t i = 0; i < n; ++i) accumulator[i] += term[i];
      return;
    case model::Op::prod:
      for (std::size_t i = 0; i < n; ++i) accumulator[i] *= term[i];
      return;
    case model::Op::min:
      for (std::size_t i = 0; i < n; ++i) accumulator[i] = minimum(accumulator[i], term[i]);
      return;
    case model::Op::max:
      for (std::size_t i = 0; i < n; ++i) accumulator[i] = maximum(accumulator[i], term[i]);
      return;
  }
}

class Interpreter {
 public:
  Interpreter(const model::Schedule& schedule, const RankBuffers& inputs, RankBuffers& outputs)
      : schedule_(schedule),
        wire_(schedule.arithmetic.wire),
        input_(buffer_with(schedule, Role::input)),
        output_(buffer_with(schedule, Role::output)),
        factor_(premultiplier(schedule.arithmetic, schedule.ranks)),
        premultiplies_(model::premultiplies(schedule.arithmetic.op)),
        outputs_(outputs) {
    outputs.resize(schedule.ranks);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      std::vector<Storage>& buffers = buffers_.emplace_back(schedule.buffers.size());
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        const model::Buffer& buffer = schedule.buffers[i];
        if (buffer.role != Role::scratch) continue;
        buffers[i].scratch.resize(bytes(buffer));
        buffers[i].codes = buffers[i].scratch;
        if (buffer.encoded) buffers[i].scales.resize(wire_.scale_bytes(buffer.elements));
      }
      TALLY_CHECK(std::ssize(inputs[rank]) == bytes(schedule.buffers[input_]),
                  "an input has another size");
      if (schedule.in_place) {
        share(rank, inputs[rank]);
        continue;
      }
      outputs[rank].resize(bytes(schedule.buffers[output_]));
      buffers[output_].codes = outputs[rank];
      // Nothing is written to an input: write() sees to that.
      buffers[input_].codes =
          std::span(const_cast<std::byte*>(inputs[rank].data()), inputs[rank].size());
    }
  }

  /// Leaves the outputs alone in `outputs`.
  void finish() {
    for (int rank = 0; rank < schedule_.ranks && schedule_.in_place; ++rank) {
      auto& shared = outputs_[rank];
      const auto first = buffers_[rank][output_].codes.data() - shared.data();
      const auto size = std::ssize(buffers_[rank][output_].codes);
      shared.erase(shared.begin(), shared.begin() + first);
      shared.resize(size);
    }
  }

  void step(const model::Step& step) {
    if (const auto* copy = std::get_if<Copy>(&step)) this->copy(*copy);
    if (const auto* reduce = std::get_if<Reduce>(&step)) this->reduce(*reduce);
  }

 private:
  struct Storage {
    std::span<std::byte> codes;
    std::vector<std::byte> scratch, scales;  // what `codes` are of; only where encoded in blocks
    std::int64_t writes = 0;
  };

  /// A sum that was computed, and how often its sources and its destination had been written then.
  struct KnownSum {
    Reduce reduce;
    std::vector<std::int64_t> writes;
  };

  bool is_encoded(const Slice& slice) const {
    return schedule_.buffers[slice.buffer].encoded && !wire_.is_none();
  }
  bool is_premultiplied(const Slice& slice) const {
    return premultiplies_ && slice.buffer == input_;
  }
  Format code_format(const Slice& slice) const {
    const Format element = schedule_.arithmetic.element;
    return is_encoded(slice) ? wire_.format : element;
  }
  std::int64_t bytes(const model::Buffer& buffer, std::int64_t elements) const {
    const model::Wire& wire = buffer.encoded ? wire_ : model::kNoWire;
    return wire.code_bytes(elements, schedule_.arithmetic.element);
  }
  std::int64_t bytes(const model::Buffer& buffer) const { return bytes(buffer, buffer.elements); }

  /// In place: the larger of input and output is in `outputs`, and the other lies inside it.
  void share(int rank, const std::vector<std::byte>& input) {
    const model::Home of_input = home(schedule_, rank, input_);
    const model::Home of_output = home(schedule_, rank, output_);
    const auto place = [&](int buffer, const model::Home& at) {
      const model::Buffer& self = schedule_.buffers[buffer];
      return std::span(outputs_[rank]).subspan(bytes(self, at.offset), bytes(self));
    };
    outputs_[rank].resize(bytes(schedule_.buffers[of_input.buffer]));
    buffers_[rank][input_].codes = place(input_, of_input);
    buffers_[rank][output_].codes = place(output_, of_output);
    std::ranges::copy(input, buffers_[rank][input_].codes.begin());
  }

  Storage& storage(const Slice& slice) { return buffers_[slice.rank][slice.buffer]; }
  /// Counts a write; in place, both names of the one buffer see it.
  void write(const Slice& slice) {
    TALLY_CHECK(schedule_.buffers[slice.buffer].role != Role::input, "an input is written");
    ++storage(slice).writes;
    if (schedule_.in_place) ++buffers_[slice.rank][input_].writes;
  }
  std::span<std::byte> codes(const Slice& slice) {
    const model::Buffer& buffer = schedule_.buffers[slice.buffer];
    return storage(slice).codes.subspan(bytes(buffer, slice.range.begin),
                                        bytes(buffer, slice.range.size()));
  }
  /// A slice begins a block, wherever it has elements.
  std::span<std::byte> scales(const Slice& slice) {
    const std::int64_t first = slice.range.size() == 0 ? 0 : wire_.scale_bytes(slice.range.begin);
    return std::span(storage(slice).scales).subspan(first, wire_.scale_bytes(slice.range.size()));
  }

  void load(const Slice& slice, std::span<float> values) {
    if (is_encoded(slice) && wire_.is_block()) {
      decode_blocks(wire_, codes(slice), scales(slice), values);
    } else {
      decode_array(code_format(slice), codes(slice), values);
    }
    if (is_premultiplied(slice)) {
      for (float& x : values) x *= factor_;
      round_array(schedule_.arithmetic.element, values);
    }
  }
  void store(std::span<const float> values, const Slice& slice) {
    if (is_encoded(slice) && wire_.is_block()) {
      encode_blocks(wire_, values, codes(slice), scales(slice));
    } else {
      encode_array(code_format(slice), is_encoded(slice) ? wire_.overflow : model::kAsFormat,
                   values, codes(slice));
    }
  }

  /// Calls tile(offset, length) for pieces of at most kTile elements.
  template <class Tile>
  static void for_tiles(model::Range range, Tile tile) {
    for (std::int64_t offset = 0; offset < range.size(); offset += kTile) {
      tile(offset, std::min(kTile, range.size() - offset));
    }
  }
  static Slice at(const Slice& slice, std::int64_t offset, std::int64_t length) {
    const std::int64_t begin = slice.range.begin + offset;
    return {slice.rank, slice.buffer, {begin, begin + length}};
  }

  std::vector<std::int64_t> writes(const Reduce& reduce) {
    std::vector<std::int64_t> counts = {storage(reduce.destination).writes};
    for (const Slice& source : reduce.sources) counts.push_back(storage(source).writes);
    return counts;
  }

  void copy(const Copy& copy) {
    write(copy.destination);
    TALLY_CHECK(copy.source.range.size() == copy.destination.range.size(),
                "a copy keeps the length");
    if (is_encoded(copy.source) == is_encoded(copy.destination) && !is_premultiplied(copy.source)) {
      std::ranges::copy(codes(copy.source), codes(copy.destination).begin());
      if (is_encoded(copy.source)) {
        std::ranges::copy(scales(copy.source), scales(copy.destination).begin());
      }
      return;
    }
    std::array<float, kTile> values;
    for_tiles(copy.source.range, [&](std::int64_t offset, std::int64_t length) {
      const std::span<float> tile(values.data(), length);
      load(at(copy.source, offset, length), tile);
      store(tile, at(copy.destination, offset, length));
    });
  }

  void reduce(const Reduce& reduce) {
    for (const Slice& source : reduce.sources) {
      TALLY_CHECK(source.range.size() == reduce.destination.range.size(), "a sum keeps the length");
    }
    // In flat every rank sums the same: what is known and still true is copied.
    if (known_ && same_sum(known_->reduce, reduce) && writes(known_->reduce) == known_->writes) {
      copy({known_->reduce.destination, reduce.destination});
      return;
    }
    write(reduce.destination);
    std::array<float, kTile> accumulators, terms;
    for_tiles(reduce.destination.range, [&](std::int64_t offset, std::int64_t length) {
      const std::span<float> sum(accumulators.data(), length), term(terms.data(), length);
      accumulate(reduce, offset, sum, term);
      store(sum, at(reduce.destination, offset, length));
    });
    known_ = KnownSum{reduce, writes(reduce)};
  }

  /// Whether both sum the same slices into the same kind of buffer.
  static bool same_sum(const Reduce& a, const Reduce& b) {
    return a.sources == b.sources && a.start == b.start && a.divisor == b.divisor &&
           a.destination.buffer == b.destination.buffer;
  }

  void accumulate(const Reduce& reduce, std::int64_t offset, std::span<float> sum,
                  std::span<float> term) {
    const auto length = static_cast<std::int64_t>(sum.size());
    const model::Arithmetic& arithmetic = schedule_.arithmetic;
    const bool round_each = arithmetic.accumulate == model::Accumulate::element;
    std::fill(sum.begin(), sum.end(), reduce.start == Reduce::Start::one ? 1.0f : 0.0f);
    bool is_first = reduce.start == Reduce::Start::first_source;
    for (const Slice& source : reduce.sources) {
      if (is_first) {
        load(at(source, offset, length), sum);
        is_first = false;
        continue;
      }
      load(at(source, offset, length), term);
      combine(arithmetic.op, sum, term);
      if (round_each) round_array(arithmetic.element, sum);
    }
    if (reduce.divisor == 1) return;
    for (float& x : sum) x /= static_cast<float>(reduce.divisor);
  }

  const model::Schedule& schedule_;
  const model::Wire& wire_;
  const int input_, output_;
  const float factor_;
  const bool premultiplies_;
  RankBuffers& outputs_;
  std::vector<std::vector<Storage>> buffers_;  // [rank][buffer]
  std::optional<KnownSum> known_;
};

}  // namespace

void run_into(const model::Schedule& schedule, const RankBuffers& inputs, RankBuffers& outputs) {
  TALLY_CHECK(std::ssize(inputs) == schedule.ranks, "one input for each rank");
  TALLY_CHECK(&inputs != &outputs, "the interpreter reads inputs while it writes outputs");
  Interpreter interpreter(schedule, inputs, outputs);
  const auto stuck =
      walk(schedule, [&](int, int, const model::Step& step) { interpreter.step(step); });
  TALLY_CHECK(!stuck, "the schedule deadlocks");
  interpreter.finish();
}

RankBuffers run(const model::Schedule& schedule, const RankBuffers& inputs) {
  RankBuffers outputs;
  run_into(schedule, inputs, outputs);
  return outputs;
}

}  // namespace tally::reference
