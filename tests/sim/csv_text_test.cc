// Goal: tables are read as they were meant, or refused with the line.
// Method: examples of each rule; and any cells, quoted, come back.

#include "sim/csv_text.h"

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

std::string quoted(const std::string& cell) {
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

TEST_CASE("comments and empty lines are left out, and lines keep their numbers", "[sim]") {
  const auto csv = parse_csv("t.csv", "# why\r\na,b\r\n\r\n1,\"x, \"\"y\"\"\"\r\n# more\n,2");
  REQUIRE(csv);
  REQUIRE(csv->header == std::vector<std::string>{"a", "b"});
  REQUIRE(csv->rows.size() == 2);
  REQUIRE(csv->rows[0].line == 4);
  REQUIRE(csv->rows[0].cells == std::vector<std::string>{"1", "x, \"y\""});
  REQUIRE(csv->rows[1].cells == std::vector<std::string>{"", "2"});
  REQUIRE(csv->column("b") == 1u);
  REQUIRE(!csv->column("c"));
}

TEST_CASE("a cell in quotes is read as it was", "[sim]") {
  test::property("whatever is in it, but the end of a line", [] {
    const auto cells = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string(",\"ab #\t")))));
    std::string header, row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      header += (i > 0 ? ",c" : "c") + std::to_string(i);
      row += (i > 0 ? "," : "") + quoted(cells[i]);
    }
    const auto csv = parse_csv("t.csv", header + "\n" + row + "\n");
    RC_ASSERT(csv);
    RC_ASSERT(csv->rows.front().cells == cells);
  });
}

TEST_CASE("what is no table is refused with its line", "[sim]") {
  struct Fault {
    const char *text, *where, *what;
  };
  const Fault faults[] = {
      {"", "t.csv", "no header"},
      {"# only\n", "t.csv", "no header"},
      {"a,b\n1\n", "t.csv:2", "1 cells"},
      {"a,b\n1,2,3\n", "t.csv:2", "3 cells"},
      {"a,b\n\"1,2\n", "t.csv:2", "a quote that does not end its cell"},
      {"a,b\n\"1\"x,2\n", "t.csv:2", "a quote that does not end its cell"},
      {"a,a\n", "t.csv:1", "two columns 'a'"},
  };
  for (const Fault& fault : faults) {
    CAPTURE(fault.text);
    const auto csv = parse_csv("t.csv", fault.text);
    REQUIRE(!csv);
    REQUIRE(csv.error().where == fault.where);
    REQUIRE(csv.error().what == fault.what);
    REQUIRE(!csv.error().hint.empty());
  }
}

}  // namespace tally::sim
