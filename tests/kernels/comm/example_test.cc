// Goal: what docs/communicator.md shows is a program that compiles, and prints what the page says.
// Method: compare the page with the program's source, and run it.

#include <fstream>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/child_process.h"

namespace tally::test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(TALLY_SOURCE_DIR "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The source, without the comment above it, as the page would show it.
std::string shown(const std::string& source) {
  const std::size_t code = source.find("#include");
  return code == std::string::npos ? "no code" : "```cpp\n" + source.substr(code) + "```\n";
}

}  // namespace

TEST_CASE("the page shows the example as it is", "[kernels]") {
  const std::string page = text_of("docs/communicator.md");
  const std::string source = text_of("tests/kernels/comm/example.cc");
  REQUIRE(page.find(shown(source)) != std::string::npos);
  REQUIRE(page.find(shown(source + "\n")) == std::string::npos);  // it would see another line
}

TEST_CASE("the example prints what the page says", "[kernels]") {
  const CommandResult ran = run_command(EXAMPLE_PROGRAM " 2>&1");
  REQUIRE(ran.status == 0);
  REQUIRE(ran.output == "the sum of 0 to 3 is 6\n");
  REQUIRE(text_of("docs/communicator.md").find("`the sum of 0 to 3 is 6`") != std::string::npos);
}

}  // namespace tally::test
