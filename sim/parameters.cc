#include "sim/parameters.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "model/suggestion.h"
#include "sim/fitted_texts.h"

namespace tally::sim {
namespace {

using Json = nlohmann::ordered_json;
using model::Error;
using model::Result;

const std::map<std::string_view, std::size_t>& row_indices() {
  static const auto indices = [] {
    std::map<std::string_view, std::size_t> map;
    for (std::size_t i = 0; i < parameter_rows().size(); ++i) map[parameter_rows()[i].name] = i;
    return map;
  }();
  return indices;
}

std::string_view unit_of(std::string_view name) {
  const std::string_view term = name.substr(0, name.find('@'));
  return term.ends_with("_us") ? "us" : "";
}

std::vector<std::string> row_names() {
  std::vector<std::string> names;
  for (const ParameterRow& row : parameter_rows()) names.emplace_back(row.name);
  return names;
}

// One entry of the list, into `parameters`.
std::optional<Error> read_entry(const std::string& where, const Json& entry,
                                Parameters& parameters) {
  if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
    return Error{where, "an entry is no object with a name", "as tally sim --calibrate writes it"};
  }
  const auto name = entry["name"].get<std::string>();
  const auto row = row_indices().find(name);
  if (row == row_indices().end()) {
    return Error{where, "unknown parameter '" + name + "'", model::near_miss(name, row_names())};
  }
  double values[3];
  const char* const keys[] = {"value", "low", "high"};
  for (int i = 0; i < 3; ++i) {
    const auto found = entry.find(keys[i]);
    if (found == entry.end() || !found->is_number() || !std::isfinite(found->get<double>())) {
      return Error{where, "'" + name + "' has no number for '" + keys[i] + "'",
                   "value, low and high are finite numbers"};
    }
    values[i] = found->get<double>();
  }
  parameters.set(row->second, {values[0], values[1], values[2]});
  return std::nullopt;
}

}  // namespace

Parameters::Parameters() {
  for (const ParameterRow& row : parameter_rows()) {
    values_.push_back({row.initial, row.initial, row.initial});
  }
}

const Parameters& Parameters::fitted() {
  static const Parameters parameters = [] {
    const auto read = from_json("sim/fitted_parameters.json", fitted_texts().front().text);
    TALLY_CHECK(bool(read), "the program's own parameters can be read");
    return *read;
  }();
  return parameters;
}

std::optional<double> Parameters::find(std::string_view prefix, std::string_view term,
                                       std::initializer_list<std::string_view> of) const {
  for (std::string_view level = prefix; !level.empty();) {
    const std::string name = std::string(level) + "/" + std::string(term);
    for (const std::string_view whose : of) {
      const auto row = row_indices().find(name + "@" + std::string(whose));
      if (row != row_indices().end()) return values_[row->second].value;
    }
    const auto row = row_indices().find(name);
    if (row != row_indices().end()) return values_[row->second].value;
    const std::size_t slash = level.rfind('/');
    level = slash == std::string_view::npos ? "" : level.substr(0, slash);
  }
  return std::nullopt;
}

std::string Parameters::to_json(std::string_view made_by) const {
  Json list = Json::array();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ParameterRow& row = parameter_rows()[i];
    list.push_back({{"name", row.name},
                    {"value", values_[i].value},
                    {"low", values_[i].low},
                    {"high", values_[i].high},
                    {"unit", unit_of(row.name)},
                    {"evidence", model::name(row.is_fitted() ? model::Evidence::fitted
                                                             : model::Evidence::quoted)},
                    {"source", row.source}});
  }
  return Json({{"made_by", made_by}, {"parameters", list}}).dump(1) + "\n";
}

Result<Parameters> Parameters::from_json(const std::string& where, std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Error{where, "no JSON", "as tally sim --calibrate writes it"};
  if (!json.is_object() || !json.contains("parameters") || !json["parameters"].is_array()) {
    return Error{where, "no list of parameters", "as tally sim --calibrate writes it"};
  }
  Parameters parameters;
  for (const Json& entry : json["parameters"]) {
    if (const auto error = read_entry(where, entry, parameters)) return *error;
  }
  return parameters;
}

}  // namespace tally::sim
