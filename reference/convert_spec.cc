#include "reference/convert_spec.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "model/check.h"

namespace tally::reference {

using model::BottomCodes;
using model::Format;
using model::NumberFormat;
using model::Rounding;

namespace {

/// The position-th smallest non-negative value, counted from 0. For a finite code that is the value
/// of the code without its sign. Past the largest finite code the formula goes on: these are the
/// values that the format would have with more exponents.
double value_at(const NumberFormat& f, std::uint32_t position) {
  const int exponent = static_cast<int>(position >> f.fraction_bits);
  const double fraction = std::ldexp(position & f.fraction_mask(), -f.fraction_bits);
  // OCP OFP8 1.0, section 3: v = (-1)^s * 2^(1 - bias) * (0 + m * 2^-M) where the exponent is 0,
  if (exponent == 0 && f.bottom == BottomCodes::subnormal) {
    return std::ldexp(fraction, 1 - f.bias);
  }
  // and v = (-1)^s * 2^(E - bias) * (1 + m * 2^-M) elsewhere.
  return std::ldexp(1.0 + fraction, exponent - f.bias);
}

/// All finite values of a format of at most 16 bits, then the first value beyond.
const double* table_of_values(const NumberFormat& f) {
  static const auto tables = [] {
    std::array<std::vector<double>, std::size(model::kNumberFormats)> all;
    for (const NumberFormat& row : model::kNumberFormats) {
      if (row.width() > 16) continue;
      std::vector<double>& values = all[static_cast<std::size_t>(row.id)];
      for (std::uint32_t p = 0; p <= row.max_code() + 1; ++p) values.push_back(value_at(row, p));
    }
    return all;
  }();
  const std::vector<double>& values = tables[static_cast<std::size_t>(f.id)];
  return values.empty() ? nullptr : values.data();
}

/// Whether a magnitude strictly between low and high goes to high. All steps are exact in double:
/// low <= magnitude < high <= 2 low, or low is 0, and high - low is a power of two.
bool goes_up(double magnitude, double low, double high, bool low_is_even, bool negative,
             Rounding rounding, std::uint32_t random_bits) {
  const double middle = (low + high) / 2;
  switch (rounding) {
    case Rounding::nearest_even:
      return magnitude > middle || (magnitude == middle && !low_is_even);
    case Rounding::nearest_up:
      return magnitude >= middle;
    case Rounding::toward_zero:
      return false;
    case Rounding::toward_positive:
      return !negative;
    case Rounding::stochastic:
      return (magnitude - low) / (high - low) * 0x1p32 > static_cast<double>(random_bits);
  }
  model::check_failed(__FILE__, __LINE__, "not a rounding mode");
}

}  // namespace

double decode_spec(Format id, std::uint32_t code) {
  const NumberFormat& f = model::format(id);
  code &= f.code_mask();
  const double sign = f.sign_field(code) == 1 ? -1.0 : 1.0;
  switch (f.classify(code)) {
    case model::CodeClass::nan:
      return std::numeric_limits<double>::quiet_NaN();
    case model::CodeClass::infinity:
      return sign * std::numeric_limits<double>::infinity();
    default:
      return sign * value_at(f, code & ~f.sign_mask());
  }
}

SpecEncoder::SpecEncoder(Format id)
    : format_(model::format(id)), largest_(format_.max_code()), values_(table_of_values(format_)) {}

double SpecEncoder::value(std::uint32_t position) const {
  return values_ != nullptr ? values_[position] : value_at(format_, position);
}

/// The position of the largest value that is not above the magnitude, among the finite ones and
/// the first beyond. The magnitude is not below the smallest value.
std::uint32_t SpecEncoder::position_at_or_below(double magnitude) {
  if (magnitude >= value(largest_ + 1)) return largest_ + 1;
  if (value(last_) <= magnitude && magnitude < value(last_ + 1)) return last_;
  std::uint32_t low = 0, high = largest_ + 1;  // value(low) <= magnitude < value(high)
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (value(middle) <= magnitude ? low : high) = middle;
  }
  return last_ = low;
}

Rounded SpecEncoder::round(double x, Rounding rounding, std::uint32_t random_bits) {
  using Kind = Rounded::Kind;
  const bool negative = std::signbit(x);
  if (std::isnan(x)) return {Kind::nan, negative, 0};
  if (format_.sign_bits == 0 && x < 0) return {Kind::nan, negative, 0};
  if (std::isinf(x)) return {Kind::infinity, negative, 0};
  const double magnitude = std::fabs(x);
  // Only a format without zero has values below its smallest.
  if (magnitude < value(0)) return {Kind::finite, negative, 0};
  std::uint32_t position = position_at_or_below(magnitude);
  if (position > largest_) return {Kind::overflow, negative, 0};
  const double low = value(position), high = value(position + 1);
  if (magnitude != low &&
      goes_up(magnitude, low, high, position % 2 == 0, negative, rounding, random_bits)) {
    ++position;
  }
  // OCP OFP8 1.0, section 5.2: overflow is a matter of the value after rounding.
  if (position > largest_) return {Kind::overflow, negative, 0};
  return {Kind::finite, negative, position};
}

std::uint32_t SpecEncoder::code(Rounded rounded, model::Overflow overflow) const {
  using Kind = Rounded::Kind;
  const bool one_nan_zero = format_.minus_zero == model::MinusZero::nan;
  const std::uint32_t sign = rounded.negative ? format_.sign_mask() : 0;
  if (rounded.kind == Kind::nan) {
    if (!format_.has_nan()) return format_.max_code();
    return one_nan_zero ? format_.nan_code() : format_.nan_code() | sign;
  }
  if (rounded.kind == Kind::finite) {
    return rounded.position == 0 && one_nan_zero ? 0 : rounded.position | sign;
  }
  const model::Beyond beyond = rounded.kind == Kind::infinity ? overflow.infinity : overflow.finite;
  if (beyond == model::Beyond::max_finite) return format_.max_code() | sign;
  if (format_.has_infinity()) return format_.infinity_code() | sign;
  if (!format_.has_nan()) return format_.max_code() | sign;
  return one_nan_zero ? format_.nan_code() : format_.nan_code() | sign;
}

std::uint32_t encode_spec(Format id, double x, Rounding rounding, model::Overflow overflow,
                          std::uint32_t random_bits) {
  SpecEncoder encoder(id);
  return encoder.code(encoder.round(x, rounding, random_bits), overflow);
}

}  // namespace tally::reference
