#pragma once

// A generated fault: one line of a kernel orders less than it says. Kernels are not touched; the
// emulator's Gpu does it.

#include <compare>
#include <source_location>
#include <string>

#include "kernels/emulator/access.h"

namespace tally::kernels::emulator {

/// What orders something: these can be mutated.
enum class Ordering : std::uint8_t { fence, store_flag, wait, block_barrier };

/// A line of a kernel that orders something, and how it does that when it is not mutated.
struct Site {
  Ordering ordering;
  std::string file;  // from the project's root: kernels/barrier.h
  unsigned line = 0, column = 0;
  Order order = Order::plain;
  Scope scope = Scope::wavefront;
  friend auto operator<=>(const Site&, const Site&) = default;
};
Site site_of(Ordering ordering, const std::source_location& location, Order order, Scope scope);

/// What is behind the project's root in a path that the compiler was given.
std::string project_path(const char* file);

/// drop: as if the line were not there, but that a wait looks once, relaxed; relax: relaxed instead
/// of acquire or release; narrow: of agent scope instead of system. A barrier can only be dropped.
enum class Change : std::uint8_t { drop, relax, narrow };

struct Mutation {
  Site site;
  Change change;
};

}  // namespace tally::kernels::emulator
