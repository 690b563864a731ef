// Goal: what was measured on MI300X is what the model does: when a load of which kind sees a store
// at last, and when never. And every rule of the model shows.
// Method: a memory that does everything as late, and keeps every line as long, as it is allowed to.
// Tests T1 to T7 stand for those of github.com/MrRoy09/AMD-CDNA3-Cache-MicroBenchmarking on MI300X.

#include <cstring>
#include <map>

#include "kernels/emulator/gfx942_memory.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

constexpr Order kPlain = Order::plain, kNontemporal = Order::nontemporal, kRelaxed = Order::relaxed,
                kAcquire = Order::acquire, kRelease = Order::release;
const Gfx942 kCpx{.xcds = 1};

/// Late and old wherever there is a choice.
class Stubborn : public Choices {
  int choose_thread(const Candidates&, int usual) override { return usual; }
  int choose_memory(int, MemoryChoice kind) override {
    return kind == MemoryChoice::progress ? 0 : 1;
  }
};
class Willing : public Choices {
  int choose_thread(const Candidates&, int usual) override { return usual; }
  int choose_memory(int, MemoryChoice) override { return 0; }
};
struct Heard : MemoryListener {
  void performed(const void*, std::size_t, StoreToken token) override { ++times[token]; }
  std::map<StoreToken, int> times;
};

const Place kWriter{0, {0, 0, 0}, 0, 0};

/// Of GPU 0 a variable in `allocation`; the readers have read it before.
template <class Mood>
struct Measurement {
  explicit Measurement(int reading_rank, int reading_block,
                       Allocation allocation = Allocation::device, Gfx942 machine = {})
      : reader{1, {reading_rank, reading_block, 0}, 1, 1},
        variable(memory.allocate(0, "variable", 4, std::byte{0}, 0, allocation).first),
        model(gfx942_memory(memory, listener, choices, machine)) {
    model->kernel_begins(0, {&kWriter, 1});
    model->kernel_begins(reading_rank, {&reader, 1});
    load(kPlain);
  }
  void store(Order order, Scope scope = Scope::system) {
    const std::uint32_t one = 1;
    model->store(kWriter, {variable, 4, AccessKind::store, order, scope}, &one, 0);
    model->settle();
  }
  /// Whether the reader sees the store: if it does, now and at every later time.
  bool load(Order order, Scope scope = Scope::system) {
    std::uint32_t value;
    model->load(reader, {variable, 4, AccessKind::load, order, scope}, &value);
    return value == 1;
  }

  /// The reader's own store to the bytes beside the variable.
  void store_beside(Order order) {
    const std::uint32_t two = 2;
    model->store(reader, {variable + 4, 4, AccessKind::store, order, Scope::system}, &two, 0);
  }
  bool home_is_new() const {
    std::uint32_t value;
    std::memcpy(&value, variable, sizeof value);
    return value == 1;
  }

  Memory memory{2, 4096};
  Mood choices;
  Heard listener;
  Place reader;
  std::byte* variable;
  std::unique_ptr<MemoryModel> model;
};
using Stubbornly = Measurement<Stubborn>;

constexpr int kSameXcd = 8, kOtherXcd = 1;

}  // namespace

TEST_CASE("T1: a plain poll never sees a plain store", "[kernels]") {
  for (const int block : {kSameXcd, kOtherXcd}) {
    Stubbornly m(0, block);
    m.store(kPlain);
    CHECK(!m.load(kPlain));
    m.model->kernel_ends(0, {&kWriter, 1});
    CHECK(!m.load(kPlain));
  }
}

TEST_CASE("T2: a nontemporal load sees a plain store at once in the XCD, elsewhere at the end",
          "[kernels]") {
  Stubbornly near(0, kSameXcd), far(0, kOtherXcd);
  near.store(kPlain);
  CHECK(near.load(kNontemporal));
  far.store(kPlain);
  CHECK(!far.load(kNontemporal));
  far.model->kernel_ends(0, {&kWriter, 1});
  CHECK(far.load(kNontemporal));
}

TEST_CASE("T3, T4, T7: what was pushed is seen by nontemporal loads of all XCDs", "[kernels]") {
  for (const int block : {kSameXcd, kOtherXcd}) {
    Stubbornly wide(0, block), released(0, block), both(0, block);
    wide.store(kRelaxed, Scope::agent);
    CHECK(wide.load(kNontemporal));
    released.store(kPlain);
    released.model->fence(kWriter, kRelease, Scope::agent);
    CHECK(released.load(kNontemporal));
    both.store(kPlain);
    both.model->fence(kWriter, kRelease, Scope::agent);
    both.model->fence(both.reader, kAcquire, Scope::agent);
    CHECK(both.load(kPlain));
  }
}

TEST_CASE("T5, T6: a load past the L2 and an invalidation do not see another L2's dirty line",
          "[kernels]") {
  Stubbornly past(0, kOtherXcd), invalidated(0, kOtherXcd);
  past.store(kPlain);
  CHECK(!past.load(kRelaxed, Scope::agent));
  CHECK(!past.load(kRelaxed, Scope::system));
  invalidated.store(kPlain);
  invalidated.model->fence(kWriter, kAcquire, Scope::agent);
  invalidated.model->fence(invalidated.reader, kAcquire, Scope::agent);
  CHECK(!invalidated.load(kNontemporal));
}

TEST_CASE("the most willing memory hides every missing order", "[kernels]") {
  for (const int rank : {0, 1}) {
    Measurement<Willing> m(rank, kOtherXcd);
    m.store(kPlain);
    CHECK(m.load(kPlain));
  }
}

TEST_CASE("an update finds what another workgroup's store left in their common L2", "[kernels]") {
  Measurement<Willing> m(0, kOtherXcd, Allocation::device, kCpx);
  const std::uint32_t one = 1;
  m.model->store(kWriter, {m.variable, 4, AccessKind::store}, &one, 0);
  const Access add{m.variable, 4, AccessKind::update, kRelaxed, Scope::agent};
  CHECK(m.model->update(m.reader, add, [](std::uint64_t old) { return old + 1; }) == 1);
}

TEST_CASE("a workgroup's L1 does not keep what the workgroup updates", "[kernels]") {
  Stubbornly m(0, kOtherXcd);
  const Access add{m.variable, 4, AccessKind::update, kRelaxed, Scope::wavefront};
  m.model->update(m.reader, add, [](std::uint64_t old) { return old + 1; });
  CHECK(m.load(kPlain));
}

TEST_CASE("whether polling sees what was pushed depends on the allocation and the owner",
          "[kernels]") {
  struct Kind {
    Allocation allocation;
    int reader;
    bool nontemporal_sees;
  };
  // A peer's memory is NC unless it was allocated uncached: its L2 keeps the old line, as in
  // torchcomms issue 3326.
  constexpr Kind kKinds[] = {
      {Allocation::device, 0, true},       {Allocation::device, 1, false},
      {Allocation::fine_grained, 0, true}, {Allocation::fine_grained, 1, false},
      {Allocation::uncached, 0, true},     {Allocation::uncached, 1, true},
      {Allocation::host, 0, true},         {Allocation::host, 1, true}};
  for (const Kind& kind : kKinds) {
    for (const Gfx942& machine : {Gfx942{}, kCpx}) {
      INFO("allocation " << int(kind.allocation) << " read by rank " << kind.reader << " with "
                         << machine.xcds << " XCDs");
      Stubbornly m(kind.reader, kOtherXcd, kind.allocation, machine);
      m.store(kRelaxed, Scope::system);
      CHECK(!m.load(kPlain));
      CHECK(m.load(kNontemporal) == kind.nontemporal_sees);
      CHECK(m.load(kRelaxed, Scope::system));
    }
  }
}

TEST_CASE("in CPX an agent-scope load of a peer's memory may be old for ever", "[kernels]") {
  Stubbornly spx(1, 0), cpx(1, 0, Allocation::device, kCpx);
  spx.store(kRelaxed);
  CHECK(spx.load(kRelaxed, Scope::agent));
  cpx.store(kRelaxed);
  CHECK(!cpx.load(kAcquire, Scope::agent));
  CHECK(!cpx.load(kAcquire, Scope::agent));
  CHECK(cpx.load(kAcquire, Scope::system));
}

TEST_CASE("a kernel's end may leave what it cached of a peer's memory", "[kernels]") {
  for (const bool reaches : {true, false}) {
    Gfx942 machine;
    machine.kernel_end_reaches_peers = reaches;
    Stubbornly m(1, 0, Allocation::device, machine);
    const Place peer{0, {1, 1, 0}, 2, 2};  // of rank 1, which does not own the variable
    const std::uint32_t one = 1;
    m.model->store(peer, {m.variable, 4, AccessKind::store}, &one, 0);
    m.model->kernel_ends(1, {&peer, 1});
    CHECK(m.load(kRelaxed) == reaches);
    m.model->synchronise(1);
    CHECK(m.load(kRelaxed));
  }
}

TEST_CASE("stores to memory of the kinds CC and UC stay in no L2", "[kernels]") {
  for (const Allocation allocation : {Allocation::uncached, Allocation::host}) {
    Stubbornly m(0, kOtherXcd, allocation);
    m.store(kPlain);
    CHECK(m.home_is_new());
    CHECK(m.load(kNontemporal));
  }
  Stubbornly m(1, 0, Allocation::uncached);
  const std::uint32_t one = 1;
  m.model->store(m.reader, {m.variable, 4, AccessKind::store}, &one, 0);
  CHECK(!m.home_is_new());
  m.model->settle();
  CHECK(m.home_is_new());
}

TEST_CASE("a load past the L2 renews the whole line there", "[kernels]") {
  Stubbornly m(1, 0);
  m.store(kRelaxed);
  CHECK(!m.load(kNontemporal));
  std::uint32_t beside;
  m.model->load(m.reader, {m.variable + 64, 4, AccessKind::load, kRelaxed, Scope::system}, &beside);
  CHECK(m.load(kNontemporal));
}

TEST_CASE("a peer's line is filled around what the L2 wrote, and is old from then on",
          "[kernels]") {
  Stubbornly m(1, 0);
  m.model->synchronise(1);  // it forgets the line
  m.store_beside(kPlain);
  m.model->settle();
  CHECK(!m.load(kNontemporal));
  m.store(kRelaxed);
  CHECK(!m.load(kNontemporal));
}

TEST_CASE("a new kernel does not see what its L1 had, and after an event not what its L2 had",
          "[kernels]") {
  const Gfx942 l1_only{.kernel_begin_reaches_l2 = false};
  Stubbornly own(0, kOtherXcd), peer(1, 0, Allocation::device, l1_only), host(0, kOtherXcd);
  own.store(kRelaxed);
  CHECK(!own.load(kPlain));
  own.model->kernel_begins(0, {&own.reader, 1});
  CHECK(own.load(kPlain));
  peer.store(kRelaxed);
  peer.model->kernel_begins(1, {&peer.reader, 1});
  CHECK(!peer.load(kPlain));
  peer.model->synchronise(0);
  CHECK(!peer.load(kNontemporal));
  peer.model->synchronise(1);
  CHECK(peer.load(kNontemporal));
  host.store(kRelaxed);
  host.model->synchronise(0);
  CHECK(host.load(kPlain));
}

TEST_CASE("a new kernel does not see what its L2 had of a peer, where it drops that", "[kernels]") {
  Stubbornly spx(1, 0), cpx(1, 0, Allocation::device, {.xcds = 1});
  for (Stubbornly* m : {&spx, &cpx}) {
    m->store(kRelaxed);
    CHECK(!m->load(kPlain));
    m->model->kernel_begins(1, {&m->reader, 1});
  }
  CHECK(spx.load(kPlain));
  CHECK(!cpx.load(kPlain));
}

TEST_CASE("a load in flight is bound by the end of its kernel at the latest", "[kernels]") {
  Stubbornly ended(0, kOtherXcd), late(0, kOtherXcd);
  for (Stubbornly* m : {&ended, &late}) {
    const Access access{m->variable, 4, AccessKind::load, kRelaxed, Scope::system};
    const LoadTicket ticket = m->model->issue_load(m->reader, access);
    if (m == &ended) m->model->kernel_ends(0, {&m->reader, 1});
    m->store(kRelaxed);
    std::uint32_t value;
    m->model->bind(ticket, &value);
    CHECK(value == (m == &ended ? 0u : 1u));
  }
}

TEST_CASE("a store that passes another's is not late itself", "[kernels]") {
  Stubbornly m(0, kOtherXcd);
  m.store(kPlain);  // dirty in its L2
  const std::uint32_t three = 3;
  m.model->store(m.reader, {m.variable, 4, AccessKind::store}, &three, 0);
  m.model->fence(kWriter, kRelease, Scope::system);
  m.model->fence(m.reader, kRelease, Scope::system);
  CHECK(m.home_is_new());
}

TEST_CASE("who listens hears of each store once, and of bytes that are written back", "[kernels]") {
  Stubbornly m(1, 0, Allocation::device);
  const std::uint64_t packet[2] = {1, 2};
  m.model->store(kWriter, {m.variable, 16, AccessKind::store}, packet, 7);
  CHECK(m.listener.times.empty());
  m.model->settle();
  CHECK(m.listener.times[7] == 1);
  const int pieces = m.listener.times[0];
  CHECK(pieces == 1);  // the other half
  m.model->fence(kWriter, kRelease, Scope::system);
  CHECK(m.listener.times[7] == 1);
  CHECK(m.listener.times[0] == pieces + 1);
}

TEST_CASE("nothing is chosen where it makes no difference", "[kernels]") {
  Stubbornly m(1, 0);
  for (int i = 0; i < 100; ++i) {
    m.store_beside(kPlain);
    m.load(kPlain);
    m.model->breathe();
    if (i % 10 == 0) m.model->fence(m.reader, Order::acq_rel, Scope::system);
  }
  CHECK(m.choices.made() == 0);
}

}  // namespace tally::kernels::emulator
