// Goal: rounds end when all have contributed, in order; who leaves or is late fails the room for
// all, by name.
// Method: a room with invented times; random orders of contributions against counting.

#include "kernels/comm/room.h"

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::comm {
namespace {

constexpr Milliseconds kTimeout{1000};
Time at(int milliseconds) { return Time() + Milliseconds(milliseconds); }

std::string what(const Room<int>& room) { return room.failure() ? room.failure()->what : ""; }

}  // namespace

TEST_CASE("a round ends when the last has contributed, and not before", "[kernels]") {
  Room<int> room("r", 3);
  REQUIRE_FALSE(room.take(0));
  for (int rank = 0; rank < 3; ++rank) {
    REQUIRE_FALSE(room.take(0));
    room.contribute(rank, 10 + rank, at(0), kTimeout);
  }
  for (int rank = 0; rank < 3; ++rank) {
    REQUIRE(room.take(rank) == std::vector{10, 11, 12});
    REQUIRE_FALSE(room.take(rank));
  }
}

TEST_CASE("whatever the order", "[kernels]") {
  test::property("every rank takes the rounds in order, with what each contributed to them", [] {
    const int size = *rc::gen::inRange(1, 6).as("ranks");
    const int rounds = *rc::gen::inRange(1, 5).as("rounds");
    Room<int> room("r", size);
    std::vector<int> given(size), taken(size);
    for (int step = 0; step < size * rounds; ++step) {
      const auto may = *rc::gen::suchThat(rc::gen::inRange(0, size),
                                          [&](int rank) { return given[rank] < rounds; });
      room.contribute(may, 100 * given[may]++ + may, at(0), kTimeout);
      for (int rank = *rc::gen::inRange(0, size); rank < size; ++rank) {
        while (const auto all = room.take(rank)) {
          for (int from = 0; from < size; ++from)
            RC_ASSERT((*all)[from] == 100 * taken[rank] + from);
          ++taken[rank];
        }
        RC_ASSERT(taken[rank] == *std::min_element(given.begin(), given.end()));
      }
    }
  });
}

TEST_CASE("who is late is named, after the timeout of the first to arrive", "[kernels]") {
  Room<int> room("r", 4);
  room.contribute(2, 0, at(100), Milliseconds(500));
  room.contribute(0, 0, at(550), kTimeout);
  REQUIRE(room.deadline() == at(600));
  room.expire(at(599));
  REQUIRE(what(room) == "");
  room.expire(at(600));
  REQUIRE(what(room) == "ranks 1 and 3 did not arrive within 500 ms");
}

TEST_CASE("a room expires in a later round too, and never while nobody waits", "[kernels]") {
  Room<int> room("r", 2);
  for (const int rank : {0, 1}) room.contribute(rank, 0, at(0), kTimeout);
  REQUIRE_FALSE(room.deadline());
  room.expire(at(1'000'000));
  REQUIRE(what(room) == "");
  room.contribute(1, 0, at(2000), kTimeout);
  room.expire(at(3000));
  REQUIRE(what(room) == "rank 0 did not arrive within 1 s");
  REQUIRE(room.take(0) == std::vector{0, 0});  // a round that had ended stays
}

TEST_CASE("who left is named when others begin a round, before or after", "[kernels]") {
  for (const bool before : {true, false}) {
    Room<int> room("r", 3);
    if (before) room.leave(1);
    REQUIRE(what(room) == "");
    room.contribute(0, 0, at(0), kTimeout);
    if (!before) room.leave(1);
    REQUIRE(what(room) == "rank 1 left");
  }
}

TEST_CASE("who leaves after contributing spoils only later rounds", "[kernels]") {
  Room<int> room("r", 2);
  room.contribute(0, 5, at(0), kTimeout);
  room.leave(0);
  room.contribute(1, 6, at(0), kTimeout);
  REQUIRE(what(room) == "");
  REQUIRE(room.take(1) == std::vector{5, 6});
  room.contribute(1, 7, at(0), kTimeout);
  REQUIRE(what(room) == "rank 0 left");
}

TEST_CASE("the first failure stays, and nothing ends after it", "[kernels]") {
  Room<int> room("r", 2);
  room.contribute(0, 0, at(0), kTimeout);
  room.expire(at(5000));
  room.leave(1);
  room.contribute(0, 0, at(0), kTimeout);
  REQUIRE(what(room) == "rank 1 did not arrive within 1 s");
  REQUIRE_FALSE(room.take(0));
  REQUIRE_FALSE(room.is_open());
}

}  // namespace tally::comm
