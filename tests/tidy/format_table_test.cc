// Goal: what is known about a number format is written in one row of one table.
// Method: look for what a second table, or a format's own branch, would have to contain.

#include <regex>

#include "model/number_format.h"
#include "tests/support/catch.h"
#include "tests/tidy/source_tree.h"

namespace tally::tidy {
namespace {

struct Rule {
  std::regex pattern;
  std::string what;
};

std::vector<Rule> rules() {
  std::string names;
  for (const model::NumberFormat& row : model::kNumberFormats) {
    if (!names.empty()) names += '|';
    names += row.name;
  }
  const std::string name = "\"(?:" + names + ")\"(?:sv)?";
  const std::string field =
      "(?:[eE]xp(?:onent)?|[fF]rac(?:tion)?|[mM]ant(?:issa)?|[sS]ignificand)_?[bB]its";
  const std::pair<std::string, std::string> list[] = {
      {R"(\bstruct NumberFormat\s*\{)", "a second table of number formats"},
      {R"(\bkNumberFormats\s*\[\s*\])", "a second table of number formats"},
      {R"(\bNumberFormat\s*\{\s*[^}\s])", "a row of number formats outside the table"},
      {R"re(Format::\w+\s*,\s*")re", "a row of number formats outside the table"},
      {"\\{\\s*" + name + "\\s*,\\s*-?[0-9]", "a row of number formats outside the table"},
      {field + "\\s*[={]\\s*[0-9]", "a field width that belongs in the table"},
      {"[bB]ias\\s*[={]\\s*[1-9]", "a bias that belongs in the table"},
      {"[=!]=\\s*" + name, "a branch on a format's name; find_format gives the row"},
      {name + "\\s*[=!]=", "a branch on a format's name; find_format gives the row"},
  };
  std::vector<Rule> compiled;
  for (const auto& [pattern, what] : list) compiled.push_back({std::regex(pattern), what});
  return compiled;
}

// Tests are left out: a number that a test writes down is its expectation.
std::vector<Finding> second_tables(const std::vector<SourceFile>& files) {
  static const std::vector<Rule> list = rules();
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!is_code(file.path) || file.path == "model/number_format.h") continue;
    if (room_of(file.path) == "tests") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string code = without_comment(file.lines[i]);
      for (const Rule& rule : list) {
        if (!std::regex_search(code, rule.pattern)) continue;
        findings.push_back({file.path, i + 1, rule.what});
      }
    }
  }
  return findings;
}

std::size_t count_in(std::string path, std::string_view text) {
  return second_tables({snippet(std::move(path), text)}).size();
}

}  // namespace

TEST_CASE("facts about number formats are written once, in the table", "[tidy]") {
  REQUIRE(report(second_tables(read_source_tree())) == "");
}

TEST_CASE("the format rule rejects each way of writing a second table", "[tidy]") {
  const char* const bad[] = {
      "struct NumberFormat {",
      "constexpr NumberFormat kMine = NumberFormat{Format::e5m2, 5, 2};",
      "constexpr Row kNumberFormats[] = {",
      "constexpr int kFractionBits = 3;",
      "  int exponent_bits = 4;",
      "constexpr int mantissa_bits{7};",
      "const int bias = 15;",
      "constexpr int kBias = 127;",
      "if (name == \"e5m2\") return 16;",
      "return \"e4m3fn\" != name;",
      "    {\"e4m3fnuz\", 8, 4},",
      "    {Format::e2m1, \"E2M1\"},",
  };
  for (const char* line : bad) {
    CAPTURE(line);
    REQUIRE(count_in("reference/x.cc", line) == 1);
    REQUIRE(count_in("model/number_format.h", line) == 0);
  }
}

TEST_CASE("the format rule lets code that reads the table pass", "[tidy]") {
  const char* const good[] = {
      "const int bias = row.bias;",
      "double bias = 0;  // the mean error, not an exponent's",
      "const NumberFormat& row = format(Format::e5m2);",
      "// e5m2 has bias = 15",
      "if (id == Format::e8m0) return;",
      "for (const char* name : {\"e4m3fn\", \"e5m2\"}) {",
  };
  for (const char* line : good) {
    CAPTURE(line);
    REQUIRE(count_in("verify/x.cc", line) == 0);
  }
}

}  // namespace tally::tidy
