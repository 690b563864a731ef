// Goal: every known and every generated fault is caught, and no healthy kernel is accused.
// Method: all that `tally faults` shows; the table of mutants in the documentation is what was
// found; and exhibits that do not hold, to see that they are told.

#include "verify/museum.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/support/catch.h"
#include "verify/fault_report.h"
#include "verify/mutants.h"

namespace tally::verify {
namespace {

std::vector<ExhibitResult> results_of(const std::vector<Exhibit>& exhibits) {
  std::vector<ExhibitResult> results;
  show(exhibits, [&](const ExhibitResult& result) { results.push_back(result); });
  return results;
}

Exhibit exhibit(const std::string& name, std::string_view kind, Detector finds,
                const std::string& proof = "") {
  return {name, "a report", std::string(kind), proof, [finds] {
            return Detection{finds, 3, finds == Detector::none ? "" : "what was seen", ""};
          }};
}

/// What the table has in it for one mutant.
std::string cell_of(const ExhibitResult& result) {
  if (result.verdict == ExhibitResult::Verdict::redundant) return "redundant";
  if (result.verdict != ExhibitResult::Verdict::caught) return "missed";
  const std::string by(name(result.detection.caught_by));
  return result.detection.under.empty() ? by : by + "*";
}

/// A row for each line and change, a column for each kernel.
std::string mutant_table(const std::vector<ExhibitResult>& results) {
  std::vector<std::string> kernels, rows;
  std::map<std::string, std::string> cells;  // by row and kernel
  for (const ExhibitResult& result : results) {
    const std::string& name = result.exhibit->name;
    const std::string kernel = name.substr(0, name.find(' '));
    const std::string row = name.substr(name.find(' ') + 1);
    for (auto& [list, entry] : {std::pair(&kernels, kernel), std::pair(&rows, row)}) {
      if (std::find(list->begin(), list->end(), entry) == list->end()) list->push_back(entry);
    }
    cells[row + ' ' + kernel] = cell_of(result);
  }
  std::string text = "| line, what it does, change |";
  for (const std::string& kernel : kernels) text += ' ' + kernel + " |";
  text += "\n|---|";
  for (std::size_t i = 0; i < kernels.size(); ++i) text += "---|";
  for (const std::string& row : rows) {
    text += "\n| " + row + " |";
    for (const std::string& kernel : kernels) {
      const auto cell = cells.find(row + ' ' + kernel);
      text += cell == cells.end() ? " |" : ' ' + cell->second + " |";
    }
  }
  return text + '\n';
}

}  // namespace

TEST_CASE("every fault is caught, and no healthy kernel accused", "[verify][slow]") {
  int faults = 0, healthy = 0;
  const auto exhibits = museum();
  for (const ExhibitResult& result : results_of(exhibits)) {
    CAPTURE(result.exhibit->name, result.detection.reason);
    REQUIRE(result.holds());
    healthy += result.exhibit->kind == kHealthy;
    faults += result.exhibit->kind != kHealthy && result.exhibit->report != kGenerated;
    REQUIRE((result.exhibit->kind == kHealthy) == result.exhibit->report.empty());
  }
  REQUIRE(faults >= 70);
  REQUIRE(healthy >= 23);
}

TEST_CASE("the table of mutants in the documentation is what is found", "[verify][slow]") {
  const auto exhibits = mutant_exhibits();
  const std::string table = mutant_table(results_of(exhibits));
  std::ifstream file("docs/memory_model.md");
  std::stringstream text;
  text << file.rdbuf();
  CAPTURE(table);
  REQUIRE(text.str().find(table) != std::string::npos);
}

TEST_CASE("a fault that is missed and a healthy kernel that is accused do not hold", "[verify]") {
  const std::vector<Exhibit> exhibits = {
      exhibit("found", "order", Detector::race), exhibit("missed", "order", Detector::none),
      exhibit("proved", "mutant", Detector::none, "a place"),
      exhibit("clean", kHealthy, Detector::none), exhibit("accused", kHealthy, Detector::value)};
  std::stringstream table, json;
  const auto as_table = fault_table(table), as_json = fault_json(json);
  std::vector<std::string> failing;
  for (const ExhibitResult& result : results_of(exhibits)) {
    if (!result.holds()) failing.push_back(result.exhibit->name);
    as_table->add(result);
    as_json->add(result);
  }
  as_table->finish();
  REQUIRE(failing == std::vector<std::string>{"missed", "accused"});
  REQUIRE(table.str().find("# 1 caught, 1 missed, 1 clean, 1 accused, 1 redundant") !=
          std::string::npos);
  REQUIRE(table.str().find("what was seen") != std::string::npos);
  REQUIRE(json.str().find(R"({"fault":"missed","report":"a report","kind":"order",)"
                          R"("caught_by":null,"interleavings":3,"verdict":"missed")") !=
          std::string::npos);
}

TEST_CASE("a mutant of each kind of line in each kernel with a barrier is generated", "[verify]") {
  const auto all = mutants();
  for (const model::Builder& kernel : model::builders()) {
    if (kernel.algorithm == "flat_ll") continue;
    std::set<kernels::emulator::Ordering> orderings;
    for (const Mutant& mutant : all) {
      if (mutant.kernel == &kernel) orderings.insert(mutant.mutation.site.ordering);
    }
    CAPTURE(kernel_label(kernel));
    REQUIRE(orderings.size() == 4);
  }
}

}  // namespace tally::verify
