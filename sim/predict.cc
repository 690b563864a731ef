#include "sim/predict.h"

#include "model/suggestion.h"

namespace tally::sim {

namespace {
constexpr std::string_view kLaunches[] = {"single_process", "process_per_gpu", "graph"};
}

std::string_view name(Launch launch) { return kLaunches[static_cast<std::size_t>(launch)]; }

model::Result<Launch> parse_launch(std::string_view name) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < std::size(kLaunches); ++i) {
    if (name == kLaunches[i]) return static_cast<Launch>(i);
    known.emplace_back(kLaunches[i]);
  }
  return model::Error{"launch", "unknown launch '" + std::string(name) + "'",
                      model::suggestion(name, known)};
}

std::vector<std::string> libraries() { return {"tally", "rccl", "nccl"}; }
std::vector<std::string> algorithms_of(std::string_view) {
  return {"auto", "flat", "flat_ll", "tree", "ring"};
}

model::Result<Prediction> predict(const Subject& subject, std::int64_t bytes) {
  const double n = static_cast<double>(bytes), ranks = subject.ranks;
  const double wire = subject.wire.is_none() ? 1 : subject.wire.element_bits / 32.0;
  const double launch_us = subject.launch == Launch::graph ? 3 : 8;
  const double link = 45e3;  // bytes a microsecond
  double hops = 2, share = 1;
  std::string path = subject.algorithm == "auto" ? "flat" : subject.algorithm;
  if (path == "tree") hops = 3, share = 2 / ranks;
  if (path == "ring") hops = 2 * (ranks - 1), share = 2 / ranks;
  const double transfer = n * wire * share / link;
  return Prediction{from_nanos((launch_us + hops * 1.5 + transfer) * 1e3), path,
                    transfer > launch_us ? "link" : "launch"};
}

}  // namespace tally::sim
