#include "sim/measured_table.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "model/machine.h"
#include "model/suggestion.h"
#include "sim/csv_text.h"

namespace tally::sim {
namespace {

namespace fs = std::filesystem;
using model::Error;
using model::Result;

constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{64} << 20;
constexpr int kMostNodes = 65536, kMostRanks = 1 << 20;
constexpr double kMostMicros = 1e12;  // eleven days

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Error> missing_column(const CsvText& csv, const std::string& file,
                                    std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (csv.column(name)) continue;
    return Error{file, "no column '" + std::string(name) + "'",
                 model::suggestion(name, csv.header)};
  }
  return std::nullopt;
}

// The cells of one row by the names of their columns. Keeps the first thing that is wrong, so that
// a row is read in one go.
class Cells {
 public:
  Cells(const CsvText& csv, const CsvRow& row, const std::string& file)
      : csv_(csv), row_(row), where_(file + ":" + std::to_string(row.line)) {}

  /// Empty where there is no such column.
  std::string text(std::string_view column) const {
    const auto at = csv_.column(column);
    return at ? row_.cells[*at] : "";
  }

  std::string name(std::string_view column) {
    std::string value = text(column);
    if (value.empty()) wrong(column, value, "a name");
    return value;
  }

  std::int64_t integer(std::string_view column, std::int64_t least, std::int64_t most,
                       std::int64_t if_empty) {
    const std::string value = text(column);
    if (value.empty() && if_empty >= least) return if_empty;
    const auto number = parse_number<std::int64_t>(value);
    if (number && *number >= least && *number <= most) return *number;
    wrong(column, value, std::to_string(least) + ".." + std::to_string(most));
    return least;
  }

  /// Nothing where the cell is empty or says N/A.
  std::optional<double> positive(std::string_view column) {
    const std::string value = text(column);
    if (value.empty() || value == "N/A") return std::nullopt;
    const auto number = parse_number<double>(value);
    if (number && *number > 0 && *number <= kMostMicros) return number;
    wrong(column, value, "a number above 0");
    return std::nullopt;
  }

  /// What a parser makes of the cell.
  template <class T>
  T parsed(std::string_view column, Result<T> (*parse)(std::string_view), T otherwise) {
    const std::string value = text(column);
    auto result = parse(value);
    if (result) return *result;
    wrong(column, value, result.error().hint);
    return otherwise;
  }

  void wrong(std::string_view column, const std::string& value, std::string hint) {
    if (error_) return;
    error_ = Error{where_, std::string(column) + " '" + value.substr(0, 64) + "'", std::move(hint)};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const CsvText& csv_;
  const CsvRow& row_;
  std::string where_;
  std::optional<Error> error_;
};

Result<std::string> parse_machine(std::string_view name) {
  const std::vector<std::string> known = model::machine_names();
  for (const std::string& machine : known) {
    if (machine == name) return machine;
  }
  return Error{"machine", "unknown machine", model::suggestion(name, known)};
}

Result<model::WireSize> parse_wire_or_none(std::string_view name) {
  return model::parse_wire_size(name.empty() ? "none" : name);
}

Result<model::ElementType> parse_dtype(std::string_view name) {
  if (const auto type = model::find_element_type(name)) return *type;
  if (name == "float") return model::ElementType(model::Format::f32);
  if (name == "half") return model::ElementType(model::Format::f16);
  if (name == "bfloat16") return model::ElementType(model::Format::bf16);
  return Error{"dtype", "unknown type", model::suggestion(name, {"f32", "f16", "bf16"})};
}

Result<Launch> parse_launch_or_usual(std::string_view name) {
  return name.empty() ? Launch::process_per_gpu : parse_launch(name);
}

Result<bool> parse_flag(std::string_view name) {
  if (name.empty() || name == "0") return false;
  if (name == "1") return true;
  return Error{"flag", "neither 0 nor 1", "0 or 1"};
}

ManifestEntry read_entry(Cells& cells) {
  ManifestEntry entry;
  entry.table.file = cells.name("file");
  entry.table.note = cells.text("note");
  Scenario& s = entry.table.scenario;
  s.machine = cells.parsed<std::string>("machine", parse_machine, "");
  s.nodes = static_cast<int>(cells.integer("nodes", 1, kMostNodes, 0));
  s.ranks = static_cast<int>(cells.integer("ranks", 1, kMostRanks, 0));
  s.collective = cells.parsed("collective", model::parse_collective, s.collective);
  s.library = cells.name("library");
  s.version = cells.text("version");
  s.algorithm = cells.name("algorithm");
  s.wire = cells.parsed("wire", parse_wire_or_none, s.wire);
  s.dtype = cells.parsed("dtype", parse_dtype, s.dtype);
  s.launch = cells.parsed("launch", parse_launch_or_usual, s.launch);
  s.in_place = cells.parsed("in_place", parse_flag, s.in_place);
  entry.min_bytes = cells.integer("min_bytes", 0, entry.max_bytes, entry.min_bytes);
  entry.max_bytes = cells.integer("max_bytes", 0, entry.max_bytes, entry.max_bytes);
  return entry;
}

Result<std::string> read_text(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) {
    return Error{path.string(), "no such file", "a folder with a manifest.csv, or a table of one"};
  }
  if (fs::file_size(path, failure) > kMostFileBytes || failure) {
    return Error{path.string(), "longer than 64 MiB", "split it"};
  }
  std::ostringstream text;
  std::ifstream file(path, std::ios::binary);
  text << file.rdbuf();
  if (!file.good()) return Error{path.string(), "cannot be read", "look at its permissions"};
  return text.str();
}

// Of a manifest the tables with that name; all where it is empty.
Result<std::vector<MeasuredTable>> read_tables(const fs::path& manifest, const std::string& name) {
  const auto text = read_text(manifest);
  if (!text) return text.error();
  auto entries = parse_manifest(manifest.string(), *text);
  if (!entries) return entries.error();
  std::vector<MeasuredTable> tables;
  for (ManifestEntry& entry : *entries) {
    if (!name.empty() && entry.table.file != name) continue;
    const fs::path path = manifest.parent_path() / entry.table.file;
    const auto rows_text = read_text(path);
    if (!rows_text) return rows_text.error();
    auto rows = parse_rows(path.string(), *rows_text, entry.min_bytes, entry.max_bytes);
    if (!rows) return rows.error();
    entry.table.rows = std::move(*rows);
    tables.push_back(std::move(entry.table));
  }
  if (!tables.empty()) return tables;
  return Error{manifest.string(), name.empty() ? "no tables" : "no table '" + name + "'",
               "a row for each table"};
}

}  // namespace

Result<std::vector<ManifestEntry>> parse_manifest(const std::string& file, std::string_view text) {
  const auto csv = parse_csv(file, text);
  if (!csv) return csv.error();
  if (auto error = missing_column(*csv, file,
                                  {"file", "machine", "nodes", "ranks", "collective", "library",
                                   "algorithm", "wire", "dtype"})) {
    return *error;
  }
  std::vector<ManifestEntry> entries;
  for (const CsvRow& row : csv->rows) {
    Cells cells(*csv, row, file);
    entries.push_back(read_entry(cells));
    if (cells.error()) return *cells.error();
  }
  return entries;
}

Result<std::vector<MeasuredRow>> parse_rows(const std::string& file, std::string_view text,
                                            std::int64_t min_bytes, std::int64_t max_bytes) {
  const auto csv = parse_csv(file, text);
  if (!csv) return csv.error();
  if (auto error = missing_column(*csv, file, {"size_bytes"})) return *error;
  if (!csv->column("algbw_GBps")) {
    if (auto error = missing_column(*csv, file, {"time_us"})) return *error;
  }
  std::vector<MeasuredRow> rows;
  for (const CsvRow& row : csv->rows) {
    Cells cells(*csv, row, file);
    const std::int64_t bytes =
        cells.integer("size_bytes", 0, std::numeric_limits<std::int64_t>::max(), -1);
    if (cells.error()) return *cells.error();
    if (bytes < min_bytes || bytes > max_bytes) continue;
    auto time_us = cells.positive("time_us");
    if (!time_us) {
      const auto rate = cells.positive("algbw_GBps");
      if (rate) time_us = static_cast<double>(bytes) / (*rate * 1e3);
      if (!rate || !(*time_us > 0 && *time_us <= kMostMicros)) {
        cells.wrong("time_us", cells.text("time_us"), "a time, or a rate that gives one");
      }
    }
    if (cells.error()) return *cells.error();
    rows.push_back({bytes, *time_us});
  }
  return rows;
}

Result<std::vector<MeasuredTable>> read_measured(const std::string& folder_or_file) {
  const fs::path path(folder_or_file);
  std::error_code failure;
  if (fs::is_directory(path, failure)) return read_tables(path / "manifest.csv", "");
  const auto text = read_text(path);
  if (!text) return text.error();
  const auto csv = parse_csv(folder_or_file, *text);
  if (!csv) return csv.error();
  if (csv->column("machine")) return read_tables(path, "");
  return read_tables(path.parent_path() / "manifest.csv", path.filename().string());
}

}  // namespace tally::sim
