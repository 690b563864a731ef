// Goal: each form of report says what the cases ran on, where that is not this program alone.
// Method: the same results, with a subject that describes itself and with one that does not.

#include "verify/report.h"

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

#include "tests/support/catch.h"

namespace {

using namespace tally;
using Json = nlohmann::json;

constexpr const char* kGpus = "NVIDIA H200 x 2, cuda driver 13000, runtime 13000, \"a\" <b> 2.28.9";

/// The last of what a report writes of one case.
std::string report_of(std::unique_ptr<verify::Report> (*make)(std::ostream&),
                      const std::string& description) {
  std::ostringstream out;
  const auto report = make(out);
  verify::CaseResult result;
  result.c.counts = {3};
  report->add(result);
  verify::Summary summary;
  summary.description = description;
  summary.cases = summary.ok = 1;
  report->finish(summary);
  return out.str();
}

Json last_object(const std::string& lines) {
  const std::size_t end = lines.find_last_of('\n');
  return Json::parse(lines.substr(lines.find_last_of('\n', end - 1) + 1));
}

/// What the suite's property says; the suite must hold one test in any case.
std::string junit_property(const std::string& text) {
  pugi::xml_document document;
  REQUIRE(document.load_string(text.c_str()));
  const auto suite = document.child("testsuite");
  const auto tests = suite.children("testcase");
  CHECK(std::distance(tests.begin(), tests.end()) == 1);
  const auto property = suite.first_child().child("property");
  if (!property) return "";
  CHECK(std::string(suite.first_child().name()) == "properties");
  CHECK(std::string(property.attribute("name").value()) == "description");
  return property.attribute("value").value();
}

}  // namespace

TEST_CASE("a table's last line says what the cases ran on", "[verify]") {
  const std::string with = report_of(verify::table_report, kGpus);
  const std::string line = "# on " + std::string(kGpus) + "\n";
  CHECK(with == report_of(verify::table_report, "") + line);
}

TEST_CASE("the JSON summary says what the cases ran on", "[verify]") {
  CHECK(last_object(report_of(verify::json_report, kGpus))["description"] == kGpus);
  CHECK(last_object(report_of(verify::json_report, ""))["description"] == "");
}

TEST_CASE("a JUnit suite has what the cases ran on as a property", "[verify]") {
  CHECK(junit_property(report_of(verify::junit_report, kGpus)) == kGpus);
  CHECK(junit_property(report_of(verify::junit_report, "")).empty());
}

TEST_CASE("a CSV report is rows alone", "[verify]") {
  CHECK(report_of(verify::csv_report, kGpus) == report_of(verify::csv_report, ""));
}
