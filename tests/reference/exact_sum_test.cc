// Goal: an exact sum is exact, and rounds once.
// Method: MPFR, with so many bits that it never rounds, does the same sums; it rounds to double by
// itself, and to the other formats with as many bits and as small exponents as they have.

#include "reference/exact_sum.h"

#include <mpfr.h>

#include <bit>
#include <cmath>

#include "reference/convert.h"
#include "reference/convert_spec.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Format;
using model::NumberFormat;

/// A number with room for every bit between 2^-192 and 2^256.
class Wide {
 public:
  Wide() {
    mpfr_init2(x_, 512);
    mpfr_set_zero(x_, 1);
  }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;
  ~Wide() { mpfr_clear(x_); }

  void add(double term) { exact(mpfr_add_d(x_, x_, term, MPFR_RNDN)); }
  void add(const Wide& term) { exact(mpfr_add(x_, x_, term.x_, MPFR_RNDN)); }
  void negate() { exact(mpfr_neg(x_, x_, MPFR_RNDN)); }
  void multiply(int factor) { exact(mpfr_mul_si(x_, x_, factor, MPFR_RNDN)); }
  int sign() const { return mpfr_sgn(x_); }

  /// The number divided by `divisor`, rounded once to that precision. The quotient is cut to 2000
  /// bits and made odd in the last where it goes on, which no rounding to 53 bits can see.
  double rounded(int divisor) const {
    mpfr_t quotient;
    mpfr_init2(quotient, 2000);
    const int inexact = mpfr_div_si(quotient, x_, divisor, MPFR_RNDZ);
    if (inexact != 0)
      mpfr_get_d(quotient, MPFR_RNDN) < 0 ? mpfr_nextbelow(quotient) : mpfr_nextabove(quotient);
    const double result = mpfr_get_d(quotient, MPFR_RNDN);
    mpfr_clear(quotient);
    return result;
  }

  /// Rounded once to the values of a format that has no largest one.
  double rounded_to(const NumberFormat& f, int divisor) const {
    if (sign() == 0) return 0;
    mpfr_t quotient;
    mpfr_init2(quotient, 2000);
    mpfr_div_si(quotient, x_, divisor, MPFR_RNDZ);
    // In units of the spacing around the number.
    const auto exponent = static_cast<int>(mpfr_get_exp(quotient)) - 1;
    const int unit = std::max(exponent, f.min_exponent()) - f.fraction_bits;
    mpfr_div_si(quotient, x_, divisor, MPFR_RNDN);
    mpfr_mul_2si(quotient, quotient, -unit, MPFR_RNDN);
    mpfr_rint(quotient, quotient, MPFR_RNDN);
    mpfr_mul_2si(quotient, quotient, unit, MPFR_RNDN);
    const double result = mpfr_get_d(quotient, MPFR_RNDN);
    mpfr_clear(quotient);
    return result;
  }

 private:
  static void exact(int inexact) { REQUIRE(inexact == 0); }
  mpfr_t x_;
};

float any_finite(test::Random& random) {
  for (;;) {
    const float x = decode(Format::f32, test::random_code(Format::f32, random));
    if (std::isfinite(x)) return x;
  }
}

/// Terms of which many cancel, so that sums have few bits, many bits, and are 0.
std::vector<float> some_terms(test::Random& random) {
  std::vector<float> terms;
  const std::uint32_t count = random.below(20);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0 && random.below(3) == 0) {
      terms.push_back(-terms[random.below(i)]);
    } else {
      terms.push_back(any_finite(random));
    }
  }
  return terms;
}

constexpr Format kFormats[] = {Format::f32,    Format::f16,  Format::bf16,
                               Format::e4m3fn, Format::e5m2, Format::e4m3fnuz};

}  // namespace

TEST_CASE("products of the smallest and of the largest f32 are added exactly", "[reference]") {
  const double smallest = 0x1p-298, largest = 0x1.fffffep127 * 0x1.fffffep127;
  ExactSum sum;
  for (int i = 0; i < 1000; ++i) sum.add(largest);
  sum.add(smallest);
  for (int i = 0; i < 1000; ++i) sum.add(-largest);
  CHECK(sum.rounded() == smallest);
  sum.add(-smallest);
  CHECK(sum.sign() == 0);
  sum.add(largest);
  CHECK(sum.rounded() == largest);
  CHECK(sum.rounded(2) == largest / 2);
}

TEST_CASE("sums round to double and to every format as MPFR's", "[reference]") {
  test::Random random(1);
  for (int round = 0; round < 20000; ++round) {
    ExactSum sum;
    Wide wide;
    for (const float term : some_terms(random)) {
      if (random.below(2) != 0) {
        sum.add(term);
        wide.add(term);
      } else {
        sum.subtract(term);
        wide.add(-term);
      }
    }
    const int divisor = 1 + static_cast<int>(random.below(random.below(2) != 0 ? 1 : 64));
    REQUIRE(sum.sign() == wide.sign());
    REQUIRE(sum.rounded(divisor) == wide.rounded(divisor));
    for (const Format id : kFormats) {
      const double rounded = wide.rounded_to(model::format(id), divisor);
      const auto code = encode_spec(id, rounded, model::Rounding::nearest_even, model::kAsFormat);
      const std::uint32_t got = sum.code(id, model::kAsFormat, divisor);
      // A negative sum that rounds to zero keeps its sign, which MPFR's integers have lost.
      REQUIRE((got == code || (rounded == 0 && decode(id, got) == 0)));
    }
  }
}

TEST_CASE("differences from an output are MPFR's", "[reference]") {
  test::Random random(2);
  for (int round = 0; round < 20000; ++round) {
    ExactSum sum;
    Wide wide;
    for (const float term : some_terms(random)) {
      sum.add(term);
      wide.add(term);
    }
    const int divisor = 1 + static_cast<int>(random.below(64));
    const double near = sum.rounded(divisor);
    const float output = random.below(2) != 0 ? any_finite(random) : static_cast<float>(near);
    if (!std::isfinite(output)) continue;
    wide.negate();
    Wide scaled;
    scaled.add(output);
    scaled.multiply(divisor);
    scaled.add(wide);
    REQUIRE(sum.difference_from(output, divisor) == scaled.rounded(divisor));
  }
}

TEST_CASE("sums of sums and of doubles are MPFR's, and compare as their difference",
          "[reference]") {
  test::Random random(3);
  for (int round = 0; round < 5000; ++round) {
    ExactSum a, b;
    Wide wide_a, wide_b;
    for (const float term : some_terms(random)) {
      a.add(term);
      wide_a.add(term);
    }
    for (const float term : some_terms(random)) {
      const double product = static_cast<double>(std::fmod(term, 0x1p60f)) * (1 + 0x1p-29);
      if (std::fabs(product) < 0x1p-100 && product != 0) continue;
      b.add(product);
      wide_b.add(product);
    }
    ExactSum sum = a, difference = a;
    sum.add(b);
    difference.subtract(b);
    REQUIRE((a <=> b) == (difference.sign() <=> 0));
    REQUIRE(a == a);
    wide_a.add(wide_b);
    REQUIRE(sum.rounded() == wide_a.rounded(1));
    wide_b.multiply(-2);
    wide_a.add(wide_b);
    REQUIRE(difference.rounded() == wide_a.rounded(1));
    difference.negate();
    REQUIRE(difference.rounded() == -wide_a.rounded(1));
  }
}

TEST_CASE("2^20 terms of the largest and the smallest number keep every bit", "[reference]") {
  ExactSum sum;
  for (int i = 0; i < 1 << 20; ++i) {
    sum.add(0x1.fffffep127f);
    sum.add(0x1p-149f);
  }
  REQUIRE(sum.rounded() == 0x1.fffffep147);
  REQUIRE(sum.difference_from(0x1.fffffep127, 1 << 16) < 0);
  for (int i = 0; i < 1 << 20; ++i) sum.subtract(0x1.fffffep127f);
  REQUIRE(sum.rounded() == 0x1p-129);
  REQUIRE(sum.rounded(1 << 16) == 0x1p-145);
}

TEST_CASE("NaN and infinities stay, and decide the value", "[reference]") {
  ExactSum sum;
  sum.add(1.0f);
  sum.add(INFINITY);
  REQUIRE(sum.rounded() == INFINITY);
  REQUIRE(sum.rounded(3) == INFINITY);
  REQUIRE(sum.difference_from(INFINITY) == 0);
  REQUIRE(std::isnan(sum.difference_from(1)));
  REQUIRE(std::isnan(sum.difference_from(-INFINITY)));
  REQUIRE(sum.code(Format::e5m2, model::kAsFormat) == 0x7C);
  REQUIRE(sum.code(Format::e4m3fn, model::kAsFormat) == 0x7F);
  REQUIRE(sum.code(Format::e4m3fn, model::kSaturate) == 0x7E);
  ExactSum negated = sum;
  negated.negate();
  REQUIRE(negated.rounded() == -INFINITY);
  REQUIRE(negated < sum);
  REQUIRE(ExactSum() < sum);
  sum.subtract(INFINITY);
  REQUIRE(sum.is_nan());
  REQUIRE(std::isnan(sum.rounded()));
  REQUIRE_FALSE(sum == sum);
  ExactSum nan;
  nan.add(std::numeric_limits<double>::quiet_NaN());
  REQUIRE((nan.is_nan() && !nan.is_finite()));
  REQUIRE((nan <=> ExactSum()) == std::partial_ordering::unordered);
}

TEST_CASE("a sum of nothing or of zeros is +0", "[reference]") {
  ExactSum sum;
  REQUIRE(std::bit_cast<std::uint64_t>(sum.rounded()) == 0);
  sum.add(-0.0f);
  sum.subtract(0.0f);
  REQUIRE(std::bit_cast<std::uint64_t>(sum.rounded()) == 0);
  REQUIRE(sum.code(Format::f32, model::kAsFormat) == 0);
}

TEST_CASE("a sum that is rounded twice by way of double is rounded once here", "[reference]") {
  ExactSum sum;  // 1 + half an f32 step + a little that a double has no room for
  for (const float term : {1.0f, 0x1p-24f, 0x1p-100f}) sum.add(term);
  REQUIRE(sum.rounded() == 1 + 0x1p-24);
  REQUIRE(static_cast<float>(sum.rounded()) == 1);
  REQUIRE(sum.code(Format::f32, model::kAsFormat) == 0x3F80'0001);
}

}  // namespace tally::reference
