#pragma once

// What a library's collective will take on a machine: the path that the library chooses, and that
// path's closed form with the machine's and the library's parameters.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "sim/paths.h"
#include "sim/scenario.h"
#include "sim/simulate.h"
#include "sim/units.h"

namespace tally::sim {

struct Prediction {
  Picos time;
  std::string path;      // "ring/ll", "msccl/allpairs_ll", "dda_flat", ...
  std::string bound_by;  // the largest term: launch, hops, link, memory, codec
};

/// The paths of one scenario, priced once, so that many sizes cost little.
class Predictor {
 public:
  /// An error names what nothing is known of: a machine, a library, an algorithm of it, or that
  /// there are not as many GPUs.
  static model::Result<Predictor> of(const Scenario& scenario,
                                     const Parameters& parameters = Parameters::fitted());

  /// `bytes` >= 0: what rccl-tests and nccl-tests call size, of the larger of a rank's input and
  /// output.
  Prediction operator()(std::int64_t bytes) const;
  double micros(std::int64_t bytes) const;
  const std::vector<Path>& paths() const { return paths_; }

 private:
  Picos form_time(std::int64_t bytes) const;
  const Path& choose(std::int64_t bytes) const;

  Scenario scenario_;
  std::string arch_;
  Ports ports_;
  std::vector<Path> paths_;
  std::optional<Terms> terms_;  // of an algorithm without kernels: a form of the machine's facts
};

/// `bytes` is what rccl-tests and nccl-tests call size: of the larger of a rank's input and output.
/// An error names what nothing is known of: a machine, a library, an algorithm of it.
model::Result<Prediction> predict(const Scenario& scenario, std::int64_t bytes);

/// The libraries that predict() knows, and the algorithms of one.
std::vector<std::string> libraries();
std::vector<std::string> algorithms_of(std::string_view library);

}  // namespace tally::sim
