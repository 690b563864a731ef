#include "reference/run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "model/check.h"
#include "reference/convert.h"
#include "reference/walk.h"

namespace tally::reference {
namespace {

using model::Copy;
using model::Format;
using model::Reduce;
using model::Role;
using model::Slice;

constexpr std::int64_t kTile = 1024;  // elements summed at a time: accumulators stay in L1

class Interpreter {
 public:
  Interpreter(const model::Schedule& schedule, const RankBuffers& inputs) : schedule_(schedule) {
    buffers_.resize(schedule.ranks);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (const model::Buffer& buffer : schedule.buffers) {
        const std::int64_t bytes = buffer.elements * element_bytes(buffer);
        auto& storage = buffers_[rank].emplace_back();
        if (buffer.role == Role::input) {
          TALLY_CHECK(std::ssize(inputs[rank]) == bytes, "an input has another size");
          storage = inputs[rank];
        } else if (!aliases_input(buffer)) {
          storage.resize(bytes);
        }
      }
    }
  }

  void step(const model::Step& step) {
    if (const auto* copy = std::get_if<Copy>(&step)) this->copy(*copy);
    if (const auto* reduce = std::get_if<Reduce>(&step)) this->reduce(*reduce);
  }

  RankBuffers outputs() && {
    const bool in_input = schedule_.in_place;
    const int output = buffer_with(schedule_, in_input ? Role::input : Role::output);
    RankBuffers all;
    for (auto& of_rank : buffers_) all.push_back(std::move(of_rank[output]));
    return all;
  }

 private:
  bool aliases_input(const model::Buffer& buffer) const {
    return schedule_.in_place && buffer.role == Role::output;
  }
  Format code_format(const model::Buffer& buffer) const {
    const model::Arithmetic& arithmetic = schedule_.arithmetic;
    return buffer.encoded ? arithmetic.wire.code_format(arithmetic.element) : arithmetic.element;
  }
  int element_bytes(const model::Buffer& buffer) const {
    return model::format(code_format(buffer)).bytes();
  }
  Format code_format(const Slice& slice) const {
    return code_format(schedule_.buffers[slice.buffer]);
  }

  /// The codes of `elements` of the buffer that `slice` is in.
  std::span<std::byte> codes(const Slice& slice, model::Range elements) {
    const model::Buffer& buffer = schedule_.buffers[slice.buffer];
    const int storage = aliases_input(buffer) ? buffer_with(schedule_, Role::input) : slice.buffer;
    const int bytes = element_bytes(buffer);
    return std::span(buffers_[slice.rank][storage])
        .subspan(elements.begin * bytes, elements.size() * bytes);
  }

  void encode(std::span<const float> values, const Slice& slice, model::Range elements) {
    const bool encoded =
        schedule_.buffers[slice.buffer].encoded && !schedule_.arithmetic.wire.is_none();
    encode_array(code_format(slice),
                 encoded ? schedule_.arithmetic.wire.overflow : model::kAsFormat, values,
                 codes(slice, elements));
  }

  /// Calls tile(offset, length) for pieces of at most kTile elements.
  template <class Tile>
  static void for_tiles(model::Range range, Tile tile) {
    for (std::int64_t offset = 0; offset < range.size(); offset += kTile) {
      tile(offset, std::min(kTile, range.size() - offset));
    }
  }
  static model::Range at(const Slice& slice, std::int64_t offset, std::int64_t length) {
    return {slice.range.begin + offset, slice.range.begin + offset + length};
  }

  void copy(const Copy& copy) {
    TALLY_CHECK(copy.source.range.size() == copy.destination.range.size(),
                "a copy keeps the length");
    if (code_format(copy.source) == code_format(copy.destination)) {
      const auto from = codes(copy.source, copy.source.range);
      const auto to = codes(copy.destination, copy.destination.range);
      std::copy(from.begin(), from.end(), to.begin());
      return;
    }
    std::array<float, kTile> values;
    for_tiles(copy.source.range, [&](std::int64_t offset, std::int64_t length) {
      const std::span<float> tile(values.data(), length);
      decode_array(code_format(copy.source), codes(copy.source, at(copy.source, offset, length)),
                   tile);
      encode(tile, copy.destination, at(copy.destination, offset, length));
    });
  }

  void reduce(const Reduce& reduce) {
    const bool round_each = schedule_.arithmetic.accumulate == model::Accumulate::element;
    std::array<float, kTile> accumulators, terms;
    for (const Slice& source : reduce.sources) {
      TALLY_CHECK(source.range.size() == reduce.destination.range.size(), "a sum keeps the length");
    }
    for_tiles(reduce.destination.range, [&](std::int64_t offset, std::int64_t length) {
      const std::span<float> sum(accumulators.data(), length), term(terms.data(), length);
      std::fill(sum.begin(), sum.end(), 0.0f);
      bool is_first = reduce.start == Reduce::Start::first_source;
      for (const Slice& source : reduce.sources) {
        decode_array(code_format(source), codes(source, at(source, offset, length)), term);
        if (is_first) {
          std::copy(term.begin(), term.end(), sum.begin());
          is_first = false;
          continue;
        }
        for (std::int64_t i = 0; i < length; ++i) sum[i] += term[i];
        if (round_each) round_array(schedule_.arithmetic.element, sum);
      }
      encode(sum, reduce.destination, at(reduce.destination, offset, length));
    });
  }

  const model::Schedule& schedule_;
  std::vector<std::vector<std::vector<std::byte>>> buffers_;  // [rank][buffer]
};

}  // namespace

RankBuffers run(const model::Schedule& schedule, const RankBuffers& inputs) {
  TALLY_CHECK(std::ssize(inputs) == schedule.ranks, "one input for each rank");
  Interpreter interpreter(schedule, inputs);
  const auto stuck =
      walk(schedule, [&](int, int, const model::Step& step) { interpreter.step(step); });
  TALLY_CHECK(!stuck, "the schedule deadlocks");
  return std::move(interpreter).outputs();
}

}  // namespace tally::reference
