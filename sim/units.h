#pragma once

// Units are types. Sums of times must not depend on their order, so time is integral.

#include <compare>
#include <cstdint>

namespace tally::sim {

struct Picos {
  std::int64_t n = 0;
  friend constexpr auto operator<=>(Picos, Picos) = default;
  friend constexpr Picos operator+(Picos a, Picos b) { return {a.n + b.n}; }
  friend constexpr Picos operator-(Picos a, Picos b) { return {a.n - b.n}; }
  friend constexpr Picos operator*(std::int64_t times, Picos a) { return {times * a.n}; }
  constexpr Picos& operator+=(Picos other) { return *this = *this + other; }
  constexpr double micros() const { return static_cast<double>(n) / 1e6; }
};

/// To the nearest picosecond.
Picos from_nanos(double nanos);

/// The time that `bytes` take at `bytes_per_s`. Rounds up: a link is never free before its last
/// byte has left. 0 for no bytes.
Picos transfer_time(std::int64_t bytes, double bytes_per_s);

}  // namespace tally::sim
