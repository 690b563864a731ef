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
      : schedule_(schedule), wire_(schedule.arithmetic.wire) {
    buffers_.resize(schedule.ranks);
    outputs.resize(schedule.ranks);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (const model::Buffer& buffer : schedule.buffers) {
        const std::int64_t bytes = buffer.elements * element_bytes(buffer);
        Storage& storage = buffers_[rank].emplace_back();
        if (buffer.role == Role::scratch) {
          storage.scratch.resize(bytes);
          storage.codes = storage.scratch;
          if (buffer.encoded) storage.scales.resize(wire_.scale_bytes(buffer.elements));
        } else if (buffer.role == Role::output) {
          if (!schedule.in_place) outputs[rank].resize(bytes);
          storage.codes = outputs[rank];
        } else {
          TALLY_CHECK(std::ssize(inputs[rank]) == bytes, "an input has another size");
          if (schedule.in_place) outputs[rank] = inputs[rank];
          // Nothing is written to it but where it is the output: store() and copy() see to that.
          auto* first = const_cast<std::byte*>(inputs[rank].data());
          storage.codes = schedule.in_place ? std::span(outputs[rank]) : std::span(first, bytes);
        }
      }
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
  Format code_format(const model::Buffer& buffer) const {
    const Format element = schedule_.arithmetic.element;
    return buffer.encoded ? wire_.code_format(element) : element;
  }
  int element_bytes(const model::Buffer& buffer) const {
    return model::format(code_format(buffer)).bytes();
  }

  Storage& storage(const Slice& slice) { return buffers_[slice.rank][slice.buffer]; }
  /// Counts a write; in place, both names of the one buffer see it.
  void write(const Slice& slice) {
    TALLY_CHECK(schedule_.buffers[slice.buffer].role != Role::input, "an input is written");
    ++storage(slice).writes;
    if (schedule_.in_place) ++buffers_[slice.rank][buffer_with(schedule_, Role::input)].writes;
  }
  std::span<std::byte> codes(const Slice& slice) {
    const int bytes = element_bytes(schedule_.buffers[slice.buffer]);
    return storage(slice).codes.subspan(slice.range.begin * bytes, slice.range.size() * bytes);
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
      decode_array(code_format(schedule_.buffers[slice.buffer]), codes(slice), values);
    }
  }
  void store(std::span<const float> values, const Slice& slice) {
    if (is_encoded(slice) && wire_.is_block()) {
      encode_blocks(wire_, values, codes(slice), scales(slice));
    } else {
      encode_array(code_format(schedule_.buffers[slice.buffer]),
                   is_encoded(slice) ? wire_.overflow : model::kAsFormat, values, codes(slice));
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
    if (is_encoded(copy.source) == is_encoded(copy.destination)) {
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
}

RankBuffers run(const model::Schedule& schedule, const RankBuffers& inputs) {
  RankBuffers outputs;
  run_into(schedule, inputs, outputs);
  return outputs;
}

}  // namespace tally::reference
