// Goal: equal ids are equal expressions, and the texts show order and rounding.
// Method: small expressions by hand.

#include "model/expression.h"

#include "tests/support/catch.h"

namespace tally::model {
namespace {

using Id = Expressions::Id;

/// Ranks 0..2 of element 5, added in the order given, from +0.
Id sum(Expressions& pool, std::initializer_list<int> ranks) {
  Id total = pool.zero();
  for (const int rank : ranks) total = pool.add(total, pool.input(rank, 5));
  return total;
}

}  // namespace

TEST_CASE("the same expression has the same id, another one another", "[model]") {
  Expressions pool;
  REQUIRE(sum(pool, {0, 1, 2}) == sum(pool, {0, 1, 2}));
  REQUIRE(sum(pool, {0, 1, 2}) != sum(pool, {0, 2, 1}));
  REQUIRE(sum(pool, {0, 1}) != sum(pool, {0, 1, 2}));
  REQUIRE(pool.input(1, 0) != pool.input(0, 1));
  REQUIRE(pool.input(0, 0) != pool.zero());
  REQUIRE(pool.add(pool.input(0, 0), pool.input(1, 0)) !=
          pool.add(pool.input(1, 0), pool.input(0, 0)));
  const Id x = sum(pool, {0});
  REQUIRE(pool.encode(x) != pool.round(x));
  REQUIRE(pool.decode(pool.encode(x)) != x);
}

TEST_CASE("rounding twice is rounding once, and elements are rounded already", "[model]") {
  Expressions pool;
  const Id x = sum(pool, {0, 1});
  REQUIRE(pool.round(x) != x);
  REQUIRE(pool.round(pool.round(x)) == pool.round(x));
  REQUIRE(pool.round(pool.input(3, 1)) == pool.input(3, 1));
  REQUIRE(pool.round(pool.zero()) == pool.zero());
  REQUIRE(pool.round(pool.premultiply(x)) == pool.premultiply(x));
  const Id decoded = pool.decode(pool.encode(x));
  REQUIRE(pool.round(decoded) != decoded);
}

TEST_CASE("the order shows which rank is added to what", "[model]") {
  Expressions pool;
  REQUIRE(pool.order(sum(pool, {0, 1, 2})) == "(2+(1+0))");
  REQUIRE(pool.order(sum(pool, {2, 0, 1})) == "(1+(0+2))");
  REQUIRE(pool.order(pool.zero()) == "");
  REQUIRE(pool.order(pool.round(pool.input(7, 3))) == "7");
  const Id quantised = pool.decode(pool.encode(sum(pool, {0, 1})));
  REQUIRE(pool.order(pool.add(quantised, pool.input(2, 5))) == "(2+q((1+0)))");
}

TEST_CASE("the text shows elements, start and every rounding", "[model]") {
  Expressions pool;
  Id x = pool.zero();
  for (const int rank : {0, 1}) x = pool.round(pool.add(x, pool.input(rank, 5)));
  REQUIRE(pool.text(x) == "r((1.5+r((0.5+z))))");
  REQUIRE(pool.text(pool.decode(pool.encode(pool.input(4, 0)))) == "d(q(4.0))");
  REQUIRE(pool.text(pool.premultiply(pool.input(0, 5))) == "f*(0.5)");
  for (const Op op : {Op::premul_sum, Op::avg_premul}) {
    REQUIRE(pool.combine(op, x, pool.input(2, 5)) == pool.add(x, pool.input(2, 5)));
  }
}

TEST_CASE("inputs are listed once for each occurrence", "[model]") {
  Expressions pool;
  const Id twice = pool.add(sum(pool, {0, 1}), pool.decode(pool.encode(pool.input(1, 5))));
  const std::vector<std::pair<int, std::int64_t>> expected{{0, 5}, {1, 5}, {1, 5}};
  REQUIRE(pool.inputs(twice) == expected);
  REQUIRE(pool.inputs(pool.zero()).empty());
  const Id multiplied = pool.premultiply(pool.input(1, 5));
  REQUIRE(pool.inputs(multiplied) == pool.inputs(pool.input(1, 5)));
  REQUIRE(pool.order(multiplied) == "1");
  REQUIRE(multiplied != pool.input(1, 5));
}

}  // namespace tally::model
