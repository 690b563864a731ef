#pragma once

// Which algorithm and which arithmetic a call gets: a function of what all ranks know alike.

#include <memory>
#include <string>
#include <vector>

#include "kernels/comm/backend.h"
#include "model/rcclx.h"

namespace tally::comm {

/// A call as the user made it.
struct Request {
  model::Collective collective = model::Collective::all_reduce;
  std::int64_t count = 0;
  model::ElementType dtype = model::Format::f32;
  model::Op op = model::Op::sum;
  float factor = 1;
};

struct Execution {
  std::string algorithm;
  model::Arithmetic arithmetic;
  Grid grid{};
};

/// The messages of a collective up to a size: of the larger of a rank's input and output.
struct AlgorithmRow {
  model::Collective collective = model::Collective::all_reduce;
  std::int64_t most_bytes = 0;
  std::string algorithm;
  Grid grid{};
};
/// The first row that a call fits and whose algorithm allows its arithmetic is taken.
std::vector<AlgorithmRow> default_algorithms();

/// A line for each setting that ranks have to agree on, "name=value".
using Settings = std::vector<std::string>;

class Chooser {
 public:
  virtual ~Chooser() = default;
  /// An error where there is no kernel for the call; its hint names the option.
  virtual model::Result<Execution> choose(const Request& request, int ranks) const = 0;
  virtual Settings settings() const = 0;
  /// Of the largest call of flat_ll that it may choose.
  virtual std::int64_t low_latency_bytes() const = 0;
};

/// By a table, with one wire for sums and for what only moves. Ops that no wire carries travel as
/// they are.
std::unique_ptr<Chooser> choose_by_table(std::vector<AlgorithmRow> table, const model::Wire& wire,
                                         model::Accumulate accumulate);
/// As RCCLX does.
std::unique_ptr<Chooser> choose_as_rcclx(const model::rcclx::Switches& switches);

/// Bytes of the larger of a rank's input and output.
std::int64_t message_bytes(model::Collective collective, model::ElementType dtype, int ranks,
                           std::int64_t count);

}  // namespace tally::comm
