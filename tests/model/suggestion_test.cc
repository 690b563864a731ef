// Goal: a hint names the near miss, and lists everything where there is none.
// Method: words by hand, at the border of what counts as near.

#include "model/suggestion.h"

#include "tests/support/catch.h"

namespace tally::model {

TEST_CASE("one slip in a name is understood", "[model]") {
  const std::vector<std::string> known = {"flat", "tree", "ring"};
  for (const char* slip : {"flt", "fla", "flatt", "tlat", "flaat", "fl"}) {
    CAPTURE(slip);
    REQUIRE(suggestion(slip, known) == "did you mean 'flat'?");
  }
  REQUIRE(suggestion("rig", known) == "did you mean 'ring'?");
}

TEST_CASE("the nearest name wins, the first where two are as near", "[model]") {
  REQUIRE(suggestion("e5m2fnux", {"e5m2", "e5m2fnu", "e5m2fnuz"}) == "did you mean 'e5m2fnu'?");
  REQUIRE(suggestion("ab", {"abc", "abd"}) == "did you mean 'abc'?");
}

TEST_CASE("a name unlike all gets the list", "[model]") {
  REQUIRE(suggestion("butterfly", {"flat", "tree"}) == "one of: flat, tree");
  REQUIRE(suggestion("", {"flat", "tree"}) == "one of: flat, tree");
  REQUIRE(suggestion("x", {}) == "one of: ");
  // Three slips in four letters are too many, in nine they are not.
  REQUIRE(suggestion("fxyz", {"flat"}) == "one of: flat");
  REQUIRE(suggestion("butterxyz", {"butterfly"}) == "did you mean 'butterfly'?");
}

TEST_CASE("an endless name does no harm", "[model]") {
  REQUIRE(suggestion(std::string(1'000'000, 'x'), {"flat"}) == "one of: flat");
}

}  // namespace tally::model
