// Goal: the measures and the forbidden words of the house style hold in every text file.
// Method: read the lines. Forbidden words are written here with a ~ in them, and pass.

#include <algorithm>
#include <regex>

#include "tests/support/catch.h"
#include "tests/tidy/source_tree.h"

namespace tally::tidy {
namespace {

constexpr std::size_t kColumns = 100, kFunctionLines = 70, kFileLines = 400;

// Files that people write as code: sources, build files and scripts, but not prose and data.
bool is_written_as_code(std::string_view path) {
  return is_code(path) || path.ends_with("CMakeLists.txt") || path.ends_with(".cmake") ||
         path.ends_with(".py") || path == "tally" || path == ".ci/run";
}

// Code points, because a µ is one column and two bytes.
std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<Finding> wide_lines(const SourceFile& file) {
  std::vector<Finding> findings;
  bool is_table = false;  // between clang-format off and on a row may be as wide as it must
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (line.find("clang-format off") != std::string::npos) is_table = true;
    if (line.find("clang-format on") != std::string::npos) is_table = false;
    if (is_table || columns_of(line) <= kColumns) continue;
    findings.push_back({file.path, i + 1, std::to_string(columns_of(line)) + " columns"});
  }
  return findings;
}

std::vector<Finding> long_files(const SourceFile& file) {
  if (file.lines.size() <= kFileLines) return {};
  return {{file.path, 0, std::to_string(file.lines.size()) + " lines in one file"}};
}

bool is_at_indent(const std::string& line, std::size_t indent) {
  return line.find_first_not_of(' ') == indent && line[indent] != '#' &&
         line.compare(indent, 2, "//") != 0;
}

// A function ends with a brace alone on its line, at the depth of a namespace (0) or a class (2),
// and begins at the nearest line above that is indented alike.
std::vector<Finding> long_functions(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!is_code(file.path)) return findings;
  for (const std::size_t indent : {0u, 2u}) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (!is_at_indent(line, indent)) continue;
      if (line.substr(indent) == "}" && i - begin >= kFunctionLines) {
        findings.push_back({file.path, begin + 1, std::to_string(i - begin + 1) + " lines long"});
      }
      begin = i;
    }
  }
  return findings;
}

std::vector<Finding> matches(const SourceFile& file, const std::regex& pattern,
                             const std::string& what) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(file.lines[i], match, pattern)) continue;
    findings.push_back({file.path, i + 1, match.str() + ": " + what});
  }
  return findings;
}

std::string without_tildes(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '~'), text.end());
  return text;
}

std::vector<Finding> unnumbered_plans(const SourceFile& file) {
  static const std::regex pattern(without_tildes(R"(\b(?:TO~DO|FIX~ME|XX~X)\b(?!\(#[0-9]+\)))"));
  return matches(file, pattern, "a plan without the number of its issue, as in (#12)");
}

std::vector<Finding> banned_names(const SourceFile& file) {
  static const std::regex pattern(
      without_tildes("rc::gen::arbitrary<~float>|<~ranges>|uniform_real~_distribution|"
                     "-f~fast-math|-O~fast|use_fast~_math|-march=~native"));
  return matches(file, pattern, "a banned name");
}

std::vector<Finding> machine_names(const SourceFile& file) {
  static const std::regex path(without_tildes(R"((?:^|[^\w./-])/(?:wo~rk|ro~ot|ho~me)/)"));
  static const std::regex host(without_tildes(
      R"(pypi\.o~rg|python~hosted\.|npm~js\.|crates\.i~o\b|deb\.deb~ian\.|archive\.ubun~tu\.)"
      R"(|conda\.ana~conda|artif~actory)"));
  std::vector<Finding> findings = matches(file, path, "a path of one machine");
  for (const Finding& f : matches(file, host, "a package registry")) findings.push_back(f);
  return findings;
}

using LineRule = std::vector<Finding> (*)(const SourceFile&);

std::string broken(LineRule rule, bool in_code_only) {
  std::vector<Finding> findings;
  for (const SourceFile& file : read_source_tree()) {
    if (in_code_only && !is_written_as_code(file.path)) continue;
    for (const Finding& finding : rule(file)) findings.push_back(finding);
  }
  return report(findings);
}

std::size_t count(LineRule rule, const std::string& text) {
  return rule(snippet("sim/x.cc", without_tildes(text))).size();
}

std::string body_of(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "    f();\n\n";
  return text;
}

}  // namespace

TEST_CASE("no line of code is wider than 100 columns", "[tidy]") {
  REQUIRE(broken(wide_lines, true) == "");
  const std::string wide(101, 'x'), fits(100, 'x');
  REQUIRE(count(wide_lines, fits) == 0);
  REQUIRE(count(wide_lines, wide) == 1);
  REQUIRE(count(wide_lines, fits.substr(1) + "µ") == 0);
  REQUIRE(count(wide_lines, "// clang-format off\n" + wide + "\n// clang-format on\n") == 0);
  REQUIRE(count(wide_lines, "// clang-format off\n// clang-format on\n" + wide) == 1);
}

TEST_CASE("no file of code is longer than 400 lines", "[tidy]") {
  REQUIRE(broken(long_files, true) == "");
  REQUIRE(count(long_files, body_of(200)) == 0);
  REQUIRE(count(long_files, body_of(200) + "\n") == 1);
}

TEST_CASE("no function is longer than 70 lines", "[tidy]") {
  REQUIRE(broken(long_functions, true) == "");
  REQUIRE(count(long_functions, "int f(int a,\n      int b) {\n" + body_of(33) + "\n}\n") == 0);
  REQUIRE(count(long_functions, "int f(int a,\n      int b) {\n" + body_of(34) + "}\n") == 1);
  REQUIRE(count(long_functions, "struct S {\n  int f() {\n" + body_of(35) + "  }\n};\n") == 1);
  REQUIRE(count(long_functions, "struct S {\n" + body_of(40) + "};\n") == 0);
}

TEST_CASE("every plan has the number of its issue", "[tidy]") {
  REQUIRE(broken(unnumbered_plans, true) == "");
  REQUIRE(count(unnumbered_plans, "// TO~DO: later") == 1);
  REQUIRE(count(unnumbered_plans, "// TO~DO(#12): later") == 0);
  REQUIRE(count(unnumbered_plans, "// FIX~ME") == 1);
}

TEST_CASE("no banned name is used", "[tidy]") {
  REQUIRE(broken(banned_names, true) == "");
  REQUIRE(count(banned_names, "#include <~ranges>") == 1);
  REQUIRE(count(banned_names, "*rc::gen::arbitrary<~float>()") == 1);
  REQUIRE(count(banned_names, "std::uniform_real~_distribution<double> d;") == 1);
  REQUIRE(count(banned_names, "  -f~fast-math -march=~native") == 1);
}

TEST_CASE("no text names a machine's paths or a package registry", "[tidy]") {
  REQUIRE(broken(machine_names, false) == "");
  REQUIRE(count(machine_names, "cd /wo~rk/main") == 1);
  REQUIRE(count(machine_names, "/ro~ot/x") == 1);
  REQUIRE(count(machine_names, "frame/wo~rk/x") == 0);
  REQUIRE(count(machine_names, "https://pypi.o~rg/simple") == 1);
}

}  // namespace tally::tidy
