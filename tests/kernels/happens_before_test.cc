// Goal: an access is accused exactly when the language leaves it unordered with a conflicting one.
// Method: the litmus programs about races, each with the counterpart that differs in what is
// missing; message passing in all its orders, scopes and fences. Steps run in the written order,
// which is the one in which the values come out right.

#include <optional>

#include "tests/kernels/order_program.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

using enum Order;
using Kind = Race::Kind;
using Kinds = std::vector<Kind>;

const Kinds kNone;
const Kinds kUnordered = {Kind::unordered};
constexpr Scope kScopes[] = {Scope::wavefront, Scope::workgroup, Scope::agent, Scope::system};

/// A message: data, and a flag that says it is there.
struct Message {
  Order stored = relaxed, loaded = relaxed;
  Scope stored_to = Scope::system, loaded_from = Scope::system;
  std::optional<Scope> release_fence = std::nullopt, acquire_fence = std::nullopt;
};

Kinds pass(const Message& m, int rank, int block, int thread) {
  OrderProgram p;
  auto &writer = p.thread(0), &reader = p.thread(rank, block, thread);
  writer.store(p.data, 16);
  if (m.release_fence) writer.fence(release, *m.release_fence);
  writer.store(p.flags, 4, m.stored, m.stored_to);
  reader.load(p.flags, 4, m.loaded, m.loaded_from);
  if (m.acquire_fence) reader.fence(acquire, *m.acquire_fence);
  reader.load(p.data, 16);
  return p.kinds();
}
Kinds pass_to_peer(const Message& m) { return pass(m, 1, 0, 0); }

/// What `order` and `fence` are enough for, toward a thread that far apart.
bool orders(Order order, std::optional<Scope> fence, Scope apart) {
  return order == release || order == acquire || order == acq_rel || order == seq_cst ||
         (fence && *fence >= apart);
}

struct Reader {
  int rank, block, thread;
  Scope apart;
};
constexpr Reader kReaders[] = {{0, 0, 1, Scope::wavefront},
                               {0, 0, 2, Scope::workgroup},
                               {0, 1, 0, Scope::agent},
                               {1, 0, 0, Scope::system}};

/// Calls check(message, reader) for every way to pass a message with these orders.
template <class Check>
void for_every_message(Order stored, Order loaded, Check&& check) {
  std::vector<std::optional<Scope>> fences = {std::nullopt};
  fences.insert(fences.end(), std::begin(kScopes), std::end(kScopes));
  for (const Reader& reader : kReaders) {
    for (const Scope to : kScopes) {
      for (const Scope from : kScopes) {
        for (const auto& before : fences) {
          for (const auto& after : fences) {
            check(Message{stored, loaded, to, from, before, after}, reader);
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("a message arrives just when release and acquire, or fences, reach both threads",
          "[kernels]") {
  int wrong = 0, arrived = 0;
  for (const Order stored : {relaxed, release, seq_cst}) {
    for (const Order loaded : {relaxed, acquire, seq_cst}) {
      for_every_message(stored, loaded, [&](const Message& m, const Reader& reader) {
        const bool is_flag = m.stored_to >= reader.apart && m.loaded_from >= reader.apart;
        const bool is_message = is_flag && orders(stored, m.release_fence, reader.apart) &&
                                orders(loaded, m.acquire_fence, reader.apart);
        Kinds expected;
        if (!is_flag) expected.push_back(Kind::scope);
        if (!is_message) expected.push_back(Kind::unordered);
        wrong += pass(m, reader.rank, reader.block, reader.thread) != expected;
        arrived += is_message;
      });
    }
  }
  REQUIRE(wrong == 0);
  REQUIRE(arrived == 5354);  // n² (n + 10)², for the n = 1..4 scopes that are wide enough
}

TEST_CASE("a plain or nontemporal flag is a race itself", "[kernels]") {
  for (const Order order : {plain, nontemporal}) {
    const Kinds both = {Kind::unordered, Kind::unordered};
    REQUIRE(pass_to_peer({.stored = order, .loaded = acquire}) == both);
    REQUIRE(pass_to_peer({.stored = release, .loaded = order}) == both);
  }
}

TEST_CASE("an acquire is ordered behind what it acquires", "[kernels]") {
  for (const Order order : {acquire, relaxed}) {
    OrderProgram p;
    p.thread(0).store(p.flags, 4);  // as who resets flags does
    p.thread(0).store(p.flags, 4, release);
    p.thread(1).load(p.flags, 4, order);
    REQUIRE(p.kinds() == (order == acquire ? kNone : kUnordered));
  }
}

TEST_CASE("updates continue a release sequence, stores end it", "[kernels]") {
  const auto verdict = [](auto between) {
    OrderProgram p;
    p.thread(0).store(p.data, 16);
    p.thread(0).store(p.flags, 4, release);
    between(p);
    p.thread(1).load(p.flags, 4, acquire);
    p.thread(1).load(p.data, 16);
    return p.kinds();
  };
  using P = OrderProgram;
  REQUIRE(verdict([](P& p) { p.thread(0, 1).update(p.flags, 4, relaxed); }) == kNone);
  REQUIRE(verdict([](P& p) { p.thread(1, 1).update(p.flags, 4, release); }) == kNone);
  // The update reads from a store that is not meant for it.
  const auto narrow = [](P& p) { p.thread(1, 1).update(p.flags, 4, relaxed, Scope::agent); };
  REQUIRE(verdict(narrow) == Kinds{Kind::scope, Kind::unordered});
  REQUIRE(verdict([](P& p) { p.thread(0).store(p.flags, 4, relaxed); }) == kUnordered);
  REQUIRE(verdict([](P& p) { p.thread(0, 1).store(p.flags, 4, release); }) == kUnordered);
  REQUIRE(verdict([](P& p) { p.thread(0).store(p.flags, 4); }) ==
          Kinds{Kind::unordered, Kind::unordered});
}

TEST_CASE("an update acquires what it reads, and publishes for those behind", "[kernels]") {
  const auto verdict = [](Order first, Order second) {
    OrderProgram p;
    p.thread(0).store(p.data, 16);
    p.thread(0).update(p.flags, 8, first);
    p.thread(0, 1).update(p.flags, 8, second);
    p.thread(0, 1).store(p.data, 16);
    return p.kinds();
  };
  REQUIRE(verdict(release, acquire) == kNone);
  REQUIRE(verdict(acq_rel, acq_rel) == kNone);
  REQUIRE(verdict(release, relaxed) == kUnordered);
  REQUIRE(verdict(relaxed, acquire) == kUnordered);
}

TEST_CASE("nothing is acquired from a store that is under way", "[kernels]") {
  for (const bool is_performed : {true, false}) {
    OrderProgram p;
    p.thread(0).store(p.data, 16);
    const StoreToken token = p.thread(0).issue(p.flags, 4, release);
    REQUIRE(token != 0);
    if (is_performed) p.order.performed(token);
    p.thread(1).load(p.flags, 4, acquire);
    p.thread(1).load(p.data, 16);
    REQUIRE(p.kinds() == (is_performed ? kNone : kUnordered));
  }
}

TEST_CASE("a store publishes what was before it, not what was before it was performed",
          "[kernels]") {
  OrderProgram p;
  const StoreToken token = p.thread(0).issue(p.flags, 4, release);
  p.thread(0).store(p.data, 16);
  p.order.performed(token);
  p.thread(1).load(p.flags, 4, acquire);
  p.thread(1).load(p.data, 16);
  REQUIRE(p.kinds() == kUnordered);
}

TEST_CASE("a chain of narrow and wide scopes orders its ends", "[kernels]") {
  const auto verdict = [](Order second, Scope to_mate, Scope to_peer) {
    OrderProgram p;
    auto &first = p.thread(0), &mate = p.thread(0, 0, 2), &peer = p.thread(1);
    first.store(p.data, 16);
    first.store(p.flags, 4, release, to_mate);
    mate.load(p.flags, 4, second, to_mate);
    mate.store(p.flags + 4, 4, release, to_peer);
    peer.load(p.flags + 4, 4, acquire);
    peer.load(p.data, 16);
    return p.kinds();
  };
  REQUIRE(verdict(acquire, Scope::workgroup, Scope::system) == kNone);
  REQUIRE(verdict(relaxed, Scope::workgroup, Scope::system) == kUnordered);
  REQUIRE(verdict(acquire, Scope::wavefront, Scope::system) == Kinds{Kind::scope, Kind::unordered});
  REQUIRE(verdict(acquire, Scope::workgroup, Scope::agent) == Kinds{Kind::scope, Kind::unordered});
}

TEST_CASE("the middle of a chain has to acquire and to release", "[kernels]") {
  const auto verdict = [](Order acquired, Order released) {
    OrderProgram p;
    p.thread(0).store(p.data, 16);
    p.thread(0).store(p.flags, 4, release);
    p.thread(0, 1).load(p.flags, 4, acquired);
    p.thread(0, 1).store(p.flags + 64, 4, released);
    p.thread(1).load(p.flags + 64, 4, acquire);
    p.thread(1).load(p.data, 16);
    return p.kinds();
  };
  REQUIRE(verdict(acquire, release) == kNone);
  REQUIRE(verdict(relaxed, release) == kUnordered);
  REQUIRE(verdict(acquire, relaxed) == kUnordered);
}

TEST_CASE("a buffer may be overwritten when its reader has released it", "[kernels]") {
  const auto verdict = [](Order order) {
    OrderProgram p;
    p.thread(1).load(p.data, 16);
    p.thread(1).store(p.flags, 4, order);
    p.thread(0).load(p.flags, 4, acquire);
    p.thread(0).store(p.data, 16);
    return p.kinds();
  };
  REQUIRE(verdict(release) == kNone);
  REQUIRE(verdict(relaxed) == kUnordered);
}

TEST_CASE("every reader of a buffer has to have released it", "[kernels]") {
  for (int forgotten = 0; forgotten <= 3; ++forgotten) {
    OrderProgram p;
    for (int i = 0; i < 3; ++i) {
      auto& reader = p.thread(1, 0, i);
      reader.load(p.data, 16);
      reader.store(p.flags + 4 * i, 4, release);
      if (i != forgotten) p.thread(0).load(p.flags + 4 * i, 4, acquire);
    }
    p.thread(0).store(p.data, 16);
    REQUIRE(p.kinds() == (forgotten < 3 ? kUnordered : kNone));
  }
}

TEST_CASE("a block barrier orders its block's threads, and carries what one of them publishes",
          "[kernels]") {
  const auto verdict = [](bool has_barrier, Order flag, bool reads_there) {
    OrderProgram p;
    p.thread(0, 0, 3).store(p.data, 16);
    if (has_barrier) p.barrier(0);
    p.thread(0, 0, 1).store(p.flags, 4, flag);
    p.thread(1, 0, 2).load(p.flags, 4, acquire);
    if (has_barrier) p.barrier(1);
    (reads_there ? p.thread(1, 0, 0) : p.thread(0)).load(p.data, 16);
    return p.kinds();
  };
  REQUIRE(verdict(true, release, false) == kNone);
  REQUIRE(verdict(false, release, false) == kUnordered);
  REQUIRE(verdict(true, release, true) == kNone);
  REQUIRE(verdict(false, release, true) == kUnordered);
  REQUIRE(verdict(true, relaxed, true) == kUnordered);
}

TEST_CASE("a fence before a block barrier publishes its own thread's accesses only", "[kernels]") {
  for (const int storer : {0, 1}) {
    OrderProgram p;
    p.thread(0, 0, storer).store(p.data, 16);
    p.thread(0, 0, 0).fence(release);
    p.thread(0, 0, 1).fence(release);
    p.barrier(0);
    p.thread(0, 0, 0).store(p.flags, 4, relaxed);
    p.thread(1).load(p.flags, 4, acquire);
    p.thread(1).load(p.data, 16);
    REQUIRE(p.kinds() == (storer == 0 ? kNone : kUnordered));
  }
}

TEST_CASE("a block barrier is no barrier of another block", "[kernels]") {
  OrderProgram p;
  p.thread(0, 0).store(p.data, 16);
  p.barrier(0, 0);
  p.barrier(0, 1);
  p.thread(0, 1).load(p.data, 16);
  REQUIRE(p.kinds() == kUnordered);
}

TEST_CASE("a kernel begins behind what is known to have ended", "[kernels]") {
  for (const bool is_known : {true, false}) {
    OrderProgram p;
    Clock known;
    p.thread(0).store(p.data, 16);
    p.order.kernel_ends(p.places(0), known);
    p.thread(0).store(p.data + 64, 16);  // behind the end that is known
    p.order.kernel_begins(p.places(1), is_known ? known : Clock{});
    p.thread(1, 1).load(p.data, 16);
    REQUIRE(p.kinds() == (is_known ? kNone : kUnordered));
    p.thread(1, 1).load(p.data + 64, 16);
    REQUIRE(p.order.races().size() == (is_known ? 1 : 2));
  }
}

TEST_CASE("a fence of the kernel before says nothing about this one's stores", "[kernels]") {
  for (const bool is_same : {true, false}) {
    OrderProgram p;
    Clock known;
    p.thread(0).store(p.data, 16);
    p.thread(0).fence(release);
    p.order.kernel_ends(p.places(0), known);
    if (!is_same) p.order.kernel_begins(p.places(0), known);
    p.thread(0).store(p.flags, 4, relaxed);
    p.thread(1).load(p.flags, 4, acquire);
    p.thread(1).load(p.data, 16);
    REQUIRE(p.kinds() == (is_same ? kNone : kUnordered));
  }
}

TEST_CASE("packets of 8 bytes are no race, half of one is of another size", "[kernels]") {
  for (const std::uint32_t bytes : {8u, 4u}) {
    OrderProgram p;
    p.thread(0).store(p.flags + 8, 8, relaxed);
    p.thread(1).load(p.flags + 8, bytes, relaxed);
    p.thread(0).store(p.flags + 8, 8, relaxed);
    REQUIRE(p.kinds() == (bytes == 8 ? kNone : Kinds{Kind::mixed_size, Kind::mixed_size}));
    p.thread(1).load(p.flags + 8, bytes);
    REQUIRE(p.order.races().back().kind == Kind::unordered);
  }
}

TEST_CASE("a packet carries its own bytes and nothing else", "[kernels]") {
  OrderProgram p;
  p.thread(0).store(p.data, 16);
  p.thread(0).store(p.flags, 8, relaxed);
  p.thread(1).load(p.flags, 8, relaxed);
  p.thread(1).load(p.data, 16);
  REQUIRE(p.kinds() == kUnordered);
}

TEST_CASE("counters of too narrow a scope race", "[kernels]") {
  for (const Scope scope : kScopes) {
    OrderProgram p;
    p.thread(0, 0).update(p.flags, 4, relaxed, scope);
    p.thread(0, 1).update(p.flags, 4, relaxed, scope);
    REQUIRE(p.kinds() == (scope >= Scope::agent ? kNone : Kinds{Kind::scope}));
  }
}

TEST_CASE("all threads meet at counters that release and acquire", "[kernels]") {
  for (const Order order : {acq_rel, relaxed}) {
    OrderProgram p;
    for (int slot = 0; slot < OrderProgram::kSlots; ++slot) {
      p.slot(slot).store(p.data + 16 * slot, 16);
      p.slot(slot).update(p.flags, 4, order);
    }
    for (int slot = 0; slot < OrderProgram::kSlots; ++slot) {
      p.slot(slot).load(p.flags, 4, acquire);
      p.slot(slot).load(p.data + 16 * (OrderProgram::kSlots - 1 - slot), 16);
    }
    REQUIRE(p.kinds() == (order == acq_rel ? kNone : kUnordered));
  }
}

TEST_CASE("bytes side by side do not interfere, one byte in common does", "[kernels]") {
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    for (const std::uint32_t beside : {1u, 2u, 4u, 8u, 16u}) {
      for (const bool overlap : {false, true}) {
        CAPTURE(bytes, beside, overlap);
        OrderProgram p;
        std::byte* const common = p.data + 15 + bytes;
        p.thread(0, 0, 0).load(p.data + 16, 16);  // one cell to begin with
        p.barrier(0);
        p.thread(0, 0, 1).store(p.data + 16, bytes);
        p.thread(0, 0, 2).store(overlap ? common : common + 1, beside);
        REQUIRE(p.kinds() == (overlap ? kUnordered : kNone));
        if (overlap) REQUIRE(p.order.races()[0].address == common);
      }
    }
  }
}

TEST_CASE("slots may be added while others run", "[kernels]") {
  OrderProgram p;
  p.thread(0).store(p.data, 16);
  p.thread(0).store(p.flags, 4, release);
  constexpr int kMore = 5 * OrderProgram::kSlots;
  p.order.resize(kMore);
  OrderProgram::Thread late(p, Place{kMore - 1, {1, 7, 0}, 7, 70});
  p.order.kernel_begins({&late.place, 1}, {});
  late.load(p.flags, 4, acquire);
  late.load(p.data, 16);
  REQUIRE(p.kinds() == kNone);
  p.thread(0).load(p.data, 16);
  late.store(p.data, 16);
  REQUIRE(p.kinds() == kUnordered);
}

}  // namespace tally::kernels::emulator
