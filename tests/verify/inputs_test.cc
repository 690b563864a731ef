// Goal: inputs are the same everywhere, do what their names say, and reach what they should.
// Method: classes of codes are counted; order_free is summed in random orders in the element type.

#include "verify/inputs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "model/wire.h"
#include "reference/convert.h"
#include "tests/support/catch.h"
#include "verify/plan.h"

namespace {

using namespace tally;
using model::CodeClass;
using model::Format;

constexpr Format kElements[] = {Format::f32, Format::bf16, Format::f16};

std::vector<float> values(const verify::Input& input, Format element, const verify::Draw& draw) {
  std::vector<float> x(draw.count);
  reference::decode_array(element, verify::draw(input, element, draw), x);
  return x;
}

verify::Input named(const std::string& name) {
  const auto input = verify::open_input(name);
  REQUIRE(input);
  return *input;
}

}  // namespace

TEST_CASE("the same draw gives the same codes, and any difference in it gives others", "[verify]") {
  for (const std::string_view kind : verify::input_kinds()) {
    const verify::Input input = named(std::string(kind));
    const verify::Draw draw{7, 1, 2, 100};
    const auto codes = verify::draw(input, Format::bf16, draw);
    CHECK(codes == verify::draw(input, Format::bf16, draw));
    for (const verify::Draw other : {verify::Draw{8, 1, 2, 100}, {7, 2, 2, 100}, {7, 1, 3, 100}}) {
      CHECK(codes != verify::draw(input, Format::bf16, other));
    }
    auto longer = verify::draw(input, Format::bf16, {7, 1, 2, 101});
    longer.resize(200);
    CHECK(codes == longer);
  }
}

TEST_CASE("order_free sums are exact in every order, and every wire carries the terms exactly",
          "[verify]") {
  const verify::Input input = named("order_free");
  std::mt19937 shuffle(1);
  for (const Format element : kElements) {
    std::vector<std::vector<float>> ranks;
    for (int rank = 0; rank < 16; ++rank)
      ranks.push_back(values(input, element, {3, 0, rank, 500}));
    for (const model::Wire& wire : model::all_wires()) {
      if (wire.is_none()) continue;
      for (auto sent : ranks) {
        const auto exact = sent;
        reference::round_array(wire.format, sent);
        CHECK(sent == exact);
      }
    }
    const auto sum = [&] {
      std::vector<float> total(500, 0.0f);
      for (const auto& x : ranks) {
        for (std::size_t i = 0; i < 500; ++i) total[i] += x[i];
        reference::round_array(element, total);
      }
      return total;
    };
    const auto ascending = sum();
    for (int order = 0; order < 10; ++order) {
      std::shuffle(ranks.begin(), ranks.end(), shuffle);
      CHECK(sum() == ascending);
    }
  }
}

TEST_CASE("corner reaches every class of codes, both signs, and what wires do at their limits",
          "[verify]") {
  const verify::Input input = named("corner");
  for (const Format element : kElements) {
    const model::NumberFormat& format = model::format(element);
    std::array<int, 5> reached{};
    int beyond_e4m3fnuz = 0, ties = 0;
    const auto x = values(input, element, {1, 0, 0, 20000});
    const auto codes = verify::draw(input, element, {1, 0, 0, 20000});
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::uint32_t code = 0;
      for (int b = 0; b < format.bytes(); ++b) {
        code |= std::to_integer<std::uint32_t>(codes[i * format.bytes() + b]) << (8 * b);
      }
      ++reached[static_cast<std::size_t>(format.classify(code))];
      beyond_e4m3fnuz += std::isfinite(x[i]) && std::abs(x[i]) >= 248;
      ties += std::abs(x[i]) == 464 || std::abs(x[i]) == 248 || std::abs(x[i]) == 0x1p-10f;
    }
    for (const int count : reached) CHECK(count >= 20);
    CHECK(beyond_e4m3fnuz > 1000);
    CHECK(ties > 20);
  }
}

TEST_CASE("normal has the moments of a standard normal", "[verify]") {
  const auto x = values(named("normal"), Format::f32, {1, 0, 0, 100000});
  double sum = 0, squares = 0;
  for (const float value : x) {
    sum += value;
    squares += double{value} * value;
  }
  // Six standard errors of the mean (1 / sqrt n) and of the second moment (sqrt(2 / n)).
  const double n = static_cast<double>(x.size());
  CHECK(std::abs(sum / n) < 6 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 6 * std::sqrt(2 / n));
}

TEST_CASE("a file gives its rows, rotated from call to call", "[verify]") {
  const auto tensors = verify::bundled_tensors();
  REQUIRE(tensors);
  REQUIRE(tensors->size() >= 6);
  for (const verify::Input& input : *tensors) {
    CHECK(input.tensor->rows == 8);
    const auto row = input.tensor->row(3);
    const auto x = values(input, Format::f32, {1, 1, 2, 100});
    CHECK(std::equal(x.begin(), x.end(), row.begin()));
  }
}

TEST_CASE("an unknown input is refused", "[verify]") {
  CHECK_FALSE(verify::open_input("nromal"));
  CHECK_FALSE(verify::open_input(""));
  CHECK_FALSE(verify::open_input("missing.npy"));
}
