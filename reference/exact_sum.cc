#include "reference/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/check.h"
#include "reference/convert_spec.h"

namespace tally::reference {
namespace {

using Wide = unsigned __int128;

template <std::size_t kSize>
void negate_limbs(std::array<std::uint64_t, kSize>& limbs) {
  std::uint64_t carry = 1;
  for (std::uint64_t& limb : limbs) {
    limb = ~limb + carry;
    carry = carry & (limb == 0);
  }
}

}  // namespace

void ExactSum::add_special(double x) {
  has_nan_ |= std::isnan(x);
  has_plus_infinity_ |= x > 0;
  has_minus_infinity_ |= x < 0;
}

void ExactSum::add(const ExactSum& other) {
  std::uint64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const Wide sum = Wide{limbs_[i]} + other.limbs_[i] + carry;
    limbs_[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  has_nan_ |= other.has_nan_;
  has_plus_infinity_ |= other.has_plus_infinity_;
  has_minus_infinity_ |= other.has_minus_infinity_;
}

void ExactSum::subtract(const ExactSum& other) {
  ExactSum negated = other;
  negated.negate();
  add(negated);
}

void ExactSum::add(double x) {
  if (!std::isfinite(x)) return add_special(x);
  if (x == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // in [0.5, 1)
  auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int zeros = std::countr_zero(significand);
  significand >>= zeros;
  const int position = exponent - 53 + zeros + kBitsBelowOne;
  TALLY_CHECK(position >= 0 && exponent <= 318, "a double beyond the range of an exact sum");
  add_shifted(significand, position, x < 0);
}

void ExactSum::negate() {
  negate_limbs(limbs_);
  std::swap(has_plus_infinity_, has_minus_infinity_);
}

int ExactSum::sign() const {
  if (limbs_[kLimbs - 1] >> 63 != 0) return -1;
  for (const std::uint64_t limb : limbs_) {
    if (limb != 0) return 1;
  }
  return 0;
}

double ExactSum::special() const {
  if (is_nan()) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return has_plus_infinity_ ? infinity : -infinity;
}

std::partial_ordering ExactSum::operator<=>(const ExactSum& other) const {
  if (!is_finite() || !other.is_finite()) {
    return (is_finite() ? 0.0 : special()) <=> (other.is_finite() ? 0.0 : other.special());
  }
  ExactSum difference = *this;
  difference.subtract(other);
  return difference.sign() <=> 0;
}

ExactSum::Top ExactSum::top_of_quotient(int divisor) const {
  TALLY_CHECK(divisor >= 1 && divisor <= 1 << 16, "exact sums are divided by 1..2^16");
  // Long division, with two limbs after the lowest bit: the quotient of the smallest sum has still
  // more than 64 significant bits.
  std::array<std::uint64_t, kLimbs + 2> magnitude{};
  std::copy(limbs_.begin(), limbs_.end(), magnitude.begin() + 2);
  if (sign() < 0) negate_limbs(magnitude);
  std::uint64_t remainder = 0;
  if (divisor != 1) {
    for (int i = kLimbs + 1; i >= 0; --i) {
      const Wide part = Wide{remainder} << 64 | magnitude[i];
      magnitude[i] = static_cast<std::uint64_t>(part / static_cast<unsigned>(divisor));
      remainder = static_cast<std::uint64_t>(part % static_cast<unsigned>(divisor));
    }
  }
  int first = kLimbs + 1;
  while (first > 0 && magnitude[first] == 0) --first;
  if (magnitude[first] == 0) return {0, 0, false};
  const int shift = std::countl_zero(magnitude[first]);
  Top top{magnitude[first] << shift, 64 * (first - 2) - kBitsBelowOne - shift, remainder != 0};
  if (first > 0 && shift > 0) top.significand |= magnitude[first - 1] >> (64 - shift);
  if (first > 0) top.inexact |= magnitude[first - 1] << shift != 0;
  for (int i = 0; i < first - 1; ++i) top.inexact |= magnitude[i] != 0;
  return top;
}

double ExactSum::rounded(int divisor) const {
  if (!is_finite()) return special();
  const Top top = top_of_quotient(divisor);
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 11) - 1, kHalf = std::uint64_t{1} << 10;
  const std::uint64_t rest = top.significand & kDropped;
  std::uint64_t kept = top.significand >> 11;
  if (rest > kHalf || (rest == kHalf && (top.inexact || kept % 2 == 1))) ++kept;
  const double magnitude = std::ldexp(static_cast<double>(kept), top.exponent + 11);
  return sign() < 0 ? -magnitude : magnitude;
}

std::uint32_t ExactSum::code(model::Format format, model::Overflow overflow, int divisor) const {
  double x = 0;
  if (is_finite()) {
    // To odd in 53 bits; rounding that to at most 51 is as rounding the value itself (Boldo &
    // Melquiond, IEEE Transactions on Computers 57(4), 2008).
    const Top top = top_of_quotient(divisor);
    const bool is_odd = top.inexact || (top.significand & 0x7FF) != 0;
    const std::uint64_t kept = top.significand >> 11 | (is_odd ? 1 : 0);
    x = std::ldexp(static_cast<double>(kept), top.exponent + 11);
    if (sign() < 0) x = -x;
  } else {
    x = special();
  }
  return encode_spec(format, x, model::Rounding::nearest_even, overflow);
}

double ExactSum::difference_from(double x, int divisor) const {
  if (!std::isfinite(x) || !is_finite()) {
    const bool both = !std::isnan(x) && !is_finite() && x == special();
    return both ? 0 : std::numeric_limits<double>::quiet_NaN();
  }
  ExactSum difference;  // of divisor * x and the sum
  if (static_cast<double>(static_cast<float>(x)) == x) {
    for (int i = 0; i < divisor; ++i) difference.add(static_cast<float>(x));
  } else {
    for (int i = 0; i < divisor; ++i) difference.add(x);
  }
  difference.subtract(*this);
  return difference.rounded(divisor);
}

}  // namespace tally::reference
