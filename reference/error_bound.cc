#include "reference/error_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "model/check.h"
#include "reference/block_codec.h"
#include "reference/convert.h"
#include "reference/spacing.h"
#include "reference/walk.h"

namespace tally::reference {
namespace {

using model::Copy;
using model::Format;
using model::Reduce;
using model::Role;
using model::Slice;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements worked on at a time; no block of a codec is cut.
constexpr std::int64_t kTile = 1024;

/// Some elements and what is known of them.
struct View {
  std::span<float> values;
  std::span<double> bounds;
  std::span<std::uint8_t> saturated;
  std::size_t size() const { return values.size(); }
};

struct Storage {
  std::vector<float> values;
  std::vector<double> bounds;
  std::vector<std::uint8_t> saturated;
  void resize(std::size_t n) {
    values.resize(n);
    bounds.resize(n);
    saturated.resize(n);
  }
  View view(std::size_t begin, std::size_t n) {
    return {std::span(values).subspan(begin, n), std::span(bounds).subspan(begin, n),
            std::span(saturated).subspan(begin, n)};
  }
};

void copy_view(const View& from, const View& to) {
  std::ranges::copy(from.values, to.values.begin());
  std::ranges::copy(from.bounds, to.bounds.begin());
  std::ranges::copy(from.saturated, to.saturated.begin());
}

/// Runs a schedule on values that carry bounds. It mirrors the interpreter of run.h; a test
/// compares the values.
class Carrier {
 public:
  Carrier(const model::Schedule& schedule, const RankBuffers& inputs, ErrorTerms terms)
      : schedule_(schedule),
        arithmetic_(schedule.arithmetic),
        terms_(terms),
        element_(arithmetic_.element),
        wire_(arithmetic_.wire.code_format(arithmetic_.element)),
        premultiplication_(arithmetic_, schedule.ranks) {
    buffers_.resize(schedule.ranks);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      buffers_[rank].resize(schedule.buffers.size());
      for (int i = 0; i < std::ssize(schedule.buffers); ++i) {
        if (home(schedule, rank, i).buffer == i) {
          buffers_[rank][i].resize(schedule.buffers[i].elements);
        }
      }
      const View input = whole(rank, Role::input);
      decode_array(arithmetic_.element, inputs[rank], input.values);
      forget_special(input);
    }
  }

  void step(const model::Step& step) {
    if (const auto* copy = std::get_if<Copy>(&step)) this->copy(*copy);
    if (const auto* reduce = std::get_if<Reduce>(&step)) this->reduce(*reduce);
  }

  std::vector<BoundedOutputs> outputs() && {
    std::vector<BoundedOutputs> all;
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      const auto [values, bounds, saturated] = whole(rank, Role::output);
      all.push_back({{values.begin(), values.end()},
                     {bounds.begin(), bounds.end()},
                     {saturated.begin(), saturated.end()}});
    }
    return all;
  }

 private:
  bool is_encoded(const Slice& slice) const {
    return schedule_.buffers[slice.buffer].encoded && !arithmetic_.wire.is_none();
  }
  /// A format that holds all the values that the buffer may have.
  Format held_by(const Slice& slice) const {
    if (!is_encoded(slice)) return arithmetic_.element;
    return arithmetic_.wire.is_block() ? Format::f32 : arithmetic_.wire.format;
  }
  View at(const Slice& slice, std::int64_t offset, std::int64_t length) {
    const model::Home home = model::home(schedule_, slice.rank, slice.buffer);
    const std::int64_t begin = home.offset + slice.range.begin + offset;
    return buffers_[slice.rank][home.buffer].view(begin, length);
  }
  View whole(int rank, Role role) {
    const int buffer = buffer_with(schedule_, role);
    return at({rank, buffer, {0, 0}}, 0, schedule_.buffers[buffer].elements);
  }
  /// Replaces `to` by what a reader of the slice has.
  void read(const Slice& slice, std::int64_t offset, const View& to) {
    copy_view(at(slice, offset, static_cast<std::int64_t>(to.size())), to);
    if (premultiplication_.is_done() && schedule_.buffers[slice.buffer].role == Role::input) {
      premultiply(to);
    }
  }
  void premultiply(const View& view) const {
    for (std::size_t i = 0; i < view.size(); ++i) {
      const double lost = premultiplication_.error(view.values[i]);
      const double carried = up(std::fabs(premultiplication_.factor()) * view.bounds[i]);
      view.bounds[i] = up(carried + term(ErrorTerm::premultiplication, lost));
    }
    premultiplication_.apply(view.values);
    forget_special(view);
  }
  double term(ErrorTerm which, double size) const {
    return (terms_ >> static_cast<unsigned>(which) & 1) != 0 ? size : 0;
  }
  static void forget_special(const View& view) {
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (!std::isfinite(view.values[i])) view.bounds[i] = kInfinity;
    }
  }

  void copy(const Copy& copy) {
    TALLY_CHECK(copy.source.range.size() == copy.destination.range.size(),
                "a copy keeps the length");
    for (std::int64_t offset = 0; offset < copy.source.range.size(); offset += kTile) {
      const std::int64_t length = std::min(kTile, copy.source.range.size() - offset);
      const View to = at(copy.destination, offset, length);
      read(copy.source, offset, to);
      if (is_encoded(copy.source) != is_encoded(copy.destination)) {
        convert(held_by(copy.source), to, copy.destination);
      }
    }
  }

  void reduce(const Reduce& reduce) {
    Storage tile, terms;
    const bool is_rounded = arithmetic_.accumulate == model::Accumulate::element;
    const bool is_element = is_rounded && reduce.divisor == 1;
    const Format held = is_element ? arithmetic_.element.format() : Format::f32;
    for (std::int64_t offset = 0; offset < reduce.destination.range.size(); offset += kTile) {
      const std::int64_t length = std::min(kTile, reduce.destination.range.size() - offset);
      tile.resize(0);
      tile.resize(length);
      terms.resize(length);
      const View sum = tile.view(0, length), next = terms.view(0, length);
      bool is_first = reduce.start == Reduce::Start::first_source;
      for (const Slice& source : reduce.sources) {
        TALLY_CHECK(source.range.size() == reduce.destination.range.size(),
                    "a sum keeps the length");
        read(source, offset, is_first ? sum : next);
        if (!is_first) add(sum, next);
        is_first = false;
      }
      if (reduce.divisor != 1) divide(sum, reduce.divisor);
      convert(held, sum, reduce.destination);
      copy_view(sum, at(reduce.destination, offset, length));
    }
  }

  void add(const View& sum, const View& terms) {
    const bool is_rounded = arithmetic_.accumulate == model::Accumulate::element;
    const Spacing& spacing = is_rounded ? element_ : f32_;
    std::array<float, kTile> before;
    std::ranges::copy(sum.values, before.begin());
    for (std::size_t i = 0; i < sum.size(); ++i) sum.values[i] += terms.values[i];
    if (is_rounded) round_array(arithmetic_.element, sum.values);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const float smaller = std::min(std::fabs(before[i]), std::fabs(terms.values[i]));
      const double lost = std::min(spacing.half(sum.values[i]), static_cast<double>(smaller));
      sum.bounds[i] = up(up(sum.bounds[i] + terms.bounds[i]) + term(ErrorTerm::addition, lost));
      sum.saturated[i] |= terms.saturated[i];
    }
    forget_special(sum);
  }

  void divide(const View& sum, int divisor) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const float quotient = sum.values[i] / static_cast<float>(divisor);
      const double lost = sum.values[i] == 0 ? 0 : f32_.half(quotient);
      sum.bounds[i] = up(up(sum.bounds[i] / divisor) + term(ErrorTerm::mean_division, lost));
      sum.values[i] = quotient;
    }
  }

  /// As the destination's buffer has values, of values that the format `held` holds.
  void convert(Format held, const View& values, const Slice& destination) {
    if (is_encoded(destination)) {
      if (arithmetic_.wire.is_block()) {
        through_blocks(values);
      } else if (!holds(arithmetic_.wire.format, held)) {
        through_cast(values);
      }
    } else if (!holds(arithmetic_.element, held)) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double lost = element_.rounding(values.values[i]);
        values.bounds[i] = up(values.bounds[i] + term(ErrorTerm::output_rounding, lost));
      }
      round_array(arithmetic_.element, values.values);
    }
    forget_special(values);
  }

  /// What conversion to the wire's element format may lose; sets the mark where it cut x off.
  double wire_error(float x, std::uint8_t& saturated) const {
    if (arithmetic_.wire.overflow.finite == model::Beyond::max_finite && wire_.overflows(x)) {
      saturated = 1;
      return term(ErrorTerm::saturation, wire_.excess(x));
    }
    return term(ErrorTerm::wire_rounding, wire_.rounding(x));
  }

  void through_cast(const View& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double lost = wire_error(values.values[i], values.saturated[i]);
      values.bounds[i] = up(values.bounds[i] + lost);
    }
    std::array<std::byte, kTile> codes;
    const std::span<std::byte> used = std::span(codes).first(values.size());
    encode_array(arithmetic_.wire.format, arithmetic_.wire.overflow, values.values, used);
    decode_array(arithmetic_.wire.format, used, values.values);
  }

  void through_blocks(const View& values) {
    const model::Wire& wire = arithmetic_.wire;
    const std::size_t scale_bytes = model::format(wire.scale).bytes();
    std::array<std::byte, kTile> codes;
    std::array<std::byte, kTile> scale_codes;  // at most 4 bytes for 16 elements
    std::array<float, kTile> before, scales;
    std::ranges::copy(values.values, before.begin());
    const auto used = std::span(codes).first(values.size());
    const auto used_scales =
        std::span(scale_codes).first(wire.scale_bytes(static_cast<std::int64_t>(values.size())));
    encode_blocks(wire, values.values, used, used_scales);
    decode_blocks(wire, used, used_scales, values.values);
    decode_array(wire.scale, used_scales,
                 std::span(scales).first(used_scales.size() / scale_bytes));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double s = scales[i / wire.length];
      const float x = before[i], y = x / static_cast<float>(s);
      if (x == 0 || !std::isfinite(values.values[i])) continue;
      const double rounded = up(s * wire_error(y, values.saturated[i]));
      const double divided = term(ErrorTerm::block_division, s * f32_.half(y));
      const double multiplied = term(ErrorTerm::block_product, f32_.half(values.values[i]));
      values.bounds[i] = up(up(up(values.bounds[i] + rounded) + divided) + multiplied);
    }
  }

  const model::Schedule& schedule_;
  const model::Arithmetic& arithmetic_;
  const ErrorTerms terms_;
  const Spacing element_, wire_, f32_{Format::f32};
  const Premultiplication premultiplication_;
  std::vector<std::vector<Storage>> buffers_;  // [rank][buffer]
};

}  // namespace

std::vector<BoundedOutputs> error_bounds(const model::Schedule& schedule, const RankBuffers& inputs,
                                         ErrorTerms terms) {
  const model::Arithmetic& arithmetic = schedule.arithmetic;
  TALLY_CHECK(adds(arithmetic.op), "only sums and means have an error");
  TALLY_CHECK(arithmetic.wire.is_none() || arithmetic.accumulate == model::Accumulate::f32,
              "wires accumulate in f32");
  TALLY_CHECK(std::ssize(inputs) == schedule.ranks, "one input for each rank");
  Carrier carrier(schedule, inputs, terms);
  const auto stuck = walk(schedule, [&](int, int, const model::Step& step) { carrier.step(step); });
  TALLY_CHECK(!stuck, "the schedule deadlocks");
  return std::move(carrier).outputs();
}

}  // namespace tally::reference
