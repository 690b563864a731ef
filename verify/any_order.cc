#include "verify/any_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "model/check.h"
#include "reference/convert.h"
#include "reference/error_bound.h"
#include "verify/judge.h"

namespace tally::verify {
namespace {

using model::Format;
using model::NumberFormat;
using model::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double up(double x) { return std::nextafter(x, kInfinity); }

bool is_minus_zero(float x) { return x == 0 && std::signbit(x); }

std::uint32_t encode(Format format, float x) {
  return reference::encode(format, x, model::Rounding::nearest_even, model::kAsFormat);
}

/// Element `element` of every term.
struct Operands {
  std::array<float, kMaxRanks> values;
  std::size_t count = 0;

  Operands(Format format, const reference::RankBuffers& terms, std::int64_t element) {
    const int bytes = model::format(format).bytes();
    for (const auto& term : terms) {
      std::uint32_t code = 0;
      for (int b = 0; b < bytes; ++b) {
        code |= std::to_integer<std::uint32_t>(term[element * bytes + b]) << (8 * b);
      }
      values[count++] = reference::decode(format, code);
    }
  }
  std::span<const float> span() const { return std::span(values).first(count); }
};

/// The exponent of the lowest bit that is set in x, which is finite and not zero.
int lowest_bit(float x) {
  int exponent = 0;
  const float significand = std::frexp(std::fabs(x), &exponent);  // in [1/2, 1)
  const auto bits = static_cast<std::uint32_t>(std::ldexp(significand, 24));
  return exponent - 24 + std::countr_zero(bits);
}

int significant_bits(float x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return exponent - lowest_bit(x);
}

/// Whether all partial sums of finite x, in every order, are numbers of the format. The doubles are
/// exact where the answer is yes.
bool adds_without_rounding(const NumberFormat& format, std::span<const float> x) {
  double magnitude = 0;
  int lowest = std::numeric_limits<int>::max();
  for (const float value : x) {
    magnitude += std::fabs(value);
    if (value != 0) lowest = std::min(lowest, lowest_bit(value));
  }
  if (magnitude == 0) return true;
  return magnitude <= std::ldexp(1.0, lowest + format.fraction_bits + 1) &&
         magnitude <= format.max_finite();
}

/// terms * factor, rounded to the format.
reference::RankBuffers multiplied(Format format, reference::RankBuffers terms, float factor) {
  for (auto& term : terms) {
    std::vector<float> values(term.size() / model::format(format).bytes());
    reference::decode_array(format, term, values);
    for (float& x : values) x *= factor;
    reference::encode_array(format, model::kAsFormat, values, term);
  }
  return terms;
}

/// The terms on one side of zero.
struct Side {
  int terms = 0;
  double magnitude = 0;  // of their sum, rounded up

  void add(float x) {
    magnitude = terms == 0 ? std::fabs(x) : up(magnitude + std::fabs(x));
    ++terms;
  }
  /// Whether a partial sum may leave the format on this side. Rounding is monotonic, so that none
  /// goes farther than these terms do without the others.
  bool may_overflow(const NumberFormat& format) const {
    const double rounding = up((terms - 1) * format.unit_roundoff() * magnitude);
    return terms > 1 && up(magnitude + rounding) > format.max_finite();
  }
};

/// Which special values there are, and the finite ones.
struct Survey {
  bool nan = false, plus_infinity = false, minus_infinity = false, all_minus_zero = true;
  Side positive, negative;

  explicit Survey(std::span<const float> x) {
    for (const float value : x) {
      all_minus_zero = all_minus_zero && is_minus_zero(value);
      if (std::isnan(value)) {
        nan = true;
      } else if (std::isinf(value)) {
        (value > 0 ? plus_infinity : minus_infinity) = true;
      } else if (value != 0) {
        (value > 0 ? positive : negative).add(value);
      }
    }
  }
};

}  // namespace

std::string_view name(Reading reading) {
  constexpr std::string_view kNames[] = {"only",  "premultiplied", "divided",
                                         "fused", "nan_kept",      "nan_dropped"};
  return kNames[static_cast<std::size_t>(reading)];
}

std::vector<Reading> readings(Op op) {
  if (op == Op::avg) return {Reading::premultiplied, Reading::divided, Reading::fused};
  if (model::premultiplies(op)) return {Reading::premultiplied, Reading::fused};
  if (op == Op::min || op == Op::max) return {Reading::nan_kept, Reading::nan_dropped};
  return {Reading::only};
}

bool Allowance::allows(Format format, std::uint32_t got) const {
  const float x = reference::decode(format, got);
  if (code) return same_code(format, got, *code) || (either_zero && x == 0);
  if (std::isnan(x)) return nan;
  if (std::isinf(x)) return x > 0 ? plus_infinity : minus_infinity;
  return finite && error(x) <= bound;
}

double Allowance::error(float x) const {
  if (!product) return std::abs(sum.difference_from(x, divisor));
  const long double difference = static_cast<long double>(x) - *product;
  return std::isfinite(difference) ? static_cast<double>(std::abs(difference)) : std::nan("");
}

double Allowance::exact() const {
  return product ? static_cast<double>(*product) : sum.rounded(divisor);
}

AnyOrder::AnyOrder(const model::Arithmetic& arithmetic, Reading reading,
                   reference::RankBuffers terms)
    : arithmetic_(arithmetic), reading_(reading), terms_(std::move(terms)) {
  TALLY_CHECK(arithmetic.wire.is_none(), "a library's reduction has no wire");
  TALLY_CHECK(!terms_.empty() && terms_.size() <= kMaxRanks, "a reduction has 1 to 16 terms");
  const Format format = arithmetic_.element;
  const bool multiplies = reading == Reading::premultiplied || reading == Reading::fused;
  if (multiplies && arithmetic_.op == Op::avg) arithmetic_.op = Op::avg_premul;
  factor_ = model::premultiplier(arithmetic_, static_cast<int>(terms_.size()));
  if (reading == Reading::premultiplied) {
    terms_ = multiplied(format, std::move(terms_), factor_);
    arithmetic_.op = Op::sum;
  }
  size_ = std::ssize(terms_[0]) / model::format(format).bytes();
  if (model::adds(arithmetic_.op)) {
    bounds_ = reference::any_order_bounds(arithmetic_, terms_);
  }
}

Allowance AnyOrder::at(std::int64_t element) const {
  const Operands operands(arithmetic_.element, terms_, element);
  const std::span<const float> x = operands.span();
  switch (arithmetic_.op) {
    case Op::prod:
      return product_of(x);
    case Op::min:
    case Op::max:
      return extreme_of(x);
    default:
      return reading_ == Reading::fused ? fused_sum_of(x, bounds_[element])
                                        : sum_of(x, bounds_[element]);
  }
}

Allowance AnyOrder::sum_of(std::span<const float> x, double any_order_bound) const {
  const NumberFormat& format = model::format(arithmetic_.element);
  const bool is_mean = arithmetic_.op == Op::avg;
  Allowance allowed;
  if (is_mean) allowed.divisor = static_cast<int>(x.size());
  for (const float value : x) allowed.sum.add(value);

  const Survey found(x);
  const bool passes_above = found.positive.may_overflow(format);
  const bool passes_below = found.negative.may_overflow(format);
  const auto decide = [&] {
    allowed.code = allowed.sum.code(format.id, model::kAsFormat, allowed.divisor);
    allowed.either_zero = found.all_minus_zero;
    return allowed;
  };

  if (found.nan || (found.plus_infinity && found.minus_infinity)) return decide();
  if (found.plus_infinity || found.minus_infinity) {
    // The finite terms may overflow to the other infinity before they meet this one.
    const bool meets_other = found.plus_infinity ? passes_below : passes_above;
    if (!meets_other) return decide();
    allowed.nan = true;
    allowed.plus_infinity = found.plus_infinity;
    allowed.minus_infinity = found.minus_infinity;
    return allowed;
  }
  // A mean's division is exact, but for one rounding, where it is by a power of two. By another
  // number a library may multiply by the reciprocal instead.
  const bool divides_exactly = std::has_single_bit(static_cast<unsigned>(allowed.divisor));
  if (divides_exactly && adds_without_rounding(format, x)) return decide();
  if (!is_mean && x.size() <= 2) return decide();

  allowed.finite = true;
  allowed.plus_infinity = passes_above;
  allowed.minus_infinity = passes_below;
  allowed.nan = passes_above && passes_below;
  allowed.bound = any_order_bound;
  if (std::isinf(any_order_bound)) {
    // Something may overflow, but has not where the result is finite: n - 1 roundings of a sum, and
    // two behind its division, of at most what the magnitudes add up to.
    const auto n = static_cast<double>(is_mean ? x.size() + 1 : x.size() - 1);
    const double u = format.unit_roundoff();
    const double magnitude = up(found.positive.magnitude + found.negative.magnitude);
    allowed.bound = up(up(n * u * up(1 + n * u)) * up(magnitude / allowed.divisor));
  }
  return allowed;
}

Allowance AnyOrder::fused_sum_of(std::span<const float> x, double any_order_bound) const {
  // Special values are those of rounded products. Else the bound of these holds too: it counts a
  // rounding of each product beside those of the sums, and a fused addition has only the latter.
  std::array<float, kMaxRanks> products;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Format format = arithmetic_.element;
    products[i] = reference::decode(format, encode(format, x[i] * factor_));
  }
  Allowance allowed = sum_of(std::span(products).first(x.size()), any_order_bound);
  const bool is_special =
      allowed.code && !std::isfinite(reference::decode(arithmetic_.element, *allowed.code));
  if (is_special || std::isinf(any_order_bound)) return allowed;
  allowed.code.reset();
  allowed.finite = true;
  allowed.bound = any_order_bound;
  allowed.sum = {};
  for (const float value : x) allowed.sum.add(static_cast<double>(value) * factor_);  // exact
  return allowed;
}

Allowance AnyOrder::product_of(std::span<const float> x) const {
  const NumberFormat& format = model::format(arithmetic_.element);
  const Survey found(x);
  const bool has_infinity = found.plus_infinity || found.minus_infinity;
  long double product = 1, largest = 1, smallest = 1;  // of the magnitudes of partial products
  int bits = 1;
  bool is_negative = false, has_zero = false;
  for (const float value : x) {
    product *= value;
    is_negative ^= std::signbit(value);
    has_zero = has_zero || value == 0;
    if (value == 0 || !std::isfinite(value)) continue;
    largest *= std::max(1.0f, std::fabs(value));
    smallest *= std::min(1.0f, std::fabs(value));
    bits += significant_bits(value) - 1;
  }
  const auto roundings = static_cast<long double>(x.size() - 1);
  const long double u = format.unit_roundoff();
  const long double gamma = roundings * u / (1 - roundings * u);
  const bool may_overflow = largest * (1 + gamma) > format.max_finite();
  const bool may_vanish = smallest < format.min_normal();
  const bool rounds_once = x.size() == 2 || bits <= format.fraction_bits + 1;

  Allowance allowed;
  allowed.product = product;
  const auto decide = [&](std::uint32_t code) {
    allowed.code = code | (is_negative && !format.is_nan(code) ? format.sign_mask() : 0);
    return allowed;
  };
  if (found.nan || (has_infinity && has_zero)) return decide(format.nan_code());
  if (x.size() == 1) return decide(encode(format.id, std::fabs(x[0])));
  if (has_infinity && !may_vanish) return decide(format.infinity_code());
  if (has_zero && !may_overflow) return decide(0);
  if (!has_infinity && !has_zero && rounds_once && !may_overflow && !may_vanish) {
    reference::ExactSum exact;
    exact.add(static_cast<double>(std::abs(product)));
    return decide(exact.code(format.id, model::kAsFormat));
  }
  allowed.finite = !has_infinity;
  allowed.nan = (has_infinity || may_overflow) && (has_zero || may_vanish);
  if (has_zero) return allowed;  // zero, of either sign, or a NaN: what overflows times it
  allowed.plus_infinity = !is_negative && (has_infinity || may_overflow);
  allowed.minus_infinity = is_negative && (has_infinity || may_overflow);
  // Half the spacing of subnormals at each rounding, once to f32 and once to the element type; and
  // what our own product lost.
  const long double own = roundings * std::numeric_limits<long double>::epsilon();
  const long double bound =
      (gamma + own) * std::abs(product) + roundings * format.min_positive() * largest * (1 + gamma);
  allowed.bound = up(static_cast<double>(bound));
  return allowed;
}

Allowance AnyOrder::extreme_of(std::span<const float> x) const {
  const NumberFormat& format = model::format(arithmetic_.element);
  const bool is_min = arithmetic_.op == Op::min;
  Allowance allowed;
  std::optional<float> extreme;
  bool has_nan = false, has_plus_zero = false, has_minus_zero = false;
  for (const float value : x) {
    has_nan = has_nan || std::isnan(value);
    has_minus_zero = has_minus_zero || is_minus_zero(value);
    has_plus_zero = has_plus_zero || (value == 0 && !is_minus_zero(value));
    if (std::isnan(value)) continue;
    if (!extreme || (is_min ? value < *extreme : value > *extreme)) extreme = value;
  }
  const bool gives_nan = has_nan && (reading_ == Reading::nan_kept || !extreme);
  allowed.code = gives_nan ? format.nan_code() : encode(format.id, *extreme);
  if (!gives_nan) allowed.sum.add(*extreme);
  allowed.either_zero = !gives_nan && *extreme == 0 && has_plus_zero && has_minus_zero;
  return allowed;
}

}  // namespace tally::verify
