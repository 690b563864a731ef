#include "tests/reference/contract_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/block_codec_spec.h"
#include "reference/convert_spec.h"
#include "tests/reference/rank_buffers.h"

namespace tally::test {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using model::Op;
using model::Rounding;
using reference::decode_spec;
using reference::encode_spec;
using Values = std::vector<double>;

/// One f32 operation: exact, or exact enough, in double, then rounded. (A sum, product or quotient
/// of two f32, rounded first to double, comes out as if rounded once: Figueroa, "When is double
/// rounding innocuous?", 1995.)
double f32(double x) { return static_cast<double>(static_cast<float>(x)); }

double smaller(double a, double b, bool want_larger) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) != want_larger ? a : b;  // -0 is below +0
  return (a < b) != want_larger ? a : b;
}

double operate(Op op, double a, double b) {
  switch (op) {
    case Op::prod:
      return f32(a * b);
    case Op::min:
      return smaller(a, b, false);
    case Op::max:
      return smaller(a, b, true);
    default:
      return f32(a + b);
  }
}

double rounded(Format format, double x) {
  return decode_spec(format, encode_spec(format, x, Rounding::nearest_even, model::kAsFormat));
}

/// x as it comes out of the wire; it begins a block.
Values through_wire(const model::Wire& wire, const Values& x) {
  if (wire.is_none()) return x;
  Values out;
  if (!wire.is_block()) {
    for (const double v : x) {
      out.push_back(decode_spec(
          wire.format, encode_spec(wire.format, v, Rounding::nearest_even, wire.overflow)));
    }
    return out;
  }
  std::vector<float> values(x.begin(), x.end());
  std::vector<std::byte> codes(x.size()), scales(wire.scale_bytes(std::ssize(x)));
  reference::encode_blocks_spec(wire, values, codes, scales);
  reference::decode_blocks_spec(wire, codes, scales, values);
  return Values(values.begin(), values.end());
}

/// accumulator op= term, rounded to the element type at once where the accumulator says so.
void accumulate(const Arithmetic& a, Values& accumulator, const Values& term) {
  for (std::size_t i = 0; i < accumulator.size(); ++i) {
    accumulator[i] = operate(a.op, accumulator[i], term[i]);
    if (a.accumulate == Accumulate::element) accumulator[i] = rounded(a.element, accumulator[i]);
  }
}

void divide(const Arithmetic& a, Values& sums, std::size_t ranks) {
  if (a.op != Op::avg) return;
  for (double& sum : sums) sum = f32(sum / static_cast<double>(ranks));
}

/// The factor as it is rounded to the element type; 1 where contributions are not multiplied.
double factor(const Arithmetic& a, std::size_t ranks) {
  if (a.op == Op::premul_sum) return rounded(a.element, a.factor);
  if (a.op == Op::avg_premul) return rounded(a.element, f32(1.0 / static_cast<double>(ranks)));
  return 1;
}

/// The contribution of elements [begin, end).
Values contribution(const Arithmetic& a, const reference::RankBuffers& inputs, std::size_t rank,
                    std::size_t begin, std::size_t end) {
  const bool is_multiplied = a.op == Op::premul_sum || a.op == Op::avg_premul;
  const double f = factor(a, inputs.size());
  Values x;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t code = code_at(a.element, inputs[rank], static_cast<std::int64_t>(i));
    const double value = decode_spec(a.element, code);
    x.push_back(is_multiplied ? rounded(a.element, f32(f * value)) : value);
  }
  return x;
}

void append(const Arithmetic& a, const Values& values, std::vector<std::byte>& output) {
  for (const double v : values) {
    append_code(a.element, encode_spec(a.element, v, Rounding::nearest_even, model::kAsFormat),
                output);
  }
}

/// x[rank] is one chunk, here and below.
Values flat(const Arithmetic& a, const std::vector<Values>& x) {
  const bool from_first = a.op == Op::min || a.op == Op::max;
  Values sum =
      from_first ? through_wire(a.wire, x[0]) : Values(x[0].size(), a.op == Op::prod ? 1.0 : 0.0);
  for (std::size_t r = from_first ? 1 : 0; r < x.size(); ++r) {
    accumulate(a, sum, through_wire(a.wire, x[r]));
  }
  divide(a, sum, x.size());
  return sum;
}

Values ring(const Arithmetic& a, const std::vector<Values>& x, std::size_t owner) {
  Values partial = x[(owner + 1) % x.size()];
  for (std::size_t hop = 2; hop <= x.size(); ++hop) {
    partial = through_wire(a.wire, partial);
    accumulate(a, partial, x[(owner + hop) % x.size()]);
  }
  divide(a, partial, x.size());
  return through_wire(a.wire, partial);
}

}  // namespace

reference::RankBuffers contract_oracle(const std::string& algorithm, const Arithmetic& a,
                                       const reference::RankBuffers& inputs) {
  const std::size_t ranks = inputs.size();
  const auto bytes = static_cast<std::size_t>(model::format(a.element).bytes());
  const std::size_t n = inputs[0].size() / bytes, unit = std::max(128, a.wire.length);
  const std::size_t chunk = unit * ((n + ranks * unit - 1) / (ranks * unit));
  std::vector<std::byte> output;
  for (std::size_t owner = 0; owner < ranks; ++owner) {
    std::vector<Values> x(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      x[r] =
          contribution(a, inputs, r, std::min(n, owner * chunk), std::min(n, (owner + 1) * chunk));
    }
    Values sum = algorithm == "ring" ? ring(a, x, owner) : flat(a, x);
    if (algorithm == "tree") sum = through_wire(a.wire, sum);
    append(a, sum, output);
  }
  return reference::RankBuffers(ranks, output);
}

reference::RankBuffers contract_oracle(model::Collective collective, const Arithmetic& a,
                                       const reference::RankBuffers& inputs, std::int64_t count,
                                       const std::vector<std::int64_t>& send_counts) {
  using model::Collective;
  const std::size_t ranks = inputs.size(), n = static_cast<std::size_t>(count);
  const auto bytes = static_cast<std::size_t>(a.element.bytes());
  std::vector<std::size_t> sent(ranks, 0);  // elements of each rank's input that are gone already
  reference::RankBuffers outputs(ranks);
  for (std::size_t to = 0; to < ranks; ++to) {
    std::vector<Values> terms;
    for (std::size_t from = 0; from < ranks; ++from) {
      const std::size_t length =
          send_counts.empty() ? n : static_cast<std::size_t>(send_counts[from * ranks + to]);
      const std::size_t begin = collective == Collective::all_gather ? 0 : sent[from];
      sent[from] += length;
      if (collective == Collective::reduce_scatter) {
        terms.push_back(contribution(a, inputs, from, begin, begin + length));
      } else if (a.wire.is_none()) {  // bytes, and not numbers
        const auto first = inputs[from].begin() + static_cast<std::ptrdiff_t>(begin * bytes);
        outputs[to].insert(outputs[to].end(), first,
                           first + static_cast<std::ptrdiff_t>(length * bytes));
      } else {
        const Values x = contribution(a, inputs, from, begin, begin + length);
        append(a, through_wire(a.wire, x), outputs[to]);
      }
    }
    if (collective == Collective::reduce_scatter) append(a, flat(a, terms), outputs[to]);
    if (collective == Collective::all_to_all_v) outputs[to].resize(ranks * n * bytes);
  }
  return outputs;
}

std::vector<Arithmetic> every_arithmetic(const std::string& algorithm) {
  std::vector<model::Wire> wires = model::all_wires();
  wires.push_back(*model::parse_wire("e4m3fn:b256:e8m0:rceil"));  // chunks of another unit
  std::vector<Arithmetic> all;
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    for (const model::Wire& wire : wires) {
      for (const Op op : model::all_ops()) {
        if (!wire.is_none() && !model::allows_wire(op)) continue;
        const float factor = op == Op::premul_sum ? -0.3f : 1;  // no value of any type
        if (wire.is_none()) all.push_back({element, wire, op, Accumulate::element, factor});
        if (wire.is_none() && algorithm == "ring") continue;  // a hop carries elements
        all.push_back({element, wire, op, Accumulate::f32, factor});
      }
    }
  }
  return all;
}

reference::RankBuffers mixed_inputs(Format id, int ranks, std::int64_t count, std::uint64_t seed) {
  const model::NumberFormat& f = model::format(id);
  Random random(seed);
  reference::RankBuffers inputs(ranks);
  bool moderate = true;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 16 == 0) moderate = random.below(4) != 0;
    for (auto& input : inputs) {
      const auto any = static_cast<std::uint32_t>(random.bits() >> 32) & f.code_mask();
      const std::uint32_t exponent = static_cast<std::uint32_t>(f.bias) + random.below(16) - 8;
      const std::uint32_t plain =
          (any & (f.sign_mask() | f.fraction_mask())) | exponent << f.fraction_bits;
      append_code(id, moderate ? plain : random_code(id, random), input);
    }
  }
  return inputs;
}

}  // namespace tally::test
