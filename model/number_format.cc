#include "model/number_format.h"

namespace tally::model {

std::optional<Format> find_format(std::string_view name) {
  for (const NumberFormat& row : kNumberFormats) {
    if (row.name == name) return row.id;
  }
  return std::nullopt;
}

}  // namespace tally::model
