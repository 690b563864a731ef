// Goal: a calibration finds the parameters that made the times, says what the times do not tell,
// and is not led astray by outliers.
// Method: times that were computed with parameters that the fit does not know.

#include "sim/calibrate.h"

#include <cmath>

#include "sim/predict.h"
#include "tests/support/catch.h"

namespace tally::sim {
namespace {

// What makes the times: two parameters are changed, all else is as in the table.
Parameters truth() {
  Parameters parameters;
  for (std::size_t i = 0; i < parameter_rows().size(); ++i) {
    const std::string_view name = parameter_rows()[i].name;
    if (name == "quickreduce/none/efficiency") parameters.set(i, {0.7, 0.7, 0.7});
    if (name == "quickreduce/none/base_us") parameters.set(i, {11, 11, 11});
  }
  return parameters;
}

const Parameter& named(const Parameters& parameters, std::string_view name) {
  for (std::size_t i = 0; i < parameter_rows().size(); ++i) {
    if (parameter_rows()[i].name == name) return parameters[i];
  }
  FAIL("no parameter " << name);
  return parameters[0];
}

// A linear congruential generator (Knuth, MMIX): the same noise everywhere. In -1..1.
double noise(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 11) / 4503599627370496.0 - 1;
}

std::vector<MeasuredTable> computed_tables(double spread, double outlier) {
  std::vector<MeasuredTable> tables;
  std::uint64_t state = 1;
  for (const int ranks : {2, 4, 8}) {
    MeasuredTable table;
    table.file = "computed_" + std::to_string(ranks);
    table.scenario.library = "quickreduce";
    table.scenario.ranks = ranks;
    const Predictor predictor = *Predictor::of(table.scenario, truth());
    for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 2) {
      const double factor = std::exp(spread * noise(state));
      table.rows.push_back({bytes, predictor.micros(bytes) * factor});
    }
    table.rows[5].time_us *= outlier;
    tables.push_back(table);
  }
  return tables;
}

double predicted(const MeasuredTable& table, std::int64_t bytes) {
  return Predictor::of(table.scenario, truth())->micros(bytes);
}

/// Near its minimum the loss is a square, so that where a fit ends a parameter is as far off as the
/// root of the gain that it ends at.
const double kExactFit = std::sqrt(kLeastGain);
/// Of computed times, either way; below what sources differ by.
constexpr double kSpread = kNoise * 2 / 3;

bool is_near(double a, double b, double share) { return !(std::fabs(a / b - 1) > share); }

}  // namespace

TEST_CASE("parameters are found again from times that they made", "[sim]") {
  const auto fit = calibrate(computed_tables(0, 1));
  REQUIRE(fit);
  CHECK(is_near(named(fit->parameters, "quickreduce/none/efficiency").value, 0.7, kExactFit));
  CHECK(is_near(named(fit->parameters, "quickreduce/none/base_us").value, 11, kExactFit));
  const auto check = validate(computed_tables(0, 1), fit->parameters);
  REQUIRE(check);
  CHECK(check->all.p90_rel_err < kExactFit);
  // The same times are far from the table's initial values: the check can fail.
  CHECK_FALSE(validate(computed_tables(0, 1), Parameters())->all.median_rel_err < kExactFit);
}

TEST_CASE("a parameter that would leave its limits does not stop the others", "[sim]") {
  auto tables = computed_tables(0, 1);
  // Twice the links' efficiency is beyond what the table of parameters allows.
  for (MeasuredTable& table : tables) {
    const double base = predicted(table, 0);
    for (auto& row : table.rows) row.time_us = base + (row.time_us - base) / 3;
  }
  const auto fit = calibrate(tables);
  REQUIRE(fit);
  CHECK(named(fit->parameters, "quickreduce/none/efficiency").value == 1.5);
  CHECK(named(fit->parameters, "quickreduce/none/base_us").value >
        2 * named(Parameters(), "quickreduce/none/base_us").value);
}

TEST_CASE("one row in twenty that is five times too long moves nothing beyond the noise", "[sim]") {
  const auto fit = calibrate(computed_tables(kSpread, 5));
  REQUIRE(fit);
  CHECK(is_near(named(fit->parameters, "quickreduce/none/efficiency").value, 0.7, kSpread));
}

TEST_CASE("the intervals hold the true values", "[sim]") {
  const auto fit = calibrate(computed_tables(kSpread, 1));
  REQUIRE(fit);
  const Parameters made_by = truth();
  for (const char* name : {"quickreduce/none/efficiency", "quickreduce/none/base_us"}) {
    const Parameter& found = named(fit->parameters, name);
    CAPTURE(name, found.low, found.high);
    CHECK(found.low < named(made_by, name).value);
    CHECK(named(made_by, name).value < found.high);
    CHECK(found.high / found.low < std::exp(10 * kSpread));  // and say something
  }
}

TEST_CASE("what the tables do not meet keeps its initial value, and is not determined", "[sim]") {
  const auto fit = calibrate(computed_tables(0, 1));
  REQUIRE(fit);
  for (std::size_t i = 0; i < parameter_rows().size(); ++i) {
    if (parameter_rows()[i].name.starts_with("quickreduce/none")) continue;
    CHECK_FALSE(fit->is_determined[i]);
    CHECK(fit->parameters[i].value == parameter_rows()[i].initial);
  }
}

TEST_CASE("a table that is left out is predicted from the others", "[sim]") {
  const auto tables = computed_tables(0, 1);
  const auto fit = calibrate(tables);
  REQUIRE(fit);
  const auto errors = leave_one_out(tables, fit->parameters);
  REQUIRE(errors);
  REQUIRE(errors->size() == tables.size());
  for (const RelativeErrors& e : *errors) CHECK(e.p90_rel_err < kExactFit);
}

TEST_CASE("a table of what nothing is known of is an error that names it", "[sim]") {
  auto tables = computed_tables(0, 1);
  tables[1].scenario.library = "rcl";
  const auto fit = calibrate(tables);
  REQUIRE_FALSE(fit);
  CHECK(fit.error().where.starts_with("computed_4: "));
  CHECK_FALSE(validate(tables));
}

TEST_CASE("errors are of predicted over measured, between rows linearly", "[sim]") {
  const RelativeErrors e = relative_errors("f", {-0.5, 0.25, 0.125, 1});
  CHECK(e.rows == 4);
  CHECK(e.median_rel_err == 0.375);
  CHECK(e.bias == 0.1875);
  CHECK(e.p90_rel_err == 0.5 + (2.7 - 2) * 0.5);
  CHECK(relative_errors("none", {}).rows == 0);
}

TEST_CASE("parameters are read as they were written", "[sim]") {
  const Parameters& fitted = Parameters::fitted();
  const auto again = Parameters::from_json("x.json", fitted.to_json("a command"));
  REQUIRE(again);
  for (std::size_t i = 0; i < parameter_rows().size(); ++i) {
    CHECK((*again)[i].value == fitted[i].value);
    CHECK((*again)[i].low == fitted[i].low);
  }
  for (const char* bad :
       {"", "[]", "{\"parameters\": 1}", "{\"parameters\": [1]}",
        "{\"parameters\": [{\"name\": \"rccl/host_s\", \"value\": 1, \"low\": 1, \"high\": 1}]}",
        "{\"parameters\": [{\"name\": \"rccl/host_us\", \"value\": \"1\"}]}"}) {
    CAPTURE(bad);
    const auto read = Parameters::from_json("x.json", bad);
    REQUIRE_FALSE(read);
    CHECK(read.error().where == "x.json");
  }
}

TEST_CASE("a term is looked for on its machine, arch and fabric, for all, and then a level up",
          "[sim]") {
  const Parameters p;
  CHECK(p.find("nccl/ring_ll", "base_us", {"rtxpro6000_3switch", "sm_120", "pcie"}) == 14);
  CHECK(p.find("nccl/ring_ll", "base_us", {"rtxpro6000", "sm_120", "pcie"}) == 8);
  CHECK(p.find("nccl/ring_ll", "base_us", {"b200", "sm_100", "switch"}) == 6.6);
  CHECK(p.find("quickreduce/codec/int4", "efficiency", {}) == 0.95);
  CHECK(p.find("rccl/ring_ll", "host_us", {}) == 5);
  CHECK_FALSE(p.find("rccl/ring_ll", "nonsense", {}));
}

TEST_CASE("every parameter is used by a path, and has a source and a unit in its name", "[sim]") {
  for (const ParameterRow& row : parameter_rows()) {
    CAPTURE(row.name);
    CHECK_FALSE(row.source.empty());
    CHECK(row.least <= row.initial);
    CHECK(row.initial <= row.most);
    const std::string_view path = row.name.substr(0, row.name.rfind('/'));
    bool is_used = false;
    for (const PathRow& p : path_rows()) is_used |= p.parameters.starts_with(path);
    CHECK(is_used);
  }
}

}  // namespace tally::sim
