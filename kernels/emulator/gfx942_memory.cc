#include "kernels/emulator/gfx942_memory.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "kernels/emulator/store_queues.h"

// Where a rule comes from: [MM] is LLVM's User Guide for AMDGPU Backend, "Memory Model GFX942", and
// its table of code sequences; [ISA] the CDNA3 ISA's tables of scope bits of loads, stores,
// buffer_wbl2 and buffer_inv ("Memory Scopes and Temporal Hints").
//
// Nothing happens before somebody can see whether it has. A store that was asked for waits in its
// workgroup's queue, dirty bytes stay in an L2 and old lines in caches until an access looks at
// their bytes, and only then it is chosen whether they arrived before. So a run has few choices,
// and none where they make no difference, and yet every order in which the machine could have done
// them. Only a store that a wait may sleep on, which is one that is not plain, is chosen to be
// performed at once or later: whoever sleeps looks at nothing.

namespace tally::kernels::emulator {
namespace {

struct LoadUnderWay {
  LoadTicket ticket;
  Place who;
  Access access;
  Piece piece;
};

/// Agent and system scope: narrower ones need no instruction of their own, as all waves of a
/// workgroup share an L1 that keeps their order ([MM], not in tgsplit mode).
bool is_wide(Order order, Scope scope) { return is_atomic(order) && scope >= Scope::agent; }

class Gfx942Memory final : public MemoryModel {
 public:
  Gfx942Memory(Memory& memory, MemoryListener& listener, Choices& choices, const Gfx942& options)
      : listener_(listener),
        choices_(choices),
        options_(options),
        caches_(memory, listener, options.xcds),
        stores_(caches_, listener, choices) {}

  void load(const Place& who, const Access& access, void* value) override;
  void store(const Place& who, const Access& access, const void* value, StoreToken token) override;
  std::uint64_t update(const Place& who, const Access& access,
                       const std::function<std::uint64_t(std::uint64_t)>& change) override;
  void fence(const Place& who, Order order, Scope scope) override;
  LoadTicket issue_load(const Place& who, const Access& access) override;
  void bind(LoadTicket ticket, void* value) override;
  void kernel_begins(int rank, std::span<const Place> threads) override;
  void kernel_ends(int rank, std::span<const Place> threads) override;
  void synchronise(int rank) override;
  void breathe() override;
  bool settle() override;

 private:
  struct Loaded {
    std::byte value[16];
    std::uint32_t bytes;
  };

  // What the instructions of [MM]'s sequences do.
  void release(const Place& who, Scope scope);
  void acquire(const Place& who, Scope scope);
  void wait_for_wave(const Place& who);

  void read(const Place& who, const Access& access, const Piece& piece, std::byte* value);
  void read_l2(const Place& who, const Access& access, const Piece& piece, std::byte* value);
  void write(const Place& who, const Access& access, const Piece& piece, const std::byte* value,
             StoreToken token);

  /// Whether an atomic or a buffer instruction of that scope goes past the L2 of a GPU that has
  /// more than one, or acts on it: sc1, and sc0 sc1 ([ISA]).
  bool passes_l2(Scope scope) const {
    return scope == Scope::system || (scope == Scope::agent && options_.xcds > 1);
  }
  bool passes_l2(const Access& access) const {
    return is_wide(access.order, access.scope) && passes_l2(access.scope);
  }
  /// nt, sc1 and sc0 sc1: "miss evict" ([ISA]).
  static bool misses_l1(const Access& access) {
    return access.order == Order::nontemporal || is_wide(access.order, access.scope);
  }

  template <class Which>
  void bind_loads(Which which);
  /// Requests of one wave for the same bytes stay in order.
  void bind_overlapping(const Place& who, const Piece& piece);
  template <class F>
  void for_each_piece(const Access& access, unsigned unit, F f);

  MemoryListener& listener_;
  Choices& choices_;
  const Gfx942 options_;
  Caches caches_;
  StoreQueues stores_;
  std::vector<int> ranks_;           // [workgroup], where it runs
  std::vector<LoadUnderWay> loads_;  // in the order of the program
  std::unordered_map<LoadTicket, Loaded> loaded_;
  LoadTicket last_ticket_ = 0;
};

/// f(piece) for the parts of an access that lie in different units of that many bytes.
template <class F>
void Gfx942Memory::for_each_piece(const Access& access, unsigned unit, F f) {
  const auto begin = reinterpret_cast<std::uintptr_t>(access.address);
  const std::uintptr_t end = begin + access.bytes;
  for (std::uintptr_t at = begin; at < end;) {
    const std::uintptr_t next = std::min(end, at / unit * unit + unit);
    f(Piece{&caches_.line(reinterpret_cast<const void*>(at)),
            static_cast<unsigned>(at % kLineBytes), static_cast<unsigned>(next - at),
            static_cast<unsigned>(at - begin)});
    at = next;
  }
}

// Accesses.

void Gfx942Memory::load(const Place& who, const Access& access, void* value) {
  const bool is_wide_one = is_wide(access.order, access.scope);
  if (is_wide_one && access.order == Order::seq_cst) wait_for_wave(who);
  for_each_piece(access, kLineBytes, [&](const Piece& piece) {
    bind_overlapping(who, piece);
    read(who, access, piece, static_cast<std::byte*>(value) + piece.offset);
  });
  if (is_wide_one && acquires(access.order)) acquire(who, access.scope);
}

void Gfx942Memory::read(const Place& who, const Access& access, const Piece& piece,
                        std::byte* value) {
  CacheLine& line = *piece.line;
  CachedCopy* near = caches_.l1(line, who.workgroup);
  // Requests of one workgroup for the same bytes stay in order.
  if (misses_l1(access) || is_atomic(access.order)) stores_.perform(who, piece);
  if (misses_l1(access)) {
    if (near != nullptr) Caches::drop(*near);
    return read_l2(who, access, piece, value);
  }
  const auto is_old = [&] {
    return std::memcmp(&near->data[piece.first], value, piece.bytes) != 0;
  };
  if (near != nullptr) {
    stores_.look(who, piece, value);
    // An L1 keeps its lines for as long as it likes.
    if (is_old() && choices_.memory(2, MemoryChoice::age) == 1) {
      std::memcpy(value, &near->data[piece.first], piece.bytes);
      return;
    }
  }
  read_l2(who, access, piece, value);
  if (near != nullptr && !is_old()) return;
  stores_.perform(who, line);  // the line comes behind what was stored to it
  caches_.fill_l1(line, who.workgroup, caches_.l2_of(who));
}

/// Past the L1. An NC line in the L2 may be of any age, but for what the L2's own XCD wrote; what
/// the L2 has of an RW or CC line is never old, as probes see to it ([MM]).
void Gfx942Memory::read_l2(const Place& who, const Access& access, const Piece& piece,
                           std::byte* value) {
  CacheLine& line = *piece.line;
  const int l2 = caches_.l2_of(who);
  const bool is_nc = caches_.type(line, l2) == MemoryType::nc;
  CachedCopy* far = is_nc ? caches_.l2(line, l2) : nullptr;
  const auto holds = [&] { return (piece.mask() & ~far->valid) == 0; };
  const bool keeps_old = far != nullptr && !passes_l2(access) && holds() &&
                         Caches::is_stale(*far, piece.mask()) &&
                         choices_.memory(2, MemoryChoice::age) == 1;
  if (!keeps_old) {
    stores_.others_arrive(who, piece);
    const bool refills = is_nc && (passes_l2(access) || far == nullptr || !holds() ||
                                   Caches::is_stale(*far, piece.mask()));
    if (refills) caches_.refill_l2(line, l2);
  }
  stores_.look(who, piece, value);
}

void Gfx942Memory::store(const Place& who, const Access& access, const void* value,
                         StoreToken token) {
  if (is_wide(access.order, access.scope) && releases(access.order)) release(who, access.scope);
  // A packet beyond what is atomic may be torn. The token is of its last piece.
  for_each_piece(access, options_.atomic_bytes, [&](const Piece& piece) {
    const bool is_last = piece.offset + piece.bytes == access.bytes;
    write(who, access, piece, static_cast<const std::byte*>(value) + piece.offset,
          is_last ? token : 0);
  });
}

void Gfx942Memory::write(const Place& who, const Access& access, const Piece& piece,
                         const std::byte* value, StoreToken token) {
  CacheLine& line = *piece.line;
  const int l2 = caches_.l2_of(who);
  bind_overlapping(who, piece);
  const bool is_in_turn = stores_.others_arrive(who, piece);
  if (CachedCopy* near = caches_.l1(line, who.workgroup)) {
    if (misses_l1(access)) {
      Caches::drop(*near);
    } else {
      std::memcpy(&near->data[piece.first], value, piece.bytes);
    }
  }
  const MemoryType type = caches_.type(line, l2);
  const bool through = passes_l2(access) || type == MemoryType::cc || type == MemoryType::uc;
  const bool is_plain = access.order == Order::plain;
  const bool is_late = is_in_turn && !is_plain && choices_.memory(2, MemoryChoice::delay) == 1;
  StoreUnderWay store{piece, who.wave, through, is_late, token};
  std::memcpy(store.value, value, piece.bytes);
  stores_.push(who, store);
  if (is_late || (is_in_turn && is_plain)) return;
  stores_.perform(who, piece);
  if (is_in_turn) return;
  // Another's store comes behind this one: nothing of this may be under way any more.
  if (CachedCopy* copy = caches_.l2(line, l2)) caches_.write_back(*copy, piece.mask());
}

/// Performed past all caches, whatever its scope: no RMW is lost ([MM], "atomic read-modify-write
/// instructions implicitly bypass the L1"; across XCDs they meet in home memory).
std::uint64_t Gfx942Memory::update(const Place& who, const Access& access,
                                   const std::function<std::uint64_t(std::uint64_t)>& change) {
  const bool is_wide_one = is_wide(access.order, access.scope);
  if (is_wide_one && releases(access.order)) release(who, access.scope);
  const int l2 = caches_.l2_of(who);
  std::uint64_t before = 0;
  for_each_piece(access, kLineBytes, [&](const Piece& piece) {
    CacheLine& line = *piece.line;
    bind_overlapping(who, piece);
    stores_.perform(who, piece);
    if (CachedCopy* near = caches_.l1(line, who.workgroup)) Caches::drop(*near);
    stores_.others_arrive(who, piece);
    if (CachedCopy* far = caches_.l2(line, l2)) caches_.write_back(*far);
    std::memcpy(&before, line.home + piece.first, piece.bytes);
    const std::uint64_t after = change(before);
    std::byte value[sizeof after];
    std::memcpy(value, &after, sizeof after);
    caches_.write_home(line, l2, piece.first, piece.bytes, value);
    listener_.performed(access.address, access.bytes, 0);
  });
  if (is_wide_one && acquires(access.order)) acquire(who, access.scope);
  return before;
}

// Order.

/// s_waitcnt vmcnt(0): all loads and stores of this wave are complete.
void Gfx942Memory::wait_for_wave(const Place& who) {
  bind_loads([&](const LoadUnderWay& one) { return one.who.wave == who.wave; });
  stores_.perform(who, [&](const StoreUnderWay& one) { return one.wave == who.wave; });
}

/// buffer_wbl2; s_waitcnt vmcnt(0). The first writes back the dirty lines of this XCD's L2,
/// whoever wrote them; with one L2 and agent scope it does nothing ([MM], [ISA]).
void Gfx942Memory::release(const Place& who, Scope scope) {
  if (options_.release_covers_workgroup) {
    bind_loads([&](const LoadUnderWay& one) { return one.who.workgroup == who.workgroup; });
    stores_.perform_all(who);
  } else {
    wait_for_wave(who);
  }
  if (passes_l2(scope)) caches_.write_back_l2(caches_.l2_of(who));
}

/// s_waitcnt vmcnt(0); buffer_inv: drops this L1, and the NC lines of this L2 unless it is the
/// GPU's only one and the scope is agent ([MM], [ISA]). The wait is for stores too, but only after
/// the acquiring load was performed, so that it orders nothing before that: left out here.
void Gfx942Memory::acquire(const Place& who, Scope scope) {
  bind_loads([&](const LoadUnderWay& one) { return one.who.wave == who.wave; });
  caches_.drop_l1(who.workgroup);
  if (passes_l2(scope)) caches_.drop_nc(caches_.l2_of(who));
}

/// A seq_cst fence is an acq_rel one ([MM]).
void Gfx942Memory::fence(const Place& who, Order order, Scope scope) {
  if (!is_wide(order, scope)) return;
  if (releases(order)) release(who, scope);
  if (!acquires(order)) return;
  wait_for_wave(who);
  acquire(who, scope);
}

// Loads under way.

LoadTicket Gfx942Memory::issue_load(const Place& who, const Access& access) {
  const LoadTicket ticket = ++last_ticket_;
  loaded_[ticket].bytes = access.bytes;
  for_each_piece(access, options_.atomic_bytes, [&](const Piece& piece) {
    bind_overlapping(who, piece);
    if (choices_.memory(2, MemoryChoice::delay) == 1) {
      loads_.push_back({ticket, who, access, piece});
    } else {
      read(who, access, piece, loaded_[ticket].value + piece.offset);
    }
  });
  return ticket;
}

void Gfx942Memory::bind(LoadTicket ticket, void* value) {
  bind_loads([&](const LoadUnderWay& one) { return one.ticket == ticket; });
  const auto at = loaded_.find(ticket);
  std::memcpy(value, at->second.value, at->second.bytes);
  loaded_.erase(at);
}

void Gfx942Memory::bind_overlapping(const Place& who, const Piece& piece) {
  if (loads_.empty()) return;
  bind_loads([&](const LoadUnderWay& one) {
    return one.who.wave == who.wave && one.piece.overlaps(piece);
  });
}

template <class Which>
void Gfx942Memory::bind_loads(Which which) {
  std::erase_if(loads_, [&](const LoadUnderWay& one) {
    if (!which(one)) return false;
    read(one.who, one.access, one.piece, loaded_[one.ticket].value + one.piece.offset);
    return true;
  });
}

// What happens between kernels, and by itself.

/// The packet's acquire, of agent scope, does what buffer_inv sc1 does ([MM]).
void Gfx942Memory::kernel_begins(int rank, std::span<const Place> threads) {
  for (const Place& one : threads) {
    if (one.workgroup >= static_cast<int>(ranks_.size())) ranks_.resize(one.workgroup + 1, -1);
    ranks_[one.workgroup] = rank;
    caches_.drop_l1(one.workgroup);
  }
  if (!options_.kernel_begin_reaches_l2 || options_.xcds == 1) return;
  for (int x = 0; x < options_.xcds; ++x) caches_.drop_nc(rank * options_.xcds + x);
}

void Gfx942Memory::kernel_ends(int rank, std::span<const Place> threads) {
  int last = -1;
  for (const Place& one : threads) {
    if (one.workgroup == last) continue;
    last = one.workgroup;
    bind_loads([&](const LoadUnderWay& load) { return load.who.workgroup == last; });
    stores_.perform_all(one);
  }
  for (int x = 0; x < options_.xcds; ++x) {
    caches_.write_back_l2(rank * options_.xcds + x, options_.kernel_end_reaches_peers);
  }
}

void Gfx942Memory::synchronise(int rank) {
  for (int l2 = rank * options_.xcds; l2 < (rank + 1) * options_.xcds; ++l2) {
    caches_.write_back_l2(l2);
    caches_.drop_nc(l2);
  }
  for (std::size_t group = 0; group < ranks_.size(); ++group) {
    if (ranks_[group] == rank) caches_.drop_l1(static_cast<int>(group));
  }
}

void Gfx942Memory::breathe() {
  const auto loads = static_cast<int>(loads_.size());
  if (loads + stores_.awaited() == 0) return;
  const int way = choices_.memory(1 + loads + stores_.awaited(), MemoryChoice::progress) - 1;
  if (way < 0) return;
  if (way >= loads) return stores_.perform_awaited(way - loads);
  bind_loads([chosen = loads_[way]](const LoadUnderWay& one) {
    return one.ticket == chosen.ticket && one.piece.offset == chosen.piece.offset;
  });
}

bool Gfx942Memory::settle() { return stores_.perform_all(); }

}  // namespace

std::unique_ptr<MemoryModel> gfx942_memory(Memory& memory, MemoryListener& listener,
                                           Choices& choices, const Gfx942& options) {
  return std::make_unique<Gfx942Memory>(memory, listener, choices, options);
}

}  // namespace tally::kernels::emulator
