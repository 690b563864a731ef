#include "kernels/emulator/release_sequences.h"

#include <utility>

namespace tally::kernels::emulator {
namespace {

bool overlap(const AtomicLocation& location, const Access& access) {
  const auto* first = static_cast<const std::byte*>(access.address);
  const auto* other = static_cast<const std::byte*>(location.address);
  return first < other + location.bytes && other < first + access.bytes;
}
bool same(const AtomicLocation& location, const Access& access) {
  return location.address == access.address && location.bytes == access.bytes;
}

}  // namespace

AtomicLocation* ReleaseSequences::find(const Access& access) {
  for (std::uint32_t i = shadow_.mark(access.address); i != 0; i = locations_[i].next) {
    if (same(locations_[i], access)) return &locations_[i];
  }
  return nullptr;
}

template <class Visit>
void ReleaseSequences::for_each_overlapping(const Access& access, Visit&& visit) {
  const auto* first = static_cast<const std::byte*>(access.address);
  const auto* last = first + access.bytes - 1;
  const std::uint32_t mark = shadow_.mark(first), last_mark = shadow_.mark(last);
  for (std::uint32_t i = mark; i != 0; i = locations_[i].next) {
    if (overlap(locations_[i], access)) visit(locations_[i]);
  }
  if (last_mark == mark) return;
  for (std::uint32_t i = last_mark; i != 0; i = locations_[i].next) {
    if (overlap(locations_[i], access)) visit(locations_[i]);
  }
}

StoreToken ReleaseSequences::issue(const Place& who, const Access& access,
                                   std::vector<Release> releases) {
  Store store{who, access, std::move(releases)};
  track(store);
  bool concerned = false;
  for_each_overlapping(store.access, [&](AtomicLocation&) { concerned = true; });
  // One that ends a sequence which only begins while it is under way has to be remembered too.
  if (!concerned && !is_atomic(access.order)) return 0;
  if (free_.empty()) {
    pending_.push_back(std::move(store));
    return static_cast<StoreToken>(pending_.size());
  }
  const StoreToken token = free_.back();
  free_.pop_back();
  pending_[token - 1] = std::move(store);
  return token;
}

void ReleaseSequences::performed(StoreToken token) {
  install(pending_[token - 1], false);
  pending_[token - 1].releases.clear();
  free_.push_back(token);
}

void ReleaseSequences::update(const Place& who, const Access& access,
                              std::vector<Release> releases) {
  const Store store{who, access, std::move(releases)};
  track(store);
  const AtomicLocation* read = find(access);
  install(store, read != nullptr && inclusive(read->writer, read->scope, store.who, access.scope));
}

/// From the first store on that publishes something by way of a location, all stores to its bytes
/// concern it, in whichever order they are performed.
void ReleaseSequences::track(const Store& store) {
  if (store.releases.empty() || find(store.access) != nullptr) return;
  std::uint32_t& mark = shadow_.mark(store.access.address);
  locations_.push_back({.address = store.access.address,
                        .bytes = store.access.bytes,
                        .writer = store.who,
                        .scope = store.access.scope,
                        .sequence = {},
                        .next = mark});
  mark = static_cast<std::uint32_t>(locations_.size() - 1);
}

void ReleaseSequences::install(const Store& store, bool continues) {
  for_each_overlapping(store.access, [&](AtomicLocation& location) {
    const bool whole = same(location, store.access);
    if (!whole || !continues) location.sequence.clear();
    if (!whole) return;
    location.writer = store.who;
    location.scope = store.access.scope;
    for (const Release& release : store.releases) {
      // A thread's later release to the same scope has published all that an earlier one has.
      std::erase_if(location.sequence, [&](const Release& earlier) {
        return earlier.place.slot == release.place.slot && earlier.scope == release.scope;
      });
      location.sequence.push_back(release);
    }
  });
}

}  // namespace tally::kernels::emulator
