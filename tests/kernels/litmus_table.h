#pragma once

// A row of the tables of litmus tests, and how it is tested.

#include "tests/kernels/litmus.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator::litmus {

/// The weak outcome of a test on the machine.
enum class Machine : std::uint8_t { allows, forbids };
/// Whether LLVM's scoped memory model calls the program racy, and so gives it no meaning.
enum class Language : std::uint8_t { races, race_free };

struct Row {
  const char* name;
  Machine machine;
  Language language;
  Program program;
  std::function<bool(const Outcome&)> weak;
  Gfx942 options = {};
};

inline const Gfx942 kCpx{.xcds = 1};

// The variables that most tests use.
enum : int { x, y, z, f = y, g = z };

inline void check(const Row& row) {
  const bool is_allowed = row.machine == Machine::allows;
  const Found found = search(row.program, row.options, row.weak, is_allowed ? 20'000 : 200'000);
  INFO(row.name << ": " << found.runs << " runs" << (found.is_exhaustive ? ", all there are" : ""));
  CHECK(found.outcome == is_allowed);
  CHECK(is_racy(row.program, row.options) == (row.language == Language::races));
}

}  // namespace tally::kernels::emulator::litmus
