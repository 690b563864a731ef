// Goal: a Result holds a value or an error, and taking the other one stops the program, as every
// failed TALLY_CHECK does.
// Method: run the hidden test cases below in a child process and read how it ended.

#include "model/result.h"

#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::model {
namespace {

Result<std::string> shout(const std::string& text) {
  if (text.empty()) return Error{"argument 1", "nothing to shout", "give a word"};
  return text + "!";
}

}  // namespace

TEST_CASE("a result with a value gives the value", "[model]") {
  Result<std::string> result = shout("hey");
  REQUIRE(bool(result));
  REQUIRE(*result == "hey!");
  REQUIRE(result->size() == 4);
  *result += "!";
  REQUIRE(*result == "hey!!");
}

TEST_CASE("a result with an error gives the error", "[model]") {
  const Result<std::string> result = shout("");
  REQUIRE(!result);
  REQUIRE(result.error().where == "argument 1");
  REQUIRE(result.error().what == "nothing to shout");
  REQUIRE(result.error().hint == "give a word");
}

TEST_CASE("the value of an error", "[.]") { std::puts((*shout("")).c_str()); }
TEST_CASE("the error of a value", "[.]") { std::puts(shout("hey").error().what.c_str()); }
TEST_CASE("a check that fails", "[.]") { TALLY_CHECK(1 + 1 == 3, "arithmetic is broken"); }
TEST_CASE("a check that holds", "[.]") { TALLY_CHECK(1 + 1 == 2, "arithmetic is broken"); }

TEST_CASE("taking what a result does not hold stops the program", "[model]") {
  REQUIRE(test::aborts("the value of an error", "value of a Result that holds an error"));
  REQUIRE(test::aborts("the error of a value", "error() of a Result that holds a value"));
}

TEST_CASE("a failed check names its file and stops the program, in every build", "[model]") {
  REQUIRE(test::aborts("a check that fails", "arithmetic is broken"));
  REQUIRE(!test::aborts("a check that holds", "arithmetic is broken"));
  REQUIRE(!test::aborts("a check that fails", "something else"));
  const test::CommandResult result =
      test::run_command(std::string(program_invocation_name) + " 'a check that fails' 2>&1");
  CAPTURE(result.output);
  REQUIRE(result.output.find("result_test.cc:") != std::string::npos);
}

}  // namespace tally::model
