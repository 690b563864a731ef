// Goal: an element type is a number format or one that only moves, and never both.
// Method: every row of both tables by name, size and equality; the mistake stops the program.

#include "model/element_type.h"

#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::model {

TEST_CASE("every number format is an element type, by its name, size and value", "[model]") {
  for (const NumberFormat& row : kNumberFormats) {
    const ElementType element = row.id;
    REQUIRE_FALSE(element.moves_only());
    REQUIRE(element.name() == row.name);
    REQUIRE(element.bytes() == row.bytes());
    REQUIRE(element == row.id);
    const Format format = element;
    REQUIRE(format == row.id);
    REQUIRE(find_element_type(row.name) == element);
  }
}

TEST_CASE("int8, int32, int64 and f64 only move", "[model]") {
  for (const MovedType& row : kMovedTypes) {
    const ElementType element = row.id;
    REQUIRE(element.moves_only());
    REQUIRE(element.name() == row.name);
    REQUIRE(element.bytes() == row.bytes);
    REQUIRE(find_element_type(row.name) == element);
  }
  REQUIRE(ElementType(Moved::int8).bytes() == 1);
  REQUIRE(ElementType(Moved::int32).bytes() == 4);
  REQUIRE(ElementType(Moved::int64).bytes() == 8);
  REQUIRE(ElementType(Moved::f64).bytes() == 8);
}

TEST_CASE("a type equals itself only, also where the other table has the same row", "[model]") {
  REQUIRE(ElementType(Moved::int8) != ElementType(Format::f32));
  REQUIRE(ElementType(Moved::int8) != Format::f32);
  REQUIRE(Format::f32 != ElementType(Moved::int8));
  REQUIRE(ElementType(Moved::int8) != Moved::int32);
  REQUIRE(ElementType(Moved::int8) == Moved::int8);
  REQUIRE(ElementType(Format::f16) != Format::bf16);
}

TEST_CASE("there is no type of another name", "[model]") {
  for (const char* name : {"", "int16", "double", "F64", "int8 "}) {
    CAPTURE(name);
    REQUIRE(!find_element_type(name));
  }
}

TEST_CASE("an int8 as a format", "[.]") { (void)ElementType(Moved::int8).format(); }
TEST_CASE("an f64 converted to a format", "[.]") {
  const Format format = ElementType(Moved::f64);
  REQUIRE(format == Format::f32);
}

TEST_CASE("a type that only moves has no format: to ask stops the program", "[model]") {
  REQUIRE(test::aborts("an int8 as a format", "a type that only moves has no number format"));
  REQUIRE(
      test::aborts("an f64 converted to a format", "a type that only moves has no number format"));
}

}  // namespace tally::model
