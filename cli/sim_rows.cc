#include "cli/sim_rows.h"

#include <fmt/format.h>

#include "verify/csv_field.h"

namespace tally::cli {

using model::Collective;

double algorithm_bandwidth(const sim::Prediction& prediction, std::int64_t bytes) {
  return static_cast<double>(bytes) / (prediction.time.micros() * 1e3);
}

double bus_bandwidth(const sim::Subject& subject, const sim::Prediction& prediction,
                     std::int64_t bytes) {
  const double ranks = subject.ranks;
  const double crossings = subject.collective == Collective::all_reduce ? 2 : 1;
  return algorithm_bandwidth(prediction, bytes) * crossings * (ranks - 1) / ranks;
}

std::string task_text(const sim::Subject& subject) {
  const std::string nodes = subject.nodes == 1 ? "" : fmt::format("{} nodes of ", subject.nodes);
  return fmt::format("{} {}{}, {} ranks on {}{}", model::name(subject.collective),
                     subject.dtype.name(), subject.in_place ? " in place" : "", subject.ranks,
                     nodes, subject.machine);
}

std::string choice_text(const sim::Subject& subject) {
  std::string text = subject.library + " " + subject.algorithm;
  if (!subject.wire.is_none()) text += ", " + subject.wire.name;
  return text + ", " + std::string(sim::name(subject.launch));
}

std::vector<std::span<const sim::Subject>> tasks(std::span<const sim::Subject> subjects) {
  std::vector<std::span<const sim::Subject>> all;
  for (std::size_t begin = 0, end = 0; begin < subjects.size(); begin = end) {
    const std::string task = task_text(subjects[begin]);
    while (end < subjects.size() && task_text(subjects[end]) == task) ++end;
    all.push_back(subjects.subspan(begin, end - begin));
  }
  return all;
}

Json subject_fields(const sim::Subject& subject) {
  return {{"collective", model::name(subject.collective)},
          {"machine", subject.machine},
          {"nodes", subject.nodes},
          {"ranks", subject.ranks},
          {"dtype", subject.dtype.name()},
          {"in_place", subject.in_place},
          {"library", subject.library},
          {"version", subject.version},
          {"algorithm", subject.algorithm},
          {"wire", subject.wire.name},
          {"launch", sim::name(subject.launch)}};
}

Json prediction_fields(const sim::Subject& subject, std::int64_t bytes,
                       const sim::Prediction& prediction) {
  Json object = subject_fields(subject);
  object["size_bytes"] = bytes;
  object["time_us"] = prediction.time.micros();
  object["algbw"] = algorithm_bandwidth(prediction, bytes);
  object["busbw"] = bus_bandwidth(subject, prediction, bytes);
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
