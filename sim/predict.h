#pragma once

// What a library's collective will take on a machine: the path that the library chooses, and that
// path's closed form with the machine's and the library's parameters.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/collective.h"
#include "model/machine.h"
#include "model/wire_size.h"
#include "sim/units.h"

namespace tally::sim {

/// How ranks are started: all by one host thread, each by a process of its own, or as a graph that
/// is replayed.
enum class Launch : std::uint8_t { single_process, process_per_gpu, graph };
std::string_view name(Launch launch);
model::Result<Launch> parse_launch(std::string_view name);

/// A row of measured tables, but for its size.
struct Subject {
  std::string machine = "mi300x";  // a preset's name
  int nodes = 1, ranks = 8;
  model::Collective collective = model::Collective::all_reduce;
  std::string library = "tally";   // tally, rccl, rcclx, nccl, mscclpp, quickreduce, vllm, ...
  std::string version;             // as manifests spell it; decides what was built in
  std::string algorithm = "auto";  // auto: as the library chooses
  model::WireSize wire;
  model::ElementType dtype = model::Format::f32;
  Launch launch = Launch::process_per_gpu;
  bool in_place = false;
};

struct Prediction {
  Picos time;
  std::string path;      // "ring/ll", "msccl/allpairs_ll", "dda_flat", ...
  std::string bound_by;  // the largest term: launch, hops, link, memory, codec
};

/// `bytes` is what rccl-tests and nccl-tests call size: of the larger of a rank's input and output.
/// An error names what nothing is known of: a machine, a library, an algorithm of it.
model::Result<Prediction> predict(const Subject& subject, std::int64_t bytes);

/// The libraries that predict() knows, and the algorithms of one.
std::vector<std::string> libraries();
std::vector<std::string> algorithms_of(std::string_view library);

}  // namespace tally::sim
