#include "sim/launch_mode.h"

#include <iterator>
#include <string>
#include <vector>

#include "model/suggestion.h"

namespace tally::sim {
namespace {

constexpr std::string_view kNames[] = {"single_process", "process_per_gpu", "graph"};

}  // namespace

std::string_view name(Launch launch) { return kNames[static_cast<std::size_t>(launch)]; }

model::Result<Launch> parse_launch(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<Launch>(i);
  }
  const std::vector<std::string> known(std::begin(kNames), std::end(kNames));
  return model::Error{"launch", "unknown launch '" + std::string(name) + "'",
                      model::suggestion(name, known)};
}

}  // namespace tally::sim
