#pragma once

// Which algorithm RCCLX runs for a call, and why: its dispatch as data and one pure function.
// Source: meta-pytorch/torchcomms at 59426ba4, comms/rcclx/develop:
// projects/rccl/src/collectives.cc (order of the paths), meta/algorithms/AlgoInit.h (switches),
// meta/lpcoll/low_precision_common.h (low precision), and comms/common/algorithms (eligibility).
//
// Where RCCLX's own decision is a hazard this one is the repaired one, and says so: sizes have 64
// bits (there thresholds pass through an int), no elements are a success, and where a buffer lies
// decides nothing, since each rank would decide it for itself.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/collective.h"
#include "model/result.h"

namespace tally::model::rcclx {

/// gfx942 is MI300X (fp8: e4m3fnuz), gfx950 MI350X and MI355X (e4m3fn).
enum class Arch : std::uint8_t { gfx942, gfx950 };
/// In the public build DDA reaches all_reduce alone (BUILD_META_INTERNAL is not defined).
enum class Flavour : std::uint8_t { oss, meta_internal };
/// low_precision: fp8 on the wire. dda_flat, dda_tree: loads from peers, in one shot or two.
/// direct: sends and receives. ring: RCCL's own kernels.
enum class Path : std::uint8_t { low_precision, dda_flat, dda_tree, direct, ring };

std::string_view name(Arch arch);
std::string_view name(Flavour flavour);
std::string_view name(Path path);
std::optional<Arch> find_arch(std::string_view name);

/// The variables that decide, in the order of kVariables. Sizes are in bytes.
enum class Switch : std::uint8_t {
  low_precision,
  low_precision_all_reduce,
  low_precision_all_gather,
  low_precision_reduce_scatter,
  low_precision_all_to_all,
  dda_ranks,
  dda_staging_bytes,
  dda_all_reduce,
  dda_all_gather,
  dda_reduce_scatter,
  dda_all_to_all,
  flat_all_reduce_bytes,
  tree_all_reduce_bytes,
  all_gather_bytes,
  reduce_scatter_bytes,
  all_to_all_bytes,
};
struct Variable {
  Switch id;
  std::string_view name;
  std::int64_t initial;
};
std::span<const Variable> variables();
const Variable& variable(Switch which);

/// One value of each; at first what RCCLX has where the variable is not set.
class Switches {
 public:
  Switches();
  std::int64_t operator[](Switch which) const { return values_[static_cast<std::size_t>(which)]; }
  void set(Switch which, std::int64_t value) { values_[static_cast<std::size_t>(which)] = value; }
  Arch arch = Arch::gfx942;
  Flavour flavour = Flavour::oss;

 private:
  std::array<std::int64_t, static_cast<std::size_t>(Switch::all_to_all_bytes) + 1> values_;
};
/// What an environment sets; `lookup` gives a variable's text. Low precision is switched on by "1"
/// and by nothing else, as in RCCLX; of the others, what is no number is an error here.
Result<Switches> read_switches(
    const std::function<std::optional<std::string>(const std::string&)>& lookup);

struct Call {
  Collective collective = Collective::all_reduce;
  std::int64_t count = 0;  // the collective's own
  ElementType dtype = Format::f32;
  Op op = Op::sum;  // of those that only move, sum
  int ranks = 8, nodes = 1;
  bool is_aligned = true;  // both buffers, to 16 bytes
};

/// One condition of one path, with what was found.
struct Gate {
  Path path;
  std::string condition;  // "size at most RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES"
  std::string needs;      // "<= 204800"
  std::string found;      // "204804"
  bool holds;
  bool decides = true;  // false: RCCLX asks this, and one rank alone; here it is only told
};

/// The gates are in the order in which they were asked, of each path up to the first that does not
/// hold; those of the path that is taken all hold.
struct Decision {
  Path path;
  std::vector<Gate> gates;
};
Decision choose(const Call& call, const Switches& switches);

/// What carries a path out here: the name of a builder, and an arithmetic with RCCLX's rounding.
/// Low precision is an unscaled cast to the fp8 of the arch, summed in f32; all else rounds to the
/// element after every operation. RCCL's average of floats multiplies by 1/ranks first.
struct Execution {
  std::string_view algorithm;
  Arithmetic arithmetic;
};
Execution execution(const Call& call, Path path, Arch arch);

}  // namespace tally::model::rcclx
