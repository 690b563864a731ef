#pragma once

// What the command lines of several commands share: parsing flags, and reading lists and numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "model/result.h"
#include "verify/names.h"

namespace CLI {
class App;
}

namespace tally::cli {

/// Fills the options that `app` declares. An unknown flag is an error with a suggestion; --help
/// fills `help`.
std::optional<model::Error> parse_arguments(CLI::App& app, const Arguments& arguments,
                                            std::optional<std::string>& help);

/// Reads a comma-separated list into `values`; leaves it alone where nothing was typed.
template <class T, class Parse>
std::optional<model::Error> read_list(const std::string& typed, Parse parse,
                                      std::vector<T>& values) {
  if (typed.empty()) return std::nullopt;
  values.clear();
  for (const std::string& piece : verify::split(typed, ',')) {
    auto value = parse(piece);
    if (!value) return value.error();
    values.push_back(*value);
  }
  return std::nullopt;
}

/// "all", or a list of what `parse` knows.
template <class T, class Parse>
std::optional<model::Error> read_list_or_all(const std::string& typed, const std::vector<T>& all,
                                             Parse parse, std::vector<T>& values) {
  if (typed != "all") return read_list(typed, parse, values);
  values = all;
  return std::nullopt;
}

/// A whole number in [low, high], with a binary suffix (K, M, G) where sizes are meant.
model::Result<std::int64_t> number(const char* flag, std::string_view text, std::int64_t low,
                                   std::int64_t high, bool with_suffix = false);

/// Reads a whole number into `value`; leaves it alone where nothing was typed.
std::optional<model::Error> read_number(const char* flag, const std::string& typed,
                                        std::int64_t low, std::int64_t high, int& value);

/// An error where more than one of the files is "-", standard output.
std::optional<model::Error> check_outputs(const std::vector<std::string>& files);

}  // namespace tally::cli
