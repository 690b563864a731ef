// Goal: inputs are the same everywhere, do what their names say, and reach what they should.
// Method: classes of codes are counted; order_free is summed in random orders in the element type.

#include "reference/inputs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "model/wire.h"
#include "reference/convert.h"
#include "tests/support/catch.h"

namespace {

using namespace tally;
using model::CodeClass;
using model::Format;

constexpr Format kElements[] = {Format::f32, Format::bf16, Format::f16};

std::vector<float> values(const reference::Input& input, Format element,
                          const reference::Draw& draw) {
  std::vector<float> x(draw.count);
  reference::decode_array(element, reference::draw(input, element, draw), x);
  return x;
}

reference::Input named(const std::string& name) {
  const auto input = reference::open_input(name);
  REQUIRE(input);
  return *input;
}

}  // namespace

TEST_CASE("the same draw gives the same codes, and any difference in it gives others",
          "[reference]") {
  for (const std::string_view kind : reference::input_kinds()) {
    const reference::Input input = named(std::string(kind));
    const reference::Draw draw{7, 1, 2, 100};
    const auto codes = reference::draw(input, Format::bf16, draw);
    CHECK(codes == reference::draw(input, Format::bf16, draw));
    for (const reference::Draw other :
         {reference::Draw{8, 1, 2, 100}, {7, 2, 2, 100}, {7, 1, 3, 100}}) {
      CHECK(codes != reference::draw(input, Format::bf16, other));
    }
    auto longer = reference::draw(input, Format::bf16, {7, 1, 2, 101});
    longer.resize(200);
    CHECK(codes == longer);
  }
}

TEST_CASE("types that only move get any bits, whatever the input, and files have no say",
          "[reference]") {
  for (const model::MovedType& type : model::kMovedTypes) {
    CAPTURE(type.name);
    const auto codes = reference::draw(named("uniform"), type.id, {7, 1, 2, 4096});
    REQUIRE(std::ssize(codes) == 4096 * type.bytes);
    CHECK(codes == reference::draw(named("corner"), type.id, {7, 1, 2, 4096}));
    CHECK(codes == reference::draw({reference::InputKind::file, "x.npy", nullptr}, type.id,
                                   {7, 1, 2, 4096}));
    CHECK(codes != reference::draw(named("uniform"), type.id, {7, 1, 3, 4096}));
    for (int byte = 0; byte < type.bytes; ++byte) {  // every value of every byte
      std::array<int, 256> seen{};
      for (std::size_t i = 0; i < 4096; ++i) {
        ++seen[std::to_integer<std::size_t>(codes[i * type.bytes + byte])];
      }
      CHECK(std::count(seen.begin(), seen.end(), 0) == 0);
    }
  }
}

TEST_CASE("order_free sums are exact in every order, and every wire carries the terms exactly",
          "[reference]") {
  const reference::Input input = named("order_free");
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
          "[reference]") {
  const reference::Input input = named("corner");
  for (const Format element : kElements) {
    const model::NumberFormat& format = model::format(element);
    std::array<int, 5> reached{};
    int beyond_e4m3fnuz = 0, ties = 0;
    const auto x = values(input, element, {1, 0, 0, 20000});
    const auto codes = reference::draw(input, element, {1, 0, 0, 20000});
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

namespace {

/// Means of x^p, and how far a sample's may be from the true one: six standard errors.
struct Moment {
  double mean = 0, margin = 0;
};
Moment moment(const std::vector<float>& x, int power) {
  double sum = 0, squares = 0;
  for (const float value : x) {
    sum += std::pow(value, power);
    squares += std::pow(value, 2 * power);
  }
  const double n = static_cast<double>(x.size());
  return {sum / n, 6 * std::sqrt((squares / n - sum / n * sum / n) / n)};
}

}  // namespace

TEST_CASE("the kinds have the moments of their distributions", "[reference]") {
  constexpr double kOutliers = 4194.0 / (1 << 22);
  struct Known {
    const char* kind;
    double first, second, fourth;
  };
  const double e = std::exp(1.0);
  const Known all[] = {
      {"uniform", 0, 1.0 / 3, 1.0 / 5},
      {"normal", 0, 1, 3},
      {"laplace", 0, 2, 24},
      {"lognormal", std::sqrt(e), e * e, std::pow(e, 8)},
      {"outliers", 0, 1 + kOutliers * (std::pow(50, 2) - 1),
       3 + 3 * kOutliers * (std::pow(50, 4) - 1)},
      {"cancel", 0, 1, 3},  // an even rank
  };
  for (const Known& known : all) {
    INFO(known.kind);
    const auto x = values(named(known.kind), Format::f32, {1, 0, 0, 200000});
    const std::pair<int, double> moments[] = {
        {1, known.first}, {2, known.second}, {4, known.fourth}};
    for (const auto& [power, wanted] : moments) {
      // Of a lognormal's fourth moment no sample of this size knows the error.
      if (power == 4 && known.first != 0) continue;
      const Moment m = moment(x, power);
      CHECK(std::abs(m.mean - wanted) < m.margin);
    }
  }
}

TEST_CASE("uniform stays in [-1, 1), lognormal is positive", "[reference]") {
  for (const float x : values(named("uniform"), Format::f32, {1, 0, 0, 100000})) {
    REQUIRE((-1 <= x && x < 1));
    REQUIRE(std::fmod(x, 0x1p-23f) == 0);
  }
  for (const float x : values(named("lognormal"), Format::f32, {1, 0, 0, 100000})) REQUIRE(x > 0);
}

TEST_CASE("outliers are the normal values, but for one in a thousand that is 50 times that",
          "[reference]") {
  const auto normal = values(named("normal"), Format::f32, {1, 0, 0, 200000});
  const auto outliers = values(named("outliers"), Format::f32, {1, 0, 0, 200000});
  int count = 0;
  for (std::size_t i = 0; i < normal.size(); ++i) {
    if (outliers[i] == normal[i]) continue;
    // Both are rounded to f32 once from the same double: |o - 50 n| <= u |o| + 50 u |n|.
    const double o = outliers[i], n = normal[i];
    REQUIRE(std::abs(o - 50 * n) <= 0x1p-24 * (std::abs(o) + 50 * std::abs(n)));
    ++count;
  }
  const double wanted = 200000.0 * 4194 / (1 << 22);
  CHECK(std::abs(count - wanted) < 6 * std::sqrt(wanted));
}

TEST_CASE("two ranks of cancel sum to 1/64 of a standard normal", "[reference]") {
  const auto even = values(named("cancel"), Format::f32, {1, 0, 2, 100000});
  const auto odd = values(named("cancel"), Format::f32, {1, 0, 3, 100000});
  std::vector<float> sums;
  for (std::size_t i = 0; i < even.size(); ++i) sums.push_back(64 * (even[i] + odd[i]));
  for (const auto& [power, wanted] : {std::pair(1, 0.0), std::pair(2, 1.0), std::pair(4, 3.0)}) {
    const Moment m = moment(sums, power);
    CHECK(std::abs(m.mean - wanted) < m.margin);
  }
}

TEST_CASE("the kinds that use no function of the C library keep their bits", "[reference]") {
  // FNV-1a (Fowler, Noll, Vo) of the codes: stored replay lines stay true. (A format that is added
  // to the table adds edges to corner, and changes it.)
  const auto hash = [](const char* kind) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const std::byte b : reference::draw(named(kind), Format::f32, {3, 1, 2, 1000})) {
      h = (h ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
    }
    return h;
  };
  CHECK(hash("order_free") == 0x55dc9ca4e3d42d28u);
  CHECK(hash("corner") == 0x86695ef4d72ba3a3u);
  CHECK(hash("uniform") == 0x1d2a048caed1d80au);
}

TEST_CASE("a file gives its rows, rotated from call to call", "[reference]") {
  const auto tensors = reference::bundled_tensors();
  REQUIRE(tensors);
  REQUIRE(tensors->size() >= 6);
  for (const reference::Input& input : *tensors) {
    CHECK(input.tensor->rows == 8);
    const auto row = input.tensor->row(3);
    const auto x = values(input, Format::f32, {1, 1, 2, 100});
    CHECK(std::equal(x.begin(), x.end(), row.begin()));
  }
}

TEST_CASE("an unknown input is refused", "[reference]") {
  CHECK_FALSE(reference::open_input("nromal"));
  CHECK_FALSE(reference::open_input(""));
  CHECK_FALSE(reference::open_input("missing.npy"));
}
