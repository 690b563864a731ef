#pragma once

// What can be acquired from each atomic location: the release sequence that its last store heads
// (C++20 [intro.races]): that store and the updates that read from it or from one another, as long
// as each is inclusive with the one before.

#include <vector>

#include "kernels/emulator/memory_model.h"
#include "kernels/emulator/shadow.h"
#include "kernels/emulator/vector_clocks.h"

namespace tally::kernels::emulator {

/// The narrowest scope in which `a` is together with `b`.
constexpr Scope apart(const Place& a, const Place& b) {
  for (const Scope scope : {Scope::wavefront, Scope::workgroup, Scope::agent}) {
    if (includes(scope, a, b)) return scope;
  }
  return Scope::system;
}
/// Each is meant for the other: LLVM's User Guide for AMDGPU Backend, Memory Scopes.
constexpr bool inclusive(const Place& a, Scope scope_a, const Place& b, Scope scope_b) {
  return includes(scope_a, a, b) && includes(scope_b, b, a);
}

/// What a release, or a release fence by way of an atomic behind it, has published to its scope.
struct Release {
  Place place;
  Scope scope;
  std::uint32_t time;  // the thread's own
  Snapshot known;
};

struct AtomicLocation {
  const void* address;
  std::uint32_t bytes;
  Place writer;  // of the last store or update
  Scope scope;   // its scope, where an atomic made it
  std::vector<Release> sequence;
  std::uint32_t next;  // in the same granule
};

class ReleaseSequences {
 public:
  explicit ReleaseSequences(Shadow& shadow) : shadow_(shadow) {}

  /// Calls acquire(release) for what a read of exactly this location can acquire from.
  template <class Acquire>
  void read(const Place& who, const Access& access, Acquire&& acquire) {
    AtomicLocation* location = find(access);
    if (location == nullptr) return;
    if (!inclusive(location->writer, location->scope, who, access.scope)) return;
    for (const Release& release : location->sequence) {
      if (inclusive(release.place, release.scope, who, access.scope)) acquire(release);
    }
  }

  /// Of a store that changes what can be acquired once it is performed, because it publishes
  /// something or ends a sequence; 0 of others.
  StoreToken issue(const Place& who, const Access& access, std::vector<Release> releases);
  void performed(StoreToken token);
  /// An update, performed at once: it continues the sequence that it reads from.
  void update(const Place& who, const Access& access, std::vector<Release> releases);

 private:
  /// A store that is not performed yet.
  struct Store {
    Place who;
    Access access;
    std::vector<Release> releases;
  };
  AtomicLocation* find(const Access& access);
  template <class Visit>
  void for_each_overlapping(const Access& access, Visit&& visit);
  void track(const Store& store);
  void install(const Store& store, bool continues);

  Shadow& shadow_;
  std::vector<AtomicLocation> locations_{1};  // the shadow's marks; 0 is none
  std::vector<Store> pending_;                // [token - 1]
  std::vector<StoreToken> free_;
};

}  // namespace tally::kernels::emulator
