// Goal: a race is said once, in words that lead to its lines; and a read of something old that no
// race excuses is noticed.
// Method: small programs with known races, and loads that are given an old value.

#include "kernels/emulator/mutation.h"
#include "tests/kernels/order_program.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

using enum Order;
using Kinds = std::vector<Race::Kind>;

const Kinds kNone;
const Kinds kUnordered = {Race::Kind::unordered};

}  // namespace

TEST_CASE("a race is reported once for two lines, and ten at most", "[kernels]") {
  OrderProgram p;
  for (int i = 0; i < 3; ++i) {
    p.thread(0).store(p.data + 16 * i, 16);
    p.thread(1).load(p.data + 16 * i, 16);
  }
  REQUIRE(p.kinds() == kUnordered);
  const auto here = [] { return std::source_location::current(); };
  const auto there = [] { return std::source_location::current(); };
  auto &a = p.thread(0), &b = p.thread(1);
  for (const auto& [x, y] : {std::pair{here(), there()}, {there(), here()}}) {
    a.store(p.data + 64, 16, plain, Scope::system, x);
    b.store(p.data + 64, 16, plain, Scope::system, y);
  }
  REQUIRE(p.order.races().size() == 3);  // one line with the other, and one with itself
  // clang-format off
  a.store(p.flags, 1); b.load(p.flags, 1); b.load(p.flags, 1); b.load(p.flags, 1);
  b.load(p.flags, 1); b.load(p.flags, 1); b.load(p.flags, 1); b.load(p.flags, 1);
  b.load(p.flags, 1); b.load(p.flags, 1); b.load(p.flags, 1); b.load(p.flags, 1);
  // clang-format on
  REQUIRE(p.order.races().size() == 10);
}

TEST_CASE("a race is a sentence", "[kernels]") {
  OrderProgram p;
  p.thread(0, 1, 3).store(p.flags + 16, 16);
  const int line = __LINE__ - 1;
  p.thread(1).load(p.flags + 24, 1, acquire, Scope::agent);
  const auto at = [&](int behind) {
    return project_path(__FILE__) + ":" + std::to_string(line + behind);
  };
  REQUIRE(describe(p.order.races().at(0), p.memory) ==
          "race on flags of rank 1, byte 24: rank 0 block 1 thread 3 stores 16 bytes (plain) at " +
              at(0) + "; rank 1 block 0 thread 0 loads 1 byte (acquire, agent) at " + at(2) +
              "; nothing orders them");
  p.thread(0).update(p.flags + 24, 1, relaxed, Scope::agent);
  REQUIRE(describe(p.order.races().at(1), p.memory).ends_with("leaves the other's thread out"));
}

TEST_CASE("an ordered read of something old is stale", "[kernels]") {
  const std::uint64_t old[2] = {};
  for (const Order flag : {acquire, relaxed}) {
    OrderProgram p;
    p.thread(0).store(p.data, 16);
    p.thread(0).store(p.flags, 4, release);
    p.thread(1).load(p.flags, 4, flag);
    p.thread(1).load_value(p.data + 8, 8, old);
    const bool is_ordered = flag == acquire;  // else it may see what it likes
    REQUIRE(p.order.stale_reads().size() == (is_ordered ? 1 : 0));
    REQUIRE(p.order.races().size() == (is_ordered ? 0 : 1));
    if (is_ordered) REQUIRE(p.order.stale_reads()[0].address == p.data + 8);
  }
}

TEST_CASE("what nobody stored is what memory held, or what the host wrote since", "[kernels]") {
  for (const bool is_told : {true, false}) {
    OrderProgram p;
    p.thread(0).load(p.data, 16);
    std::memset(p.data, 7, 16);
    if (is_told) p.order.host_wrote();
    p.thread(1).load(p.data, 16);
    REQUIRE(p.order.stale_reads().size() == (is_told ? 0 : 1));
  }
}

TEST_CASE("of two stores that no one ordered, a read behind both may see either", "[kernels]") {
  OrderProgram p;
  const std::uint32_t first = 1;
  for (int rank = 0; rank < 2; ++rank) {
    p.thread(rank).store(p.data, 4, relaxed);
    p.thread(rank).store(p.flags + 4 * rank, 4, release);
    p.thread(0, 1).load(p.flags + 4 * rank, 4, acquire);
  }
  p.thread(0, 1).load_value(p.data, 4, &first);
  REQUIRE(p.order.stale_reads().empty());
  p.thread(0, 1).store(p.data, 4);
  p.thread(0, 1).load_value(p.data, 4, &first);
  REQUIRE(p.order.stale_reads().size() == 1);
  REQUIRE(p.kinds() == kNone);
}

}  // namespace tally::kernels::emulator
