#pragma once

// Finds accesses that nothing orders, whatever values they gave: happens-before by vector clocks,
// as LLVM's User Guide for AMDGPU Backend (Memory Model) and LLVM's LangRef have it. Scopes decide
// which releases and acquires meet; what is ordered is then ordered for everybody.

#include <memory>
#include <string>
#include <vector>

#include "kernels/emulator/memory_model.h"

namespace tally::kernels::emulator {

/// One of two accesses of a race, as it was made.
struct RacingAccess {
  ThreadId thread;
  AccessKind kind;
  Order order;
  Scope scope;
  std::uint32_t bytes;
  std::source_location site;
};

struct Race {
  enum class Kind : std::uint8_t {
    unordered,   // conflicting, not both atomic
    scope,       // both atomic, but at least one's scope leaves the other's thread out
    mixed_size,  // both atomic, of different sizes or places
  };
  Kind kind;
  RacingAccess first, second;  // in the order of this run
  const void* address;         // the first byte of both
};

/// "rank 0 block 0 thread 3 stores 16 bytes (plain) at kernels/movement.h:187"
std::string describe(const RacingAccess& access);
/// "race on scratch of rank 1, byte 16: rank 0 block 0 thread 3 stores 16 bytes (plain) at
/// kernels/movement.h:187; rank 1 block 0 thread 3 loads ... "
std::string describe(const Race& race, const Memory& memory);

/// A plain read that is ordered behind the only newest write and did not see it: a gap between the
/// language and the machine. No correct memory model allows it.
struct StaleRead {
  RacingAccess read;
  const void* address;
};

/// A clock: how far each slot had come.
using Clock = std::vector<std::uint32_t>;

class HappensBefore {
 public:
  explicit HappensBefore(const Memory& memory);
  ~HappensBefore();

  /// From now on there are so many slots.
  void resize(int slots);

  /// A load that was performed and gave `value`. It reads from the last store performed there.
  void load(const Place& who, const Access& access, const void* value);
  /// A store that is issued. What an atomic publishes can be acquired from performed(token) on; the
  /// token is 0 where that changes nothing.
  StoreToken store(const Place& who, const Access& access, const void* value);
  /// An update that is performed at once: it continues the release sequence that it finds.
  void update(const Place& who, const Access& access, std::uint64_t after);
  void performed(StoreToken token);
  void fence(const Place& who, Order order, Scope scope);
  /// All of them arrived, and go on.
  void block_barrier(std::span<const int> slots);

  /// What a stream, an event or the host knows: joins of what was finished before. A thread makes
  /// accesses between the two.
  void kernel_begins(std::span<const Place> threads, const Clock& known);
  void kernel_ends(std::span<const Place> threads, Clock& known);
  static void join(Clock& into, const Clock& from);
  /// The host wrote what it liked, ordered behind all before and before all that follows.
  void host_wrote();

  /// At most the first ten, of different pairs of lines.
  const std::vector<Race>& races() const;
  const std::vector<StaleRead>& stale_reads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tally::kernels::emulator
