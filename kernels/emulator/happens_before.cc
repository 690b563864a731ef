#include "kernels/emulator/happens_before.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "kernels/emulator/release_sequences.h"
#include "kernels/emulator/shadow.h"
#include "kernels/emulator/vector_clocks.h"
#include "model/check.h"

namespace tally::kernels::emulator {
namespace {

constexpr std::size_t kMostReports = 10;
constexpr int kScopes = 4;
constexpr int kMostSlots = 1 << 16;

/// What a slot's thread has done that only a fence or an atomic behind it gives a meaning to.
struct Thread {
  /// Who it was, and from when on; the last one is who it is.
  std::vector<std::pair<std::uint32_t, Place>> places;
  /// Its last release fence of each scope, as long as no wider one followed.
  std::array<Release, kScopes> fenced;
  bool has_fenced = false;
  /// What relaxed reads found, pending an acquire fence, by how far apart it and its releaser are.
  std::array<Clock, kScopes> found;
  bool has_found = false;
};

bool same_line(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         std::string_view(a.file_name()) == b.file_name();
}

}  // namespace

struct HappensBefore::State {
  explicit State(const Memory& memory) : shadow(memory) {}

  const Place& place_of(const Stamp& stamp) const;
  RacingAccess accessed(const Stamp& stamp) const;

  bool is_ordered(const Stamp& earlier, const Stamp& now) const {
    return clocks.at(now.slot, earlier.slot) >= earlier.clock;
  }
  /// What is not ordered behind `now` cannot be ordered behind `earlier` without a race with `now`,
  /// so `earlier`, which is ordered before `now`, need not be remembered.
  bool covers(const Stamp& now, const Stamp& earlier) const {
    if (earlier.writes() && !now.writes()) return false;
    if (!is_atomic(now.order)) return true;
    return is_atomic(earlier.order) && earlier.slot == now.slot && earlier.bytes == now.bytes &&
           earlier.scope >= now.scope &&
           earlier.clock >= threads[now.slot].places.back().first;  // by the same thread
  }
  /// Remembers the access and reports races; whether its value is that of the only newest write.
  bool record(const Place& who, const Access& access);
  void found_race(const Stamp& earlier, const Stamp& now, const std::byte* first);
  void found_stale_read(const Place& who, const Access& access);

  void acquire(const Place& who, const Access& access);
  std::vector<Release> published(const Place& who, const Access& access);
  Release release(const Place& who, Scope scope) {
    Release published{who, scope, clocks.time(who.slot), clocks.snapshot(who.slot)};
    clocks.tick(who.slot);
    return published;
  }

  VectorClocks clocks;
  std::vector<Thread> threads;  // [slot]
  Shadow shadow;
  ReleaseSequences sequences{shadow};
  std::vector<Race> races;
  std::vector<StaleRead> stale_reads;
};

const Place& HappensBefore::State::place_of(const Stamp& stamp) const {
  const auto& places = threads[stamp.slot].places;
  std::size_t i = places.size() - 1;
  while (i > 0 && places[i].first > stamp.clock) --i;
  return places[i].second;
}

RacingAccess HappensBefore::State::accessed(const Stamp& stamp) const {
  return {place_of(stamp).id, stamp.kind, stamp.order, stamp.scope, stamp.bytes, stamp.site};
}

bool HappensBefore::State::record(const Place& who, const Access& access) {
  const Stamp now{.clock = clocks.time(who.slot),
                  .slot = static_cast<std::uint16_t>(who.slot),
                  .bytes = static_cast<std::uint8_t>(access.bytes),
                  .kind = access.kind,
                  .order = access.order,
                  .scope = access.scope,
                  .site = access.site};
  bool is_clear = true;
  const std::byte* written = nullptr;
  shadow.record(access.address, now, [&](const Stamp& earlier, const std::byte* cell) {
    if (earlier.writes()) {
      is_clear = is_clear && written != cell;
      written = cell;
    }
    if (is_ordered(earlier, now)) return !covers(now, earlier);
    if (earlier.writes() || now.writes()) {
      is_clear = false;
      found_race(earlier, now, cell);
    }
    return true;
  });
  return is_clear;
}

void HappensBefore::State::found_race(const Stamp& earlier, const Stamp& now,
                                      const std::byte* first) {
  Race::Kind kind = Race::Kind::unordered;
  if (is_atomic(earlier.order) && is_atomic(now.order)) {
    // An atomic's bytes divide its address: two that overlap and are equally long are the same.
    if (earlier.bytes != now.bytes) {
      kind = Race::Kind::mixed_size;
    } else if (!inclusive(place_of(earlier), earlier.scope, place_of(now), now.scope)) {
      kind = Race::Kind::scope;
    } else {
      return;
    }
  }
  if (races.size() == kMostReports) return;
  for (const Race& race : races) {
    const std::source_location &a = race.first.site, &b = race.second.site;
    if (same_line(a, earlier.site) && same_line(b, now.site)) return;
    if (same_line(b, earlier.site) && same_line(a, now.site)) return;
  }
  races.push_back({kind, accessed(earlier), accessed(now), first});
}

void HappensBefore::State::found_stale_read(const Place& who, const Access& access) {
  if (stale_reads.size() == kMostReports) return;
  for (const StaleRead& stale : stale_reads) {
    if (same_line(stale.read.site, access.site)) return;
  }
  stale_reads.push_back(
      {{who.id, access.kind, access.order, access.scope, access.bytes, access.site},
       access.address});
}

/// What the location's release sequence has published to this thread is known to it, at once or
/// from its next acquire fence on.
void HappensBefore::State::acquire(const Place& who, const Access& access) {
  sequences.read(who, access, [&](const Release& release) {
    if (clocks.at(who.slot, release.place.slot) >= release.time) return;
    if (acquires(access.order)) {
      clocks.join(who.slot, *release.known);
    } else {
      Thread& thread = threads[who.slot];
      HappensBefore::join(thread.found[int(apart(who, release.place))], *release.known);
      thread.has_found = true;
    }
  });
}

std::vector<Release> HappensBefore::State::published(const Place& who, const Access& access) {
  if (releases(access.order)) return {release(who, access.scope)};
  std::vector<Release> by_fences;
  if (!is_atomic(access.order) || !threads[who.slot].has_fenced) return by_fences;
  for (const Release& fence : threads[who.slot].fenced) {
    if (fence.known == nullptr) continue;
    by_fences.push_back(fence);
    by_fences.back().scope = std::min(fence.scope, access.scope);
  }
  return by_fences;
}

HappensBefore::HappensBefore(const Memory& memory) : state_(std::make_unique<State>(memory)) {}
HappensBefore::~HappensBefore() = default;

void HappensBefore::resize(int slots) {
  if (slots == state_->clocks.slots()) return;
  TALLY_CHECK(slots <= kMostSlots, "a slot's number has 16 bits");
  state_->clocks.resize(slots);
  state_->threads.resize(slots);
}

void HappensBefore::load(const Place& who, const Access& access, const void* value) {
  State& state = *state_;
  if (!state.shadow.covers(access.address, access.bytes)) return;
  // The acquire itself is ordered behind what it acquires.
  if (is_atomic(access.order)) state.acquire(who, access);
  const bool is_clear = state.record(who, access);
  if (is_atomic(access.order) || !is_clear || !state.races.empty()) return;
  if (!state.shadow.is_newest(access.address, access.bytes, value)) {
    state.found_stale_read(who, access);
  }
}

StoreToken HappensBefore::store(const Place& who, const Access& access, const void* value) {
  State& state = *state_;
  if (!state.shadow.covers(access.address, access.bytes)) return 0;
  state.record(who, access);
  state.shadow.write(access.address, access.bytes, value);
  const StoreToken token = state.sequences.issue(who, access, state.published(who, access));
  if (is_atomic(access.order) || token == 0) return token;
  // Who acquires from there without being ordered behind a plain store races with it.
  state.sequences.performed(token);
  return 0;
}

void HappensBefore::update(const Place& who, const Access& access, std::uint64_t after) {
  State& state = *state_;
  if (!state.shadow.covers(access.address, access.bytes)) return;
  state.acquire(who, access);
  state.record(who, access);
  state.shadow.write(access.address, access.bytes, &after);
  state.sequences.update(who, access, state.published(who, access));
}

void HappensBefore::performed(StoreToken token) {
  if (token != 0) state_->sequences.performed(token);
}

void HappensBefore::fence(const Place& who, Order order, Scope scope) {
  Thread& thread = state_->threads[who.slot];
  const int width = int(scope);
  if (acquires(order) && thread.has_found) {
    for (int apart = 0; apart <= width; ++apart) {
      state_->clocks.join(who.slot, thread.found[apart]);
      thread.found[apart].clear();
    }
  }
  if (releases(order)) {
    std::fill_n(thread.fenced.begin(), width, Release{});  // this one knows more, and reaches wider
    thread.fenced[width] = state_->release(who, scope);
    thread.has_fenced = true;
  }
}

void HappensBefore::block_barrier(std::span<const int> slots) { state_->clocks.meet(slots); }

void HappensBefore::kernel_begins(std::span<const Place> places, const Clock& known) {
  for (const Place& place : places) {
    Thread& thread = state_->threads[place.slot];
    state_->clocks.join(place.slot, known);
    thread.fenced = {};
    thread.found = {};
    thread.has_fenced = thread.has_found = false;
    thread.places.emplace_back(state_->clocks.time(place.slot), place);
  }
}

void HappensBefore::kernel_ends(std::span<const Place> places, Clock& known) {
  for (const Place& place : places) {
    state_->clocks.join_into(known, place.slot);
    state_->clocks.tick(place.slot);
  }
}

void HappensBefore::join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  VectorClocks::raise(into.data(), from.data(), from.size());
}

void HappensBefore::host_wrote() { state_->shadow.reread(); }

const std::vector<Race>& HappensBefore::races() const { return state_->races; }
const std::vector<StaleRead>& HappensBefore::stale_reads() const { return state_->stale_reads; }

}  // namespace tally::kernels::emulator
