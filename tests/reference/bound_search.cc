#include "tests/reference/bound_search.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/convert.h"
#include "reference/error_statistics.h"
#include "tests/reference/rank_buffers.h"

namespace tally::test {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using model::NumberFormat;
using model::Op;
using reference::RankBuffers;

/// The format whose rounding loses most: the wire's, or the element's.
Format coarse_format(const Arithmetic& a) { return a.wire.code_format(a.element); }

float nearest(Format id, float x) {
  reference::round_array(id, std::span(&x, 1));
  return x;
}

float sized(Random& random, int least_exponent, int exponents) {
  const auto bits = static_cast<std::uint32_t>(random.bits());
  const std::uint32_t exponent = 127 + least_exponent + (bits >> 8) % exponents;
  return std::bit_cast<float>((bits & 0x8000'0000) | exponent << 23 | (random.below(1u << 23)));
}

float bell(Random& random) {
  const std::uint64_t bits = random.bits();
  float sum = -2;
  for (int i = 0; i < 4; ++i) sum += static_cast<float>((bits >> (16 * i)) & 0xFFFF) * 0x1p-16f;
  return sum;
}

/// A finite code's value and half the way to the next one, away from zero.
float tie(Format id, Random& random) {
  const NumberFormat& f = model::format(id);
  // Up to 2^6 for the elements' own formats, so that sums stay in their range.
  const std::uint32_t limit =
      f.width() > 8 ? static_cast<std::uint32_t>(f.bias + 6) << f.fraction_bits : f.max_code();
  const std::uint32_t first =
      f.width() > 8 ? static_cast<std::uint32_t>(f.bias - 6) << f.fraction_bits : 0;
  const std::uint32_t code = first + random.below(limit - first);
  const double low = reference::decode(id, code), high = reference::decode(id, code + 1);
  return static_cast<float>((low + high) / 2);
}

/// Half the spacing of a format's normal values at x.
float half_step(Format id, float x) {
  if (x == 0) return 0;
  return std::ldexp(0.5f, std::ilogb(x) - model::format(id).fraction_bits);
}

float neighbour(float x, Random& random) {
  const std::uint32_t choice = random.below(4);
  if (choice == 0) return std::nextafter(x, INFINITY);
  if (choice == 1) return std::nextafter(x, 0.0f);
  return x;
}

/// Fills the ranks' values of one element.
using Element = std::vector<float>;

void ties(const BoundCase& c, float scale, Random& random, Element& x) {
  const float value = neighbour(scale * tie(coarse_format(c.arithmetic), random), random);
  for (float& of_rank : x) of_rank = value;
}

void chain(const BoundCase& c, int first_rank, float scale, Random& random, Element& x) {
  const Format id = coarse_format(c.arithmetic);
  const bool goes_up = random.below(2) != 0;
  float held = 0;
  float target = tie(id, random);
  for (int hop = 0; hop < c.ranks; ++hop) {
    float& mine = x[(first_rank + hop) % c.ranks];
    if (id == Format::f32) {  // no f32 is halfway between two: half a step is added instead
      const float more = std::bit_cast<float>(0x3F80'0000 | random.below(4));
      mine = hop == 0 ? target : more * half_step(id, held);
      held += mine;
      continue;
    }
    for (int tries = 0; tries < 4; ++tries) {
      const bool is_up = std::fabs(nearest(id, target)) > std::fabs(target);
      if (is_up == goes_up) break;
      target = tie(id, random);
    }
    mine = nearest(c.arithmetic.element, scale * (target - held));
    held = nearest(id, held + mine / scale);
    target = tie(id, random);
    if (c.arithmetic.wire.is_none()) {
      target = held + half_step(id, held);
    }
  }
}

}  // namespace

model::Schedule BoundCase::schedule() const {
  const model::Shape shape{ranks, count, 1, false, arithmetic};
  return model::find_builder(model::Collective::all_reduce, algorithm)->build(shape);
}

std::string BoundCase::text() const {
  const Arithmetic& a = arithmetic;
  return algorithm + "/" + std::string(model::format(a.element).name) + "/" + a.wire.name() + "/" +
         std::string(name(a.op)) + "/" + std::string(name(a.accumulate)) +
         "/ranks=" + std::to_string(ranks);
}

std::string BoundCase::kind() const {
  const model::Wire& wire = arithmetic.wire;
  const bool saturates = wire.overflow.finite == model::Beyond::max_finite;
  const std::string form = wire.is_none()    ? "none"
                           : wire.is_block() ? "block"
                           : saturates       ? "cast:sat"
                                             : "cast";
  return algorithm + "/" + form + "/" + std::string(name(arithmetic.accumulate));
}

RankBuffers make_inputs(const BoundCase& c, Style style, std::uint64_t seed) {
  const Arithmetic& a = c.arithmetic;
  Random random(seed);
  if (style == Style::corner) return random_inputs(a.element, c.ranks, c.count, seed);
  const float largest = static_cast<float>(model::format(coarse_format(a)).max_finite());
  std::vector<std::vector<float>> values(c.ranks, std::vector<float>(c.count));
  Element x(c.ranks);
  float scale = 1;
  for (std::int64_t i = 0; i < c.count; ++i) {
    if (a.wire.is_block() && i % a.wire.length == 0) {
      scale = random.below(2) != 0 ? 1.0f : nearest(a.element, sized(random, -3, 7));
    }
    const bool sets_scale = a.wire.is_block() && i % a.wire.length == 0 && style >= Style::ties;
    const std::int64_t chunk = model::chunk(c.count, 0, c.ranks, a.wire.unit()).size();
    const int first = c.algorithm == "ring" ? static_cast<int>(i / chunk + 1) % c.ranks : 0;
    const float power = std::ldexp(1.0f, static_cast<int>(random.below(12)) - 4);
    if (style == Style::bell)
      for (float& of_rank : x) of_rank = power * bell(random);
    if (style == Style::wide)
      for (float& of_rank : x) of_rank = sized(random, -20, 40);
    if (style == Style::ties) ties(c, scale, random, x);
    if (style == Style::chain) chain(c, first, scale, random, x);
    if (sets_scale) {
      for (float& of_rank : x) of_rank = style == Style::chain ? 0 : largest * scale;
      x[first] = largest * scale;
    }
    for (int rank = 0; rank < c.ranks; ++rank) values[rank][i] = x[rank];
  }
  RankBuffers inputs(c.ranks);
  for (int rank = 0; rank < c.ranks; ++rank) {
    inputs[rank].resize(c.count * model::format(a.element).bytes());
    reference::encode_array(a.element, model::kSaturate, values[rank], inputs[rank]);
  }
  return inputs;
}

namespace {

/// 1 where every rank's magnitude is at least 2^-10 of the largest one's.
std::vector<std::uint8_t> where_all_contribute(const BoundCase& c, const RankBuffers& inputs) {
  std::vector<float> values(c.count), largest(c.count, 0), smallest(c.count, INFINITY);
  for (const auto& input : inputs) {
    reference::decode_array(c.arithmetic.element, input, values);
    for (std::int64_t i = 0; i < c.count; ++i) {
      largest[i] = std::max(largest[i], std::fabs(values[i]));
      smallest[i] = std::min(smallest[i], std::fabs(values[i]));
    }
  }
  std::vector<std::uint8_t> contribute(c.count);
  for (std::int64_t i = 0; i < c.count; ++i) contribute[i] = largest[i] <= 1024 * smallest[i];
  return contribute;
}

}  // namespace

BoundOutcome check_bounds(const BoundCase& c, const RankBuffers& inputs,
                          reference::ErrorTerms terms) {
  const Arithmetic& a = c.arithmetic;
  const model::Schedule schedule = c.schedule();
  const RankBuffers outputs = reference::run(schedule, inputs);
  const auto bounded = reference::error_bounds(schedule, inputs, terms);
  std::vector<float> values(c.count);
  reference::decode_array(a.element, outputs[0], values);
  const auto errors = reference::ExactResults(a, inputs).errors(values);
  const bool hides_infinities = !a.wire.is_none() && !a.wire.is_block() &&
                                a.wire.overflow.infinity == model::Beyond::max_finite;

  const std::vector<std::uint8_t> all_contribute = where_all_contribute(c, inputs);

  BoundOutcome outcome;
  const auto complain = [&](std::int64_t i, const char* what) {
    char text[200];
    std::snprintf(text, sizeof text, ": element %lld %s: value %a error %a bound %a",
                  static_cast<long long>(i), what, values[i], errors[i], bounded[0].bounds[i]);
    if (outcome.violation.empty()) outcome.violation = c.text() + text;
  };
  for (std::size_t rank = 1; rank < outputs.size(); ++rank) {
    if (outputs[rank] != outputs[0]) complain(0, "differs between ranks");
  }
  for (std::int64_t i = 0; i < c.count; ++i) {
    const float value = values[i], carried = bounded[0].values[i];
    const double bound = bounded[0].bounds[i];
    const bool is_same =
        std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(carried);
    if (!is_same && !(std::isnan(value) && std::isnan(carried))) complain(i, "is not run's");
    if (std::isinf(bound)) {
      if (std::isfinite(value) && !hides_infinities) complain(i, "is finite and has no bound");
      continue;
    }
    ++outcome.bounded;
    const double error = std::fabs(errors[i]);
    if (!(error <= bound)) complain(i, "is beyond its bound");
    if (error > 0 && all_contribute[i] != 0) {
      outcome.largest_ratio = std::max(outcome.largest_ratio, error / bound);
    }
  }
  outcome.elements = c.count;
  return outcome;
}

std::vector<BoundCase> all_bound_cases(const std::vector<int>& ranks, std::int64_t count) {
  std::vector<BoundCase> all;
  for (const char* algorithm : {"flat", "tree", "ring"}) {
    for (const model::Wire& wire : model::all_wires()) {
      for (const Accumulate accumulate : {Accumulate::element, Accumulate::f32}) {
        const bool is_ring = algorithm == std::string("ring");
        if (!wire.is_none() && accumulate == Accumulate::element) continue;
        if (wire.is_none() && is_ring && accumulate == Accumulate::f32) continue;
        for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
          for (const Op op : {Op::sum, Op::avg}) {
            for (const int n : ranks) {
              all.push_back({algorithm, {element, wire, op, accumulate}, n, count});
            }
          }
        }
      }
    }
  }
  return all;
}

}  // namespace tally::test
