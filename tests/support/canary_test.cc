// Goal: a failing test is seen to fail, and what it prints can be pasted to see it again.
// Method: run the canary program, whose cases fail, skip and pass on purpose, and read its output.

#include "tests/support/catch.h"
#include "tests/support/child_process.h"
#include "tests/support/skip.h"

namespace tally::test {
namespace {

CommandResult canary(const std::string& selection) {
  return run_command("unset RC_PARAMS; " TALLY_CANARY " '" + selection + "' 2>&1");
}

// The rest of the line that begins with `label`; empty where there is none.
std::string rest_of_line(const std::string& text, const std::string& label) {
  const std::size_t start = text.find(label);
  if (start == std::string::npos) return "";
  const std::size_t end = text.find('\n', start);
  return text.substr(start + label.size(), end - start - label.size());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a failing assertion gives a failing exit status", "[support]") {
  const CommandResult result = canary("an assertion fails");
  REQUIRE(result.status != 0);
  REQUIRE(result.status != kSkipStatus);
  REQUIRE(contains(result.output, "1 + 1 == 3"));
}

TEST_CASE("a failing property fails at its own line and prints a replay line", "[support]") {
  const CommandResult first = canary("it isn*");
  INFO(first.output);
  REQUIRE(first.status != 0);
  REQUIRE(contains(first.output, "canary.cc:"));
  REQUIRE(!contains(first.output, "property.cc:"));
  REQUIRE(contains(first.output, "claim: every number is below 500"));

  const std::string replay = rest_of_line(first.output, "replay: ");
  REQUIRE(replay.rfind("RC_PARAMS=\"seed=", 0) == 0);
  const CommandResult second = run_command(replay + " 2>&1");
  INFO(second.output);
  REQUIRE(second.status == first.status);
  REQUIRE(rest_of_line(second.output, "replay: ") == replay);
  const std::string falsified = rest_of_line(first.output, "Falsifiable ");
  REQUIRE(!falsified.empty());
  REQUIRE(rest_of_line(second.output, "Falsifiable ") == falsified);
}

TEST_CASE("a property that holds gives status 0", "[support]") {
  REQUIRE(canary("a property holds").status == 0);
}

TEST_CASE("RC_PARAMS is honoured", "[support]") {
  const CommandResult result = run_command("RC_PARAMS='seed=7' " TALLY_CANARY " 'it isn*' 2>&1");
  REQUIRE(contains(rest_of_line(result.output, "replay: "), "RC_PARAMS=\"seed=7\""));
}

TEST_CASE("a program whose every case is skipped says why and exits with 77", "[support]") {
  const CommandResult result = canary("it cannot run here");
  REQUIRE(result.status == kSkipStatus);
  REQUIRE(contains(result.output, "skipped: it cannot run here: the canary says so"));
  REQUIRE(contains(result.output, "1 of 1 test cases skipped"));
}

TEST_CASE("a skip hides neither a failure nor a success", "[support]") {
  const int failed = canary("it cannot run here,an assertion fails").status;
  REQUIRE(failed != 0);
  REQUIRE(failed != kSkipStatus);
  REQUIRE(canary("it cannot run here,a property holds").status == 0);
}

}  // namespace tally::test
