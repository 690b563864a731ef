// Goal: the judge that knows no order accepts whatever some order of correct operations gives, and
// nothing else.
// Method: single elements, with terms chosen by hand and the values next to what is allowed; random
// terms combined in random orders and trees, in the element type and wider; each rule broken once.

#include "verify/bound_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "reference/convert.h"
#include "tests/support/catch.h"
#include "verify/any_order.h"

namespace {

using namespace tally;
using model::Format;
using model::Op;
using verify::Allowance;
using verify::AnyOrder;
using verify::Reading;
using verify::Verdict;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

std::uint32_t code(Format format, float x) {
  return reference::encode(format, x, model::Rounding::nearest_even, model::kAsFormat);
}

/// What the result of these terms, one for each rank, may be.
struct Element {
  Format format;
  Allowance allowed;

  Element(Format element, Op op, const std::vector<float>& terms, Reading reading = Reading::only)
      : format(element) {
    reference::RankBuffers codes;
    for (const float x : terms) {
      auto& one = codes.emplace_back(model::format(format).bytes());
      reference::encode_array(format, model::kAsFormat, std::span(&x, 1), one);
    }
    model::Arithmetic arithmetic;
    arithmetic.element = format;
    arithmetic.op = op;
    allowed = AnyOrder(arithmetic, reading, codes).at(0);
  }
  bool allows(float x) const { return allowed.allows(format, code(format, x)); }
};

float round_to(Format format, float x) { return reference::decode(format, code(format, x)); }

}  // namespace

TEST_CASE("a sum whose partial sums all fit has one result", "[verify]") {
  const Element e(Format::bf16, Op::sum, {1, 2, 125, -128});
  REQUIRE(e.allowed.code);
  CHECK(e.allows(0));
  CHECK_FALSE(e.allows(-0.0f));
  CHECK_FALSE(e.allows(1));
  // 1 + 256 needs nine bits: in one order it is 256, in another 258.
  const Element rounds(Format::bf16, Op::sum, {1, 1, 256});
  CHECK_FALSE(rounds.allowed.code);
  CHECK(rounds.allows(256));
  CHECK(rounds.allows(258));
  CHECK_FALSE(rounds.allows(262));
}

TEST_CASE("a sum of two terms has one result, rounded once", "[verify]") {
  const Element e(Format::f16, Op::sum, {2048, 1});
  REQUIRE(e.allowed.code);
  CHECK(e.allows(2048));
  CHECK_FALSE(e.allows(2050));
  CHECK(Element(Format::f16, Op::sum, {65504, 65504}).allows(kInf));
}

TEST_CASE("a zero may be negative only where every term is", "[verify]") {
  CHECK(Element(Format::f32, Op::sum, {-0.0f, -0.0f, -0.0f}).allows(-0.0f));
  CHECK(Element(Format::f32, Op::sum, {-0.0f, -0.0f, -0.0f}).allows(0.0f));
  CHECK_FALSE(Element(Format::f32, Op::sum, {-0.0f, 0.0f, -0.0f}).allows(-0.0f));
}

TEST_CASE("the bound of a sum holds the values up to it and not the next", "[verify]") {
  const std::vector<float> terms = {1, 0x1p-11f, 0x1p-11f, 0x1p-11f};
  const Element e(Format::f16, Op::sum, terms);
  REQUIRE_FALSE(e.allowed.code);
  // 3 u A = 3 * 2^-11 * (1 + 3 * 2^-11), around 1 + 3 * 2^-11; the numbers above 1 are 2^-10 apart.
  CHECK(e.allows(1));
  CHECK(e.allows(1 + 3 * 0x1p-10f));
  CHECK_FALSE(e.allows(1 + 4 * 0x1p-10f));
  CHECK_FALSE(e.allows(1 - 0x1p-11f));
  CHECK_FALSE(e.allows(kNaN));
  CHECK_FALSE(e.allows(kInf));
}

TEST_CASE("NaN and infinities that every order gives must come", "[verify]") {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    const Element nan(format, Op::sum, {1, kNaN, 2});
    CHECK(nan.allows(kNaN));
    CHECK_FALSE(nan.allows(3));
    const Element both(format, Op::sum, {kInf, 1, -kInf});
    CHECK(both.allows(kNaN));
    CHECK_FALSE(both.allows(kInf));
    const Element one(format, Op::sum, {1, -kInf, 5});
    CHECK(one.allows(-kInf));
    CHECK_FALSE(one.allows(kNaN));
    CHECK_FALSE(one.allows(-1));
  }
}

TEST_CASE("overflow that only some orders meet is allowed, and so is to avoid it", "[verify]") {
  const Element above(Format::f32, Op::sum, {kMax, kMax, -kMax});
  CHECK(above.allows(kInf));
  CHECK(above.allows(kMax));
  CHECK_FALSE(above.allows(-kInf));
  CHECK_FALSE(above.allows(kNaN));
  CHECK_FALSE(above.allows(1));
  const Element both(Format::f32, Op::sum, {kMax, kMax, -kMax, -kMax});
  CHECK(both.allows(kNaN));
  CHECK(both.allows(-kInf));
  CHECK(both.allows(0));
  // -infinity may come up before it meets +infinity.
  const Element meets(Format::f32, Op::sum, {kInf, -kMax, -kMax});
  CHECK(meets.allows(kNaN));
  CHECK(meets.allows(kInf));
  CHECK_FALSE(meets.allows(-kInf));
  CHECK_FALSE(meets.allows(0));
}

TEST_CASE("a mean is divided, or premultiplied, as the reading says", "[verify]") {
  // The sum overflows; premultiplied terms do not.
  const std::vector<float> large = {kMax, kMax};
  CHECK(Element(Format::f32, Op::avg, large, Reading::premultiplied).allows(kMax));
  CHECK_FALSE(Element(Format::f32, Op::avg, large, Reading::premultiplied).allows(kInf));
  CHECK(Element(Format::f32, Op::avg, large, Reading::divided).allows(kInf));
  const std::vector<float> nines = {9, 9, 9};
  const Element divided(Format::bf16, Op::avg, nines, Reading::divided);
  CHECK(divided.allows(9));
  CHECK_FALSE(divided.allows(9.5f));
  CHECK(Element(Format::f32, Op::avg, {1, 2, 3, 6}, Reading::divided).allowed.code);
}

TEST_CASE("a minimum keeps a NaN or drops it, and zeros may have either sign", "[verify]") {
  const std::vector<float> terms = {1, kNaN, 3, 4};
  CHECK(Element(Format::f32, Op::min, terms, Reading::nan_kept).allows(kNaN));
  CHECK_FALSE(Element(Format::f32, Op::min, terms, Reading::nan_kept).allows(1));
  CHECK(Element(Format::f32, Op::min, terms, Reading::nan_dropped).allows(1));
  CHECK_FALSE(Element(Format::f32, Op::min, terms, Reading::nan_dropped).allows(3));
  CHECK(Element(Format::f32, Op::max, {kNaN, kNaN}, Reading::nan_dropped).allows(kNaN));
  CHECK(Element(Format::bf16, Op::max, {-0.0f, 0.0f}, Reading::nan_kept).allows(-0.0f));
  CHECK_FALSE(Element(Format::bf16, Op::max, {-0.0f, -1.0f}, Reading::nan_kept).allows(0.0f));
}

TEST_CASE("a product may overflow, vanish or be NaN only where some order does", "[verify]") {
  const Element exact(Format::bf16, Op::prod, {3, 5, 0.5f, -4});
  REQUIRE(exact.allowed.code);
  CHECK(exact.allows(-30));
  CHECK_FALSE(exact.allows(30));
  CHECK(Element(Format::f32, Op::prod, {0.0f, -2, 3}).allows(-0.0f));
  CHECK_FALSE(Element(Format::f32, Op::prod, {0.0f, -2, 3}).allows(0.0f));
  const Element order(Format::f32, Op::prod, {0x1p100f, 0x1p100f, 0x1p-100f});
  CHECK(order.allows(kInf));
  CHECK(order.allows(0x1p100f));
  CHECK_FALSE(order.allows(-kInf));
  CHECK_FALSE(order.allows(0x1.8p100f));
  CHECK_FALSE(order.allows(kNaN));
  const Element zero(Format::f32, Op::prod, {0x1p100f, 0x1p100f, 0});
  CHECK(zero.allows(kNaN));
  CHECK(zero.allows(0));
  CHECK_FALSE(zero.allows(kInf));
  CHECK(Element(Format::f32, Op::prod, {kInf, 0, 1}).allows(kNaN));
  CHECK_FALSE(Element(Format::f32, Op::prod, {kInf, 2, 1}).allows(kNaN));
}

namespace {

/// Combines in a random tree, rounding each result to `each`.
float combine_somehow(std::vector<float> x, Op op, Format each, std::mt19937& random) {
  while (x.size() > 1) {
    std::swap(x[random() % x.size()], x.back());
    const float a = x.back();
    x.pop_back();
    float& b = x[random() % x.size()];
    b = round_to(each, op == Op::prod ? a * b : a + b);
  }
  return x[0];
}

/// Bits of the format: any, or with exponents near one, where more is added than lost.
float random_term(Format format, std::mt19937& random, bool any) {
  if (any) return reference::decode(format, static_cast<std::uint32_t>(random()));
  const float x = std::ldexp(static_cast<float>(random() % 4096) - 2048, -10);
  return round_to(format, x);
}

}  // namespace

TEST_CASE("whatever a tree of correct operations gives is allowed", "[verify]") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 60'000; ++trial) {
    const Format format = std::array{Format::f32, Format::f16, Format::bf16}[random() % 3];
    const Op op = std::array{Op::sum, Op::prod, Op::avg}[random() % 3];
    const bool is_wider = random() % 2 != 0, any = random() % 4 == 0;
    std::vector<float> terms(1 + random() % 8);
    for (float& x : terms) x = random_term(format, random, any);
    const auto n = static_cast<float>(terms.size());
    const Format each = is_wider ? Format::f32 : format;

    std::vector<float> combined = terms;
    const bool premultiplies = op == Op::avg && random() % 2 != 0;
    const float factor = round_to(format, 1 / n);
    if (premultiplies) {
      for (float& x : combined) x = round_to(format, x * factor);
    }
    float y = combine_somehow(combined, op, each, random);
    if (op == Op::avg && !premultiplies) y /= n;
    y = round_to(format, y);

    const Reading reading = op != Op::avg   ? Reading::only
                            : premultiplies ? Reading::premultiplied
                                            : Reading::divided;
    const Element e(format, op, terms, reading);
    if (e.allows(y)) continue;
    CAPTURE(terms, model::name(op), model::format(format).name, y, is_wider, premultiplies);
    CAPTURE(e.allowed.exact(), e.allowed.bound, e.allowed.code.has_value());
    FAIL("a correct result is rejected");
  }
}

TEST_CASE("a fused multiplication and addition is allowed, and a wrong factor is not", "[verify]") {
  std::mt19937 random(3);
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    const float factor = round_to(format, 1.0f / 5);
    int accepted = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<float> terms(5);
      for (float& x : terms) x = random_term(format, random, trial % 4 == 0);
      float right = 0, wrong = 0;
      for (const float x : terms) {
        right = round_to(format, std::fma(x, factor, right));
        wrong = round_to(format, std::fma(x, 0.3f, wrong));
      }
      const Element e(format, Op::avg, terms, Reading::fused);
      CAPTURE(terms, right, e.allowed.exact(), e.allowed.bound);
      REQUIRE(e.allows(right));
      accepted += trial % 4 != 0 && e.allows(wrong);
    }
    CHECK(accepted < 200);
  }
}

TEST_CASE("a lost term is rejected in almost every sum", "[verify]") {
  std::mt19937 random(2);
  int accepted = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<float> terms(5);
    for (float& x : terms) x = random_term(Format::f32, random, false);
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += terms[i];
    accepted += Element(Format::f32, Op::sum, terms).allows(sum);
  }
  CHECK(accepted <= 3);  // a term is zero once in 4096
}
