// Goal: packets that carry data and flag are torn as MI300X may tear them, and no further.
// Method: litmus tests with all choices where there are few, else many random ones. `allows` means
// that the weak outcome was found, `forbids` that it was not.

#include "tests/kernels/litmus_table.h"

namespace tally::kernels::emulator::litmus {
namespace {

constexpr Order kPlain = Order::plain, kNontemporal = Order::nontemporal, kRelaxed = Order::relaxed;

bool is_new(const Outcome& o, int reg, int word) { return o.registers[reg][word] == 1; }

/// One packet of so many bytes, pushed into the reader's uncached memory, and read there.
Program packet(std::uint32_t bytes, Order order) {
  return {{{1, Allocation::uncached, bytes}},
          {{0, 0, {store(x, 1, order)}}, {1, 0, {load(0, x, order)}}}};
}
bool torn(const Outcome& o, int words) { return is_new(o, 0, words - 1) && !is_new(o, 0, 0); }

}  // namespace

TEST_CASE("a packet is torn beyond 8 bytes only", "[kernels]") {
  check({"35: LL, 8 bytes", Machine::forbids, Language::races, packet(8, kNontemporal),
         [](const Outcome& o) { return torn(o, 2) || (is_new(o, 0, 0) && !is_new(o, 0, 1)); }});
  for (const Order order : {kPlain, kNontemporal}) {
    check({"36: 16 bytes", Machine::allows, Language::races, packet(16, order),
           [](const Outcome& o) { return torn(o, 4); }});
    check({"36: 16 bytes, where those are one",
           Machine::forbids,
           Language::races,
           packet(16, order),
           [](const Outcome& o) { return torn(o, 4); },
           {.atomic_bytes = 16}});
  }
  check({"35: LL as relaxed atomics", Machine::forbids, Language::race_free, packet(8, kRelaxed),
         [](const Outcome& o) { return torn(o, 2); }});
}

TEST_CASE("the pieces of a packet of several lanes arrive in any order", "[kernels]") {
  for (const int lanes : {4, 8}) {
    Program line{{}, {{0, 0}, {1, 0}}};
    for (int lane = 0; lane < lanes; ++lane) {
      line.variables.push_back({1, Allocation::uncached, 16, lane > 0});
      line.threads[0].operations.push_back(store(lane, 1, kNontemporal));
    }
    line.threads[1].operations = {load(0, lanes - 1, kNontemporal), load(1, 0, kNontemporal)};
    check({lanes == 4 ? "37: 64 bytes" : "38: 128 bytes, LL128",
           Machine::allows,
           Language::races,
           line,
           [](const Outcome& o) { return is_new(o, 0, 3) && !is_new(o, 1, 0); },
           {.atomic_bytes = 16}});
  }
}

}  // namespace tally::kernels::emulator::litmus
