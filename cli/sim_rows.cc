#include "cli/sim_rows.h"

#include <fmt/format.h>

#include "verify/csv_field.h"

namespace tally::cli {

using model::Collective;

double algorithm_bandwidth(const sim::Prediction& prediction, std::int64_t bytes) {
  return static_cast<double>(bytes) / (prediction.time.micros() * 1e3);
}

double bus_bandwidth(const sim::Scenario& scenario, const sim::Prediction& prediction,
                     std::int64_t bytes) {
  const double ranks = scenario.ranks;
  const double crossings = scenario.collective == Collective::all_reduce ? 2 : 1;
  return algorithm_bandwidth(prediction, bytes) * crossings * (ranks - 1) / ranks;
}

std::string task_text(const sim::Scenario& scenario) {
  const std::string nodes = scenario.nodes == 1 ? "" : fmt::format("{} nodes of ", scenario.nodes);
  return fmt::format("{} {}{}, {} ranks on {}{}", model::name(scenario.collective),
                     scenario.dtype.name(), scenario.in_place ? " in place" : "", scenario.ranks,
                     nodes, scenario.machine);
}

std::string choice_text(const sim::Scenario& scenario) {
  std::string text = scenario.library + " " + scenario.algorithm;
  if (!scenario.wire.is_none()) text += ", " + scenario.wire.name;
  return text + ", " + std::string(sim::name(scenario.launch));
}

std::vector<std::span<const sim::Scenario>> tasks(std::span<const sim::Scenario> scenarios) {
  std::vector<std::span<const sim::Scenario>> all;
  for (std::size_t begin = 0, end = 0; begin < scenarios.size(); begin = end) {
    const std::string task = task_text(scenarios[begin]);
    while (end < scenarios.size() && task_text(scenarios[end]) == task) ++end;
    all.push_back(scenarios.subspan(begin, end - begin));
  }
  return all;
}

Json scenario_fields(const sim::Scenario& scenario) {
  return {{"collective", model::name(scenario.collective)},
          {"machine", scenario.machine},
          {"nodes", scenario.nodes},
          {"ranks", scenario.ranks},
          {"dtype", scenario.dtype.name()},
          {"in_place", scenario.in_place},
          {"library", scenario.library},
          {"version", scenario.version},
          {"algorithm", scenario.algorithm},
          {"wire", scenario.wire.name},
          {"launch", sim::name(scenario.launch)}};
}

Json prediction_fields(const sim::Scenario& scenario, std::int64_t bytes,
                       const sim::Prediction& prediction) {
  Json object = scenario_fields(scenario);
  object["size_bytes"] = bytes;
  object["time_us"] = prediction.time.micros();
  object["algbw"] = algorithm_bandwidth(prediction, bytes);
  object["busbw"] = bus_bandwidth(scenario, prediction, bytes);
  object["path"] = prediction.path;
  object["bound_by"] = prediction.bound_by;
  return object;
}

void write_json(std::ostream& out, const Json& object) {
  out << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

std::string csv_line(const Json& object) {
  std::string line;
  for (const auto& [key, value] : object.items()) {
    if (!line.empty()) line += ',';
    if (value.is_null()) continue;
    const std::string text = value.is_string()
                                 ? value.get<std::string>()
                                 : value.dump(-1, ' ', false, Json::error_handler_t::replace);
    line += verify::csv_field(text);
  }
  return line + '\n';
}

std::string csv_header(const Json& object) {
  std::string line;
  for (const auto& [key, value] : object.items()) line += (line.empty() ? "" : ",") + key;
  return line + '\n';
}

}  // namespace tally::cli
