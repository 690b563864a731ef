#include "sim/csv_text.h"

#include <algorithm>

namespace tally::sim {
namespace {

using model::Error;

// The cells of one line; nothing where a quote does not end, or ends within a cell.
std::optional<std::vector<std::string>> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ',') {
      cells.emplace_back();
    } else if (line[i] == '"' && cells.back().empty()) {
      for (++i;; ++i) {
        if (i >= line.size()) return std::nullopt;
        if (line[i] != '"') {
          cells.back() += line[i];
        } else if (i + 1 < line.size() && line[i + 1] == '"') {
          cells.back() += line[i++];
        } else {
          break;
        }
      }
      if (i + 1 < line.size() && line[i + 1] != ',') return std::nullopt;
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

}  // namespace

std::optional<std::size_t> CsvText::column(std::string_view name) const {
  const auto at = std::find(header.begin(), header.end(), name);
  if (at == header.end()) return std::nullopt;
  return static_cast<std::size_t>(at - header.begin());
}

model::Result<CsvText> parse_csv(const std::string& file, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvText csv;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string where = file + ":" + std::to_string(number);
    auto cells = cells_of(line);
    if (!cells) return Error{where, "a quote that does not end its cell", "\"two \"\"words\"\"\""};
    if (csv.header.empty()) {
      csv.header = std::move(*cells);
      for (const std::string& name : csv.header) {
        if (std::count(csv.header.begin(), csv.header.end(), name) == 1) continue;
        return Error{where, "two columns '" + name + "'", "a name for each column"};
      }
      continue;
    }
    if (cells->size() != csv.header.size()) {
      return Error{where, std::to_string(cells->size()) + " cells",
                   std::to_string(csv.header.size()) + ", as the header has; a cell with a comma " +
                       "needs quotes"};
    }
    csv.rows.push_back({number, std::move(*cells)});
  }
  if (csv.header.empty()) return Error{file, "no header", "a line with the names of the columns"};
  return csv;
}

}  // namespace tally::sim
