// Goal: the statistics are what their definitions say, and do not depend on threads.
// Method: few samples with the results worked out by hand; then the same samples in one collector
// and in merged ones.

#include "reference/error_statistics.h"

#include <cmath>
#include <cstring>

#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Format;
using model::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Samples that own what they show. errors: outputs - exact.
struct Samples {
  std::vector<float> outputs;
  std::vector<double> exact, errors, bounds = {};
  std::vector<std::uint8_t> saturated = {};
  ErrorSamples view() const { return {outputs, exact, errors, bounds, saturated}; }
};

ErrorStatistics statistics_of(const Samples& samples) {
  ErrorCollector collector;
  collector.add(samples.view());
  return collector.statistics();
}

Samples random_samples(std::size_t n, std::uint64_t seed) {
  test::Random random(seed);
  Samples s;
  for (std::size_t i = 0; i < n; ++i) {
    const double exact = static_cast<double>(random.bits() >> 40) * 0x1p-20 - 8;
    s.outputs.push_back(static_cast<float>(exact));
    s.exact.push_back(exact);
    s.errors.push_back(s.outputs[i] - exact + 0x1p-20);
    s.bounds.push_back(0x1p-10);
    s.saturated.push_back(random.below(2) != 0);
  }
  return s;
}

bool same(const ErrorStatistics& a, const ErrorStatistics& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

TEST_CASE("statistics of four outputs are those worked out by hand", "[reference]") {
  const ErrorStatistics s =
      statistics_of({{3, -4, 0, 8}, {4, -4, 2, 0}, {-1, 0, -2, 8}, {2, 0, 2, 16}, {1, 0, 0, 1}});
  CHECK(s.elements == 4);
  CHECK(s.compared == 4);
  CHECK(s.max_abs_err == 8);
  CHECK(s.mean_abs_err == 11.0 / 4);
  CHECK(s.rms_err == std::sqrt(69.0 / 4));
  CHECK(s.max_rel_err == 1);          // the last one has no relative error
  CHECK(s.mean_rel_err == 1.25 / 3);  // 1/4, 0, 1
  CHECK(s.rms_rel_err == std::sqrt((1.0 / 16 + 1) / 3));
  CHECK(s.sqnr_db == 10 * std::log10(36.0 / 69));
  CHECK(s.bias == 5.0 / 4);
  CHECK(s.saturated == 0.5);
  CHECK(s.flushed == 0.25);
  CHECK(s.nan == 0);
  CHECK(s.max_err_over_bound == 1);
}

TEST_CASE("what is not finite is counted and not compared", "[reference]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Samples samples = {{NAN, INFINITY, 1, 5},
                           {1, 2, nan, 4},
                           {nan, nan, nan, 1},
                           {kInfinity, kInfinity, kInfinity, 4}};
  const ErrorStatistics s = statistics_of(samples);
  CHECK(s.elements == 4);
  CHECK(s.compared == 1);
  CHECK(s.nan == 0.25);
  CHECK(s.infinite == 0.25);
  CHECK(s.max_abs_err == 1);
  CHECK(s.mean_rel_err == 0.25);
  CHECK(s.max_err_over_bound == 0.25);
}

TEST_CASE("an output that its bound does not allow is seen in the largest ratio", "[reference]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(statistics_of({{NAN}, {1}, {nan}, {1}}).max_err_over_bound == kInfinity);
  CHECK(statistics_of({{2}, {1}, {1}, {0}}).max_err_over_bound == kInfinity);
  CHECK(statistics_of({{1}, {1}, {0}, {0}}).max_err_over_bound == 0);
  CHECK(statistics_of({{2}, {1}, {1}, {0.5}}).max_err_over_bound == 2);
}

TEST_CASE("of nothing, of zeros and of exact outputs the numbers are defined", "[reference]") {
  const ErrorStatistics nothing = ErrorCollector().statistics();
  ErrorStatistics expected;
  expected.sqnr_db = kInfinity;
  CHECK(same(nothing, expected));
  const ErrorStatistics zeros = statistics_of({{0, 0}, {0, 0}, {0, 0}});
  CHECK(zeros.sqnr_db == kInfinity);
  CHECK(zeros.mean_rel_err == 0);
  CHECK(zeros.flushed == 0);
  CHECK(statistics_of({{0, 1}, {0, 0}, {0, 1}}).sqnr_db == -kInfinity);
  CHECK(statistics_of({{1, 2}, {1, 2}, {0, 0}}).sqnr_db == kInfinity);
}

TEST_CASE("collectors merged in order give the same bits each time", "[reference]") {
  const auto merged = [](std::size_t pieces) {
    ErrorCollector all;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      ErrorCollector one;
      one.add(random_samples(1000, piece).view());
      all.merge(one);
    }
    return all.statistics();
  };
  CHECK(same(merged(7), merged(7)));
  ErrorCollector alone;
  for (std::size_t piece = 0; piece < 7; ++piece) alone.add(random_samples(1000, piece).view());
  const ErrorStatistics a = alone.statistics(), b = merged(7);
  CHECK(a.elements == b.elements);
  CHECK(a.max_abs_err == b.max_abs_err);
  CHECK(a.saturated == b.saturated);
  CHECK(a.max_err_over_bound == b.max_err_over_bound);
  // The compensated sums differ by their last bit at most.
  const auto is_near = [](double x, double y) {
    return std::nextafter(x, -kInfinity) <= y && y <= std::nextafter(x, kInfinity);
  };
  CHECK(is_near(a.mean_abs_err, b.mean_abs_err));
  CHECK(is_near(a.rms_err, b.rms_err));
  CHECK(is_near(a.bias, b.bias));
  CHECK(is_near(a.sqnr_db, b.sqnr_db));
}

TEST_CASE("a compensated sum keeps what plain additions lose", "[reference]") {
  CompensatedSum sum;
  for (const double x : {1.0, 0x1p100, 1.0, -0x1p100}) sum.add(x);
  CHECK(sum.value() == 2);
  CompensatedSum infinite;
  for (const double x : {1.0, kInfinity}) infinite.add(x);
  CHECK(infinite.value() == kInfinity);
}

TEST_CASE("exact results are those of the ranks' elements", "[reference]") {
  const RankBuffers inputs = {test::codes_of(Format::bf16, {256, 1, -0.0, INFINITY}),
                              test::codes_of(Format::bf16, {1, 0x1p-133, 0.0, 1}),
                              test::codes_of(Format::bf16, {1, 0x1p-133, 0.0, 1})};
  const ExactResults sums({Format::bf16}, inputs);
  CHECK(sums.size() == 4);
  CHECK(sums.rounded() == std::vector<double>{258, 1, 0, kInfinity});
  const std::vector<float> outputs = {256, 1, 0, INFINITY};
  CHECK(sums.errors(outputs) == std::vector<double>{-2, -0x1p-132, 0, 0});
  const ExactResults means({Format::bf16, model::kNoWire, Op::avg}, inputs);
  CHECK(means.rounded()[0] == 86);
  CHECK(means.errors(outputs)[0] == 170);
}

}  // namespace tally::reference
