#include "model/element_type.h"

namespace tally::model {

std::optional<ElementType> find_element_type(std::string_view name) {
  if (const auto format = find_format(name)) return ElementType(*format);
  for (const MovedType& row : kMovedTypes) {
    if (row.name == name) return ElementType(row.id);
  }
  return std::nullopt;
}

}  // namespace tally::model
