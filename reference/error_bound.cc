#include "reference/error_bound.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "model/check.h"
#include "reference/block_codec.h"
#include "reference/convert.h"
#include "reference/exact_sum.h"
#include "reference/walk.h"

namespace tally::reference {
namespace {

using model::Copy;
using model::Format;
using model::NumberFormat;
using model::Reduce;
using model::Role;
using model::Slice;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements worked on at a time; no block of a codec is cut.
constexpr std::int64_t kTile = 1024;

/// Not below x, if x is a double operation's result that may have been rounded down.
double up(double x) { return x * (1 + 0x1p-51); }

/// Half the spacing of a format's values, had it no largest one, around values of f32.
class Spacing {
 public:
  explicit Spacing(Format id) {
    const NumberFormat& f = model::format(id);
    least_field_ = static_cast<std::uint32_t>(f.min_exponent() + 127);
    shift_ = static_cast<std::uint64_t>(1023 - 127 - f.fraction_bits - 1);
    largest_ = f.max_finite();
    is_largest_odd_ = f.max_code() % 2 == 1;
  }
  /// max(u ufp(x), eta / 2). Not of NaN and infinities.
  double half(float x) const {
    const std::uint32_t field = (std::bit_cast<std::uint32_t>(x) >> 23) & 0xFF;
    return std::bit_cast<double>((std::max(field, least_field_) + shift_) << 52);
  }
  /// The error of rounding x to nearest is at most this: 0 has none.
  double rounding(float x) const { return x == 0 ? 0 : half(x); }
  double excess(float x) const { return std::fabs(static_cast<double>(x)) - largest_; }
  /// Whether the value that x rounds to is beyond the largest one.
  bool overflows(float x) const {
    const double beyond = excess(x), half_step = half(x);
    return beyond > half_step || (beyond == half_step && is_largest_odd_);
  }

 private:
  std::uint32_t least_field_;
  std::uint64_t shift_;
  double largest_;
  bool is_largest_odd_;
};

/// Whether every finite value of `narrow` is one of `wide`.
bool holds(Format wide, Format narrow) {
  const NumberFormat &w = model::format(wide), &n = model::format(narrow);
  return w.fraction_bits >= n.fraction_bits && w.min_positive() <= n.min_positive() &&
         w.max_finite() >= n.max_finite();
}

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
        wire_(arithmetic_.wire.code_format(arithmetic_.element)) {
    buffers_.resize(schedule.ranks);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (const model::Buffer& buffer : schedule.buffers) {
        Storage& storage = buffers_[rank].emplace_back();
        if (!aliases_input(buffer)) storage.resize(buffer.elements);
        if (buffer.role == Role::input) {
          decode_array(arithmetic_.element, inputs[rank], storage.values);
          forget_special(storage.view(0, buffer.elements));
        }
      }
    }
  }

  void step(const model::Step& step) {
    if (const auto* copy = std::get_if<Copy>(&step)) this->copy(*copy);
    if (const auto* reduce = std::get_if<Reduce>(&step)) this->reduce(*reduce);
  }

  std::vector<BoundedOutputs> outputs() && {
    const int output = buffer_with(schedule_, schedule_.in_place ? Role::input : Role::output);
    std::vector<BoundedOutputs> all;
    for (auto& of_rank : buffers_) {
      Storage& storage = of_rank[output];
      all.push_back(
          {std::move(storage.values), std::move(storage.bounds), std::move(storage.saturated)});
    }
    return all;
  }

 private:
  bool aliases_input(const model::Buffer& buffer) const {
    return schedule_.in_place && buffer.role == Role::output;
  }
  bool is_encoded(const Slice& slice) const {
    return schedule_.buffers[slice.buffer].encoded && !arithmetic_.wire.is_none();
  }
  /// A format that holds all the values that the buffer may have.
  Format held_by(const Slice& slice) const {
    if (!is_encoded(slice)) return arithmetic_.element;
    return arithmetic_.wire.is_block() ? Format::f32 : arithmetic_.wire.format;
  }
  View at(const Slice& slice, std::int64_t offset, std::int64_t length) {
    const bool alias = aliases_input(schedule_.buffers[slice.buffer]);
    const int buffer = alias ? buffer_with(schedule_, Role::input) : slice.buffer;
    return buffers_[slice.rank][buffer].view(slice.range.begin + offset, length);
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
      copy_view(at(copy.source, offset, length), to);
      if (is_encoded(copy.source) != is_encoded(copy.destination)) {
        convert(held_by(copy.source), to, copy.destination);
      }
    }
  }

  void reduce(const Reduce& reduce) {
    Storage tile;
    const bool is_rounded = arithmetic_.accumulate == model::Accumulate::element;
    const Format held = is_rounded && reduce.divisor == 1 ? arithmetic_.element : Format::f32;
    for (std::int64_t offset = 0; offset < reduce.destination.range.size(); offset += kTile) {
      const std::int64_t length = std::min(kTile, reduce.destination.range.size() - offset);
      tile.resize(0);
      tile.resize(length);
      const View sum = tile.view(0, length);
      bool is_first = reduce.start == Reduce::Start::first_source;
      for (const Slice& source : reduce.sources) {
        TALLY_CHECK(source.range.size() == reduce.destination.range.size(),
                    "a sum keeps the length");
        if (is_first) {
          copy_view(at(source, offset, length), sum);
        } else {
          add(sum, at(source, offset, length));
        }
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
  std::vector<std::vector<Storage>> buffers_;  // [rank][buffer]
};

}  // namespace

std::vector<BoundedOutputs> error_bounds(const model::Schedule& schedule, const RankBuffers& inputs,
                                         ErrorTerms terms) {
  const model::Arithmetic& arithmetic = schedule.arithmetic;
  TALLY_CHECK(arithmetic.op == model::Op::sum || arithmetic.op == model::Op::avg,
              "only sums and means have an error");
  TALLY_CHECK(arithmetic.wire.is_none() || arithmetic.accumulate == model::Accumulate::f32,
              "wires accumulate in f32");
  TALLY_CHECK(std::ssize(inputs) == schedule.ranks, "one input for each rank");
  Carrier carrier(schedule, inputs, terms);
  const auto stuck = walk(schedule, [&](int, int, const model::Step& step) { carrier.step(step); });
  TALLY_CHECK(!stuck, "the schedule deadlocks");
  return std::move(carrier).outputs();
}

std::vector<double> any_order_bounds(const model::Arithmetic& arithmetic,
                                     const RankBuffers& inputs) {
  TALLY_CHECK(arithmetic.wire.is_none(), "sums in any order have no wire");
  TALLY_CHECK(arithmetic.op == model::Op::sum || arithmetic.op == model::Op::avg,
              "only sums and means have an error");
  const bool is_rounded = arithmetic.accumulate == model::Accumulate::element;
  const NumberFormat& accumulator = model::format(is_rounded ? arithmetic.element : Format::f32);
  const NumberFormat& element = model::format(arithmetic.element);
  const auto ranks = static_cast<double>(inputs.size());
  const bool is_mean = arithmetic.op == model::Op::avg;

  std::vector<ExactSum> magnitudes(inputs[0].size() / static_cast<std::size_t>(element.bytes()));
  std::vector<float> values(magnitudes.size());
  for (const auto& input : inputs) {
    decode_array(arithmetic.element, input, values);
    for (std::size_t i = 0; i < values.size(); ++i) magnitudes[i].add(std::fabs(values[i]));
  }
  std::vector<double> bounds;
  for (const ExactSum& magnitude : magnitudes) {
    const double a = up(magnitude.rounded());
    double bound = up(up((ranks - 1) * accumulator.unit_roundoff()) * a);
    double largest = up(a + bound);
    const bool overflows = !(largest <= accumulator.max_finite());
    // Relative, and half of the smallest value for what is subnormal.
    const auto round_to = [&](const NumberFormat& f) {
      const double lost = up(largest * f.unit_roundoff()) + f.min_positive() / 2;
      bound = up(bound + lost);
      largest = up(largest + lost);
    };
    if (is_mean) {
      bound = up(bound / ranks);
      largest = up(largest / ranks);
      round_to(model::format(Format::f32));
    }
    if ((!is_rounded || is_mean) && element.id != Format::f32) round_to(element);
    bounds.push_back(overflows || !(largest <= element.max_finite()) ? kInfinity : bound);
  }
  return bounds;
}

}  // namespace tally::reference
