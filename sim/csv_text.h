#pragma once

// Comma-separated values as people and spreadsheets write them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace tally::sim {

struct CsvRow {
  int line;  // in the text, from 1
  std::vector<std::string> cells;
};

/// A header and rows of as many cells. Empty lines and lines that begin with # are left out, cells
/// may be in double quotes, in which "" is one (RFC 4180, but no line breaks), and lines may end
/// with CR LF.
struct CsvText {
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  std::optional<std::size_t> column(std::string_view name) const;
};

/// `file` is for errors: a row of another length, a quote that does not end, a name twice in the
/// header, no header.
model::Result<CsvText> parse_csv(const std::string& file, std::string_view text);

}  // namespace tally::sim
