#include "verify/fault_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

namespace tally::verify {
namespace {

class Table : public FaultReport {
 public:
  explicit Table(std::ostream& out) : out_(out) {
    out_ << fmt::format("# {:<46} {:<10} {:<9} {:<9} {:>13}  {}\n", "fault", "kind", "verdict",
                        "caught by", "interleavings", "report");
  }

  void add(const ExhibitResult& result) override {
    const auto& [exhibit, detection, verdict] = result;
    const bool is_caught = detection.caught_by != Detector::none;
    const bool is_redundant = verdict == ExhibitResult::Verdict::redundant;
    out_ << fmt::format("  {:<46} {:<10} {:<9} {:<9} {:>13}  {}{}\n", exhibit->name, exhibit->kind,
                        name(verdict), is_caught ? name(detection.caught_by) : "-",
                        detection.interleavings, is_redundant ? exhibit->proof : exhibit->report,
                        detection.under.empty() ? "" : "; under " + detection.under);
    if (!result.holds() && !detection.reason.empty()) out_ << "    " << detection.reason << '\n';
    ++count_[verdict];
  }

  void finish() override {
    out_ << '#';
    const char* separator = " ";
    for (const auto& [verdict, count] : count_) {
      out_ << separator << count << ' ' << name(verdict);
      separator = ", ";
    }
    out_ << '\n';
  }

 private:
  std::ostream& out_;
  std::map<ExhibitResult::Verdict, int> count_;
};

class JsonLines : public FaultReport {
 public:
  explicit JsonLines(std::ostream& out) : out_(out) {}

  void add(const ExhibitResult& result) override {
    const auto& [exhibit, detection, verdict] = result;
    using Json = nlohmann::ordered_json;
    const Json object = {
        {"fault", exhibit->name},
        {"report", exhibit->report},
        {"kind", exhibit->kind},
        {"caught_by",
         detection.caught_by == Detector::none ? Json(nullptr) : Json(name(detection.caught_by))},
        {"interleavings", detection.interleavings},
        {"verdict", name(verdict)},
        {"under", detection.under},
        {"reason",
         verdict == ExhibitResult::Verdict::redundant ? exhibit->proof : detection.reason},
    };
    out_ << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  void finish() override {}

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<FaultReport> fault_table(std::ostream& out) { return std::make_unique<Table>(out); }
std::unique_ptr<FaultReport> fault_json(std::ostream& out) {
  return std::make_unique<JsonLines>(out);
}

}  // namespace tally::verify
