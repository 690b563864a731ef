#include "verify/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "verify/csv_field.h"

namespace tally::verify {
namespace {

std::int64_t size_bytes(const Case& c) {
  return std::max(c.input_elements(0), c.output_elements(0)) * c.arithmetic.element.bytes();
}

std::string over_bound(const Judgement& judgement) {
  return judgement.max_err_over_bound ? fmt::format("{:.4f}", *judgement.max_err_over_bound)
                                      : "exact";
}

class Table : public Report {
 public:
  explicit Table(std::ostream& out) : out_(out) {
    out_ << fmt::format(
        "# {:>8} {:>8} {:>5} {:>5} {:>5} {:>12} {:>5} {:>8} {:>6} {:>6} {:>7} {:>13}"
        " {:>8}  {:<13}{:<15}{}\n",
        "size", "count", "type", "redop", "algo", "wire", "ranks", "time(us)", "algbw", "busbw",
        "#wrong", "max err/bound", "verdict", "placement", "collective", "input");
  }

  void add(const CaseResult& result) override {
    const Case& c = result.c;
    const Judgement& judgement = result.judgement;
    const bool ran = judgement.verdict != Verdict::skipped;
    out_ << fmt::format(
        "  {:>8} {:>8} {:>5} {:>5} {:>5} {:>12} {:>5} {:>8} {:>6} {:>6} {:>7} {:>13}"
        " {:>8}  {:<13}{:<15}{}\n",
        size_bytes(c), c.counts.front(), c.arithmetic.element.name(), model::name(c.arithmetic.op),
        c.algorithm, c.arithmetic.wire.name(), c.ranks, "-", "-", "-",
        ran ? std::to_string(judgement.wrong) : "-", ran ? over_bound(judgement) : "-",
        name(judgement.verdict), name(c.placement), model::name(c.collective), c.input.name);
    if (judgement.verdict == Verdict::ok) return;
    out_ << "    replay: ./tally verify --replay '" << c.text() << "'\n    " << judgement.reason
         << "\n";
    if (!result.shrunk) return;
    if (result.shrunk->c.text() != c.text()) {
      out_ << "    shrunk: ./tally verify --replay '" << result.shrunk->c.text() << "'\n    "
           << result.shrunk->judgement.reason << "\n";
    }
    out_ << result.shrunk->chart;
  }

  void finish(const Summary& s) override {
    // One for each case is no news.
    const std::string interleavings = s.interleavings > s.cases - s.skipped
                                          ? fmt::format("{} interleavings, ", s.interleavings)
                                          : "";
    out_ << fmt::format(
        "# {} cases: {} ok, {} mismatch, {} hang, {} skipped; {}{} elements in {:.1f} s\n", s.cases,
        s.ok, s.mismatch, s.hang, s.skipped, interleavings, s.elements, s.seconds);
    if (!s.description.empty()) out_ << "# on " << s.description << "\n";
    for (const std::string& input : s.idle_inputs) {
      out_ << "# input " << input
           << " tests too little: over 10 % of outputs are zero or not finite\n";
    }
  }

 private:
  std::ostream& out_;
};

/// The fields of a case in the order in which cli.md lists them.
nlohmann::ordered_json fields(const CaseResult& result) {
  const Case& c = result.c;
  const Judgement& judgement = result.judgement;
  return {
      {"case", c.text()},
      {"collective", model::name(c.collective)},
      {"algorithm", c.algorithm},
      {"ranks", c.ranks},
      {"dtype", c.arithmetic.element.name()},
      {"wire", c.arithmetic.wire.name()},
      {"op", model::name(c.arithmetic.op)},
      {"accumulate", model::name(c.arithmetic.accumulate)},
      {"count", c.counts.front()},
      {"size_bytes", size_bytes(c)},
      {"in_place", c.placement == Placement::in_place},
      {"placement", name(c.placement)},
      {"graph", c.graph},
      {"input", c.input.name},
      {"seed", c.seed},
      {"calls", c.counts.size()},
      {"judge", judgement.is_exact ? "exact" : "bound"},
      {"wrong", judgement.wrong},
      {"max_abs_err", judgement.max_abs_err},
      {"max_err_over_bound", judgement.max_err_over_bound
                                 ? nlohmann::ordered_json(*judgement.max_err_over_bound)
                                 : nlohmann::ordered_json(nullptr)},
      {"matches", judgement.matches},
      {"time_us", nullptr},
      {"verdict", name(judgement.verdict)},
      {"caught_by", judgement.caught_by == Detector::none
                        ? nlohmann::ordered_json(nullptr)
                        : nlohmann::ordered_json(name(judgement.caught_by))},
      {"interleavings", result.interleavings},
      {"reason", judgement.reason},
  };
}

class JsonLines : public Report {
 public:
  explicit JsonLines(std::ostream& out) : out_(out) {}
  void add(const CaseResult& result) override {
    auto object = fields(result);
    if (result.shrunk) {
      object["shrunk"] = result.shrunk->c.text();
      object["chart"] = result.shrunk->chart;
    }
    write(object);
  }
  void finish(const Summary& s) override {
    write({{"cases", s.cases},
           {"ok", s.ok},
           {"mismatch", s.mismatch},
           {"hang", s.hang},
           {"skipped", s.skipped},
           {"interleavings", s.interleavings},
           {"elements", s.elements},
           {"seconds", s.seconds},
           {"description", s.description},
           {"idle_inputs", s.idle_inputs}});
  }

 private:
  void write(const nlohmann::ordered_json& object) {
    using Json = nlohmann::ordered_json;
    // A path on a command line need not be UTF-8; what is not is replaced, not thrown.
    out_ << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  std::ostream& out_;
};

class Csv : public Report {
 public:
  explicit Csv(std::ostream& out) : out_(out) {}

  void add(const CaseResult& result) override {
    const auto object = fields(result);
    if (!has_header_) {
      std::string header;
      for (const auto& [key, value] : object.items()) header += (header.empty() ? "" : ",") + key;
      out_ << header << '\n';
      has_header_ = true;
    }
    std::string row;
    for (const auto& [key, value] : object.items()) {
      if (!row.empty()) row += ',';
      if (!value.is_null())
        row += csv_field(value.is_string() ? value.get<std::string>() : value.dump());
    }
    out_ << row << '\n';
  }
  void finish(const Summary&) override {}

 private:
  std::ostream& out_;
  bool has_header_ = false;
};

class JUnit : public Report {
 public:
  explicit JUnit(std::ostream& out) : out_(out), suite_(document_.append_child("testsuite")) {
    suite_.append_attribute("name") = "tally verify";
  }

  void add(const CaseResult& result) override {
    auto test = suite_.append_child("testcase");
    test.append_attribute("classname") = std::string(model::name(result.c.collective)).c_str();
    test.append_attribute("name") = result.c.text().c_str();
    const Judgement& judgement = result.judgement;
    if (judgement.verdict == Verdict::ok) return;
    const char* element = judgement.verdict == Verdict::skipped ? "skipped" : "failure";
    auto child = test.append_child(element);
    child.append_attribute("message") = judgement.reason.c_str();
    if (judgement.verdict != Verdict::skipped) {
      child.append_attribute("type") = std::string(name(judgement.verdict)).c_str();
    }
    if (result.shrunk) {
      const std::string text = result.shrunk->c.text() + "\n" + result.shrunk->chart;
      child.text() = text.c_str();
    }
  }

  void finish(const Summary& s) override {
    suite_.append_attribute("tests") = static_cast<long long>(s.cases);
    suite_.append_attribute("failures") = static_cast<long long>(s.mismatch + s.hang);
    suite_.append_attribute("skipped") = static_cast<long long>(s.skipped);
    suite_.append_attribute("time") = s.seconds;
    if (!s.description.empty()) {
      auto property = suite_.prepend_child("properties").append_child("property");
      property.append_attribute("name") = "description";
      property.append_attribute("value") = s.description.c_str();
    }
    document_.save(out_, "  ");
  }

 private:
  std::ostream& out_;
  pugi::xml_document document_;
  pugi::xml_node suite_;
};

}  // namespace

std::unique_ptr<Report> table_report(std::ostream& out) { return std::make_unique<Table>(out); }
std::unique_ptr<Report> json_report(std::ostream& out) { return std::make_unique<JsonLines>(out); }
std::unique_ptr<Report> csv_report(std::ostream& out) { return std::make_unique<Csv>(out); }
std::unique_ptr<Report> junit_report(std::ostream& out) { return std::make_unique<JUnit>(out); }

}  // namespace tally::verify
