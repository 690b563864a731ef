#pragma once

// The type of a collective's elements: a number format, or a type that collectives only move.

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "model/check.h"
#include "model/number_format.h"

namespace tally::model {

/// Types that no arithmetic here is defined on: their bytes travel as they are.
enum class Moved : std::uint8_t { int8, int32, int64, f64 };

struct MovedType {
  Moved id;
  std::string_view name;  // the same in flags, JSON, documents and tests
  int bytes;
};
inline constexpr MovedType kMovedTypes[] = {
    {Moved::int8, "int8", 1},
    {Moved::int32, "int32", 4},
    {Moved::int64, "int64", 8},
    {Moved::f64, "f64", 8},
};

class ElementType {
 public:
  constexpr ElementType(Format format) : row_(static_cast<std::uint8_t>(format)) {}
  constexpr ElementType(Moved moved) : moves_only_(true), row_(static_cast<std::uint8_t>(moved)) {}

  constexpr bool moves_only() const { return moves_only_; }
  constexpr std::string_view name() const {
    return moves_only_ ? kMovedTypes[row_].name : kNumberFormats[row_].name;
  }
  constexpr int bytes() const {
    return moves_only_ ? kMovedTypes[row_].bytes : kNumberFormats[row_].bytes();
  }
  /// The number format; of a type that only moves, a mistake.
  constexpr Format format() const {
    TALLY_CHECK(!moves_only_, "a type that only moves has no number format");
    return static_cast<Format>(row_);
  }
  constexpr operator Format() const { return format(); }

  friend constexpr bool operator==(ElementType a, ElementType b) {
    return a.moves_only_ == b.moves_only_ && a.row_ == b.row_;
  }
  // Exact matches, since a Format on one side would convert either way.
  friend constexpr bool operator==(ElementType a, Format b) { return a == ElementType(b); }

 private:
  bool moves_only_ = false;
  std::uint8_t row_;  // of kNumberFormats or kMovedTypes
};

/// The type of that name; nothing where there is none. Accepts no aliases.
std::optional<ElementType> find_element_type(std::string_view name);

constexpr bool moved_types_are_in_order() {
  for (std::size_t i = 0; i < std::size(kMovedTypes); ++i) {
    if (kMovedTypes[i].id != static_cast<Moved>(i)) return false;
  }
  return true;
}
static_assert(moved_types_are_in_order(), "Moved names the rows of kMovedTypes by position");

}  // namespace tally::model
