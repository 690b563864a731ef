#pragma once

// What the modes of `tally sim` share: the words and fields for a scenario and a prediction.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "sim/predict.h"

namespace tally::cli {

using Json = nlohmann::ordered_json;

/// Bytes of `bytes` a second, in 1e9 bytes/s: as nccl-tests has algbw, and busbw, which multiplies
/// it so that it can be compared with a link (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
double algorithm_bandwidth(const sim::Prediction& prediction, std::int64_t bytes);
double bus_bandwidth(const sim::Scenario& scenario, const sim::Prediction& prediction,
                     std::int64_t bytes);

/// "all_reduce f32 in place, 8 ranks of mi300x": what is to be done.
std::string task_text(const sim::Scenario& scenario);
/// "rccl ring, e4m3fn, graph": how.
std::string choice_text(const sim::Scenario& scenario);
/// The runs of scenarios that are choices for the same task.
std::vector<std::span<const sim::Scenario>> tasks(std::span<const sim::Scenario> scenarios);

/// The fields of a scenario, and of a prediction of it; docs/sim.md says what each means.
Json scenario_fields(const sim::Scenario& scenario);
Json prediction_fields(const sim::Scenario& scenario, std::int64_t bytes,
                       const sim::Prediction& prediction);

/// One object in a line. What is not UTF-8 is replaced.
void write_json(std::ostream& out, const Json& object);
/// The values of an object as a line of CSV, and its keys as the header.
std::string csv_line(const Json& object);
std::string csv_header(const Json& object);

}  // namespace tally::cli
