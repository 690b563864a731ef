#include "model/suggestion.h"

#include <algorithm>
#include <numeric>

namespace tally::model {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string near_miss(std::string_view unknown, const std::vector<std::string>& known) {
  unknown = unknown.substr(0, 64);
  const std::string* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(2, unknown.size() / 3) + 1;
  for (const std::string& name : known) {
    if (const std::size_t distance = edit_distance(unknown, name); distance < least) {
      least = distance;
      nearest = &name;
    }
  }
  return nearest != nullptr ? "did you mean '" + *nearest + "'?" : "";
}

std::string suggestion(std::string_view unknown, const std::vector<std::string>& known) {
  if (std::string hint = near_miss(unknown, known); !hint.empty()) return hint;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  return "one of: " + list;
}

}  // namespace tally::model
