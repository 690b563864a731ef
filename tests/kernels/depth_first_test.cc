// Goal: a depth-first search makes every combination of choices once, and no other.
// Method: count the ways of made-up programs, whose later choices depend on earlier ones.

#include "kernels/emulator/depth_first.h"

#include <set>

#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

/// The orders in which so many threads run, each one once.
std::set<std::vector<int>> orders(int threads, std::int64_t& runs) {
  std::set<std::vector<int>> found;
  DepthFirst search;
  do {
    DepthFirst::Run choices(search);
    SlotSet runnable;
    runnable.resize(threads);
    for (int slot = 0; slot < threads; ++slot) runnable.insert(slot);
    const std::vector<Upcoming> upcoming(threads);
    std::vector<int> order;
    while (!runnable.empty()) {
      order.push_back(choices.thread({runnable, -1, upcoming}));
      runnable.erase(order.back());
    }
    found.insert(order);
  } while (search.advance());
  runs = search.runs();
  return found;
}

}  // namespace

TEST_CASE("every order of threads is run once", "[kernels]") {
  std::int64_t runs = 0;
  REQUIRE(orders(1, runs).size() == 1);
  REQUIRE(runs == 1);
  REQUIRE(orders(4, runs).size() == 24);
  REQUIRE(runs == 24);
}

TEST_CASE("choices may depend on earlier ones", "[kernels]") {
  std::vector<int> taken;
  DepthFirst search;
  do {
    DepthFirst::Run choices(search);
    const int first = choices.memory(3);
    taken.push_back(10 * first + (first > 0 ? choices.memory(first + 1) : 0));
  } while (search.advance());
  REQUIRE(taken == std::vector<int>{0, 10, 11, 20, 21, 22});
  REQUIRE(search.runs() == 6);
  REQUIRE(search.is_exhausted());
}

TEST_CASE("the first run is all usual, and each run says how it deviates", "[kernels]") {
  DepthFirst search;
  std::vector<std::string> texts;
  do {
    DepthFirst::Run choices(search);
    choices.memory(2);
    choices.memory(2);
    texts.push_back(text(choices.deviations()));
  } while (search.advance());
  REQUIRE(texts == std::vector<std::string>{"", "1:1", "0:1", "0:1,1:1"});
}

TEST_CASE("a search ends at its bound and says that more was left", "[kernels]") {
  DepthFirst search(5);
  do {
    DepthFirst::Run choices(search);
    for (int i = 0; i < 3; ++i) choices.memory(2);
  } while (search.advance());
  REQUIRE(search.runs() == 5);
  REQUIRE(!search.is_exhausted());
}

TEST_CASE("a program that is not the same again", "[.]") {
  DepthFirst search;
  int ways = 2;
  do {
    DepthFirst::Run choices(search);
    choices.memory(ways++);
  } while (search.advance());
}

TEST_CASE("a search of a program that is not the same again stops the program", "[kernels]") {
  REQUIRE(
      test::aborts("a program that is not the same again", "the same choices give the same run"));
}

}  // namespace tally::kernels::emulator
