#include "cli/option_values.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "model/suggestion.h"

namespace tally::cli {
namespace {

using model::Error;

/// Every flag that was declared, for suggestions.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

}  // namespace

std::optional<Error> parse_arguments(CLI::App& app, const Arguments& arguments,
                                     std::optional<std::string>& help) {
  Arguments reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    help = app.help();
  } catch (const CLI::ExtrasError&) {
    const auto extras = app.remaining();
    const std::string unknown = extras.empty() ? "" : extras.front();
    return Error{"command line", "unknown argument '" + unknown + "'",
                 model::suggestion(unknown.substr(0, unknown.find('=')), flag_names(app))};
  } catch (const CLI::ParseError& error) {
    return Error{"command line", error.what(), app.get_name() + " --help lists the flags"};
  }
  return std::nullopt;
}

model::Result<std::int64_t> number(const char* flag, std::string_view text, std::int64_t low,
                                   std::int64_t high, bool with_suffix) {
  std::int64_t scale = 1;
  std::string_view digits = text;
  if (with_suffix && !text.empty()) {
    const std::size_t suffix = std::string_view("KMG").find(text.back());
    if (suffix != std::string_view::npos) {
      scale = std::int64_t{1} << (10 * (suffix + 1));
      digits.remove_suffix(1);
    }
  }
  const auto value = verify::parse_integer<std::int64_t>(digits);
  if (!value || *value < 0 || *value > high / scale || *value * scale < low) {
    return Error{flag, "'" + std::string(text) + "' is not a whole number that can be used here",
                 "from " + std::to_string(low) + " to " + std::to_string(high)};
  }
  return *value * scale;
}

std::optional<Error> read_number(const char* flag, const std::string& typed, std::int64_t low,
                                 std::int64_t high, int& value) {
  if (typed.empty()) return std::nullopt;
  const auto parsed = number(flag, typed, low, high);
  if (!parsed) return parsed.error();
  value = static_cast<int>(*parsed);
  return std::nullopt;
}

std::optional<Error> check_outputs(const std::vector<std::string>& files) {
  if (std::count(files.begin(), files.end(), "-") <= 1) return std::nullopt;
  return Error{"command line", "two outputs ask for standard output", "give one of them a file"};
}

}  // namespace tally::cli
