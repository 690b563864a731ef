// Goal: the SQNR of the wires' quantisers is the known one.
// Method: a closed form where there is one; else figures of one decimal from a program written
// apart from this one. The elements are enough: the sampling error, which is estimated beside each
// figure, is a quarter of half that decimal (normal has a kurtosis of 3, Laplace of 6: 4 million
// elements suffice. For outliers they do not: see sqnr_outliers_test.cc).

#include <cmath>

#include "tests/study/sqnr_measurement.h"
#include "tests/support/catch.h"

namespace {

using tally::test::measure_sqnr;
using tally::test::rounding_noise;

struct Figure {
  std::string wire;
  double normal_db, laplace_db;
};

const std::vector<Figure> kFigures = {
    {"e4m3fn", 31.5, 31.5},
    {"e4m3fnuz", 31.5, 31.5},
    {"e4m3fn:b128:f32", 31.8, 32.1},
    {"e4m3fn:b32:f32", 32.4, 33.0},
    {"e4m3fnuz:b32:f16", 32.5, 33.1},
    {"e4m3fn:b32:e8m0:floor", 30.7, 30.0},
    {"e4m3fn:b32:e8m0:rceil", 31.5, 31.5},
    {"e5m2:b32:e8m0:floor", 25.4, 25.2},
};

void check_column(const char* input, double Figure::*column) {
  std::vector<std::string> wires;
  for (const Figure& figure : kFigures) wires.push_back(figure.wire);
  const auto all = measure_sqnr(wires, input, 16, 1 << 18);
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(wires[i] << " " << input << ": " << all[i].sqnr_db << " +- " << all[i].standard_error_db);
    CHECK(all[i].standard_error_db < 0.05 / 4);
    CHECK(std::abs(all[i].sqnr_db - kFigures[i].*column) <= 0.05 + 2 * all[i].standard_error_db);
  }
}

}  // namespace

TEST_CASE("the SQNR of normal values is the known one, to its decimal", "[study]") {
  check_column("normal", &Figure::normal_db);
}

TEST_CASE("the SQNR of Laplace values is the known one, to its decimal", "[study]") {
  check_column("laplace", &Figure::laplace_db);
}

TEST_CASE("the SQNR of a raw cast of normal values is the integral over the grid's cells",
          "[study]") {
  const auto all = measure_sqnr({"e4m3fn", "e5m2"}, "normal", 16, 1 << 18);
  for (const auto& [measured, fraction_bits] : {std::pair(all[0], 3), std::pair(all[1], 2)}) {
    const double exact = -10 * std::log10(rounding_noise(1, fraction_bits));
    // Subnormals (below 2^-6 of sigma) add less than a thousandth of a dB.
    CHECK(std::abs(measured.sqnr_db - exact) < 4 * measured.standard_error_db + 0.001);
  }
}
