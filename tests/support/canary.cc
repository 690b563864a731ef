// Goal: something that is known to fail, so that canary_test can see failure reported.
// Method: canary_test runs one case at a time. CTest never runs this program by itself.

#include "tests/support/catch.h"
#include "tests/support/property.h"
#include "tests/support/skip.h"

namespace test = tally::test;

TEST_CASE("an assertion fails", "[canary]") { REQUIRE(1 + 1 == 3); }

TEST_CASE("it isn't so, \"commas\" and [brackets] included", "[canary]") {
  test::property("every number is below 500",
                 [] { RC_ASSERT(*rc::gen::inRange(0, 1000).as("number") < 500); });
  test::property("no case meets the precondition", [] { RC_PRE(false); });
}

TEST_CASE("a property holds", "[canary]") {
  test::property("every number is below 1000",
                 [] { RC_ASSERT(*rc::gen::inRange(0, 1000) < 1000); });
}

TEST_CASE("it cannot run here", "[canary]") { return test::skip_case("the canary says so"); }
