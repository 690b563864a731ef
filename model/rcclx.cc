#include "model/rcclx.h"

#include <charconv>
#include <iterator>

namespace tally::model::rcclx {
namespace {

constexpr std::int64_t kKi = 1024, kMi = 1024 * kKi;
constexpr std::int64_t kLowPrecisionBytes = 16 * kMi;  // collectives.cc, 35
constexpr std::int64_t kVectorBytes = 16;

constexpr Variable kVariables[] = {
    {Switch::low_precision, "RCCL_LOW_PRECISION_ENABLE", 0},
    {Switch::low_precision_all_reduce, "RCCL_LOW_PRECISION_ENABLE_ALLREDUCE", 0},
    {Switch::low_precision_all_gather, "RCCL_LOW_PRECISION_ENABLE_ALLGATHER", 0},
    {Switch::low_precision_reduce_scatter, "RCCL_LOW_PRECISION_ENABLE_REDUCESCATTER", 0},
    {Switch::low_precision_all_to_all, "RCCL_LOW_PRECISION_ENABLE_ALLTOALL", 0},
    {Switch::dda_ranks, "RCCL_DDA_NRANKS", 8},
    {Switch::dda_staging_bytes, "RCCL_DDA_SENDBUF_BYTES", 32 * kMi},
    {Switch::dda_all_reduce, "RCCL_ENABLE_DDA_ALL_REDUCE", 1},
    {Switch::dda_all_gather, "RCCL_ENABLE_DDA_ALL_GATHER", 1},
    {Switch::dda_reduce_scatter, "RCCL_ENABLE_DDA_REDUCE_SCATTER", 1},
    {Switch::dda_all_to_all, "RCCL_ENABLE_DDA_ALL_TO_ALL", 1},
    {Switch::flat_all_reduce_bytes, "RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES", 200 * kKi},
    {Switch::tree_all_reduce_bytes, "RCCL_DDA_ALL_REDUCE_TREE_MAX_BYTES", 29 * kMi},
    {Switch::all_gather_bytes, "RCCL_DDA_ALL_GATHER_MAX_BYTES", 16 * kMi},
    {Switch::reduce_scatter_bytes, "RCCL_DDA_REDUCE_SCATTER_MAX_BYTES", 8 * kMi},
    {Switch::all_to_all_bytes, "RCCL_DDA_ALL_TO_ALL_MAX_BYTES", 2 * kMi},
};

constexpr bool variables_are_in_order() {
  for (std::size_t i = 0; i < std::size(kVariables); ++i) {
    if (kVariables[i].id != static_cast<Switch>(i)) return false;
  }
  return true;
}
static_assert(variables_are_in_order(), "Switch names the rows of kVariables by position");

bool is_low_precision(Switch which) { return which <= Switch::low_precision_all_to_all; }

/// The variables of one collective.
struct Row {
  Collective collective;
  Switch low_precision, dda, most_bytes;
};
constexpr Row kRows[] = {
    {Collective::all_reduce, Switch::low_precision_all_reduce, Switch::dda_all_reduce,
     Switch::tree_all_reduce_bytes},
    {Collective::reduce_scatter, Switch::low_precision_reduce_scatter, Switch::dda_reduce_scatter,
     Switch::reduce_scatter_bytes},
    {Collective::all_gather, Switch::low_precision_all_gather, Switch::dda_all_gather,
     Switch::all_gather_bytes},
    {Collective::all_to_all, Switch::low_precision_all_to_all, Switch::dda_all_to_all,
     Switch::all_to_all_bytes},
};
const Row& row(Collective collective) { return kRows[static_cast<std::size_t>(collective)]; }

std::string text(std::int64_t number) { return std::to_string(number); }
std::string text(std::string_view words) { return std::string(words); }
std::string with_name(std::string_view words, Switch which) {
  return std::string(words) + " " + std::string(variable(which).name);
}

bool is_float(ElementType dtype) {
  return dtype == Format::f32 || dtype == Format::f16 || dtype == Format::bf16;
}

/// Asks the gates of a call, and keeps what was found.
class Dispatch {
 public:
  Dispatch(const Call& call, const Switches& switches)
      : call_(call),
        switches_(switches),
        row_(row(call.collective)),
        block_bytes_(call.count * call.dtype.bytes()),
        // What is compared with thresholds: of all but all_reduce the bytes of all blocks.
        bytes_(call.collective == Collective::all_reduce ? block_bytes_
                                                         : call.ranks * block_bytes_) {}

  Path choose() {
    if (takes_low_precision()) return Path::low_precision;
    if (call_.collective == Collective::all_gather && low_precision_is_on()) {
      // RCCLX leaves the rest of its dispatch here: exact sends and receives, whatever the size.
      ask(Path::direct, "low precision is on, and the call is not for it", "", "", true);
      return Path::direct;
    }
    if (can_use_dda(Path::dda_flat)) {
      if (call_.collective != Collective::all_reduce || fits_flat()) return Path::dda_flat;
      if (fits_tree()) return Path::dda_tree;
    }
    return sends_directly() ? Path::direct : Path::ring;
  }
  std::vector<Gate> gates() { return std::move(gates_); }

 private:
  bool ask(Path path, std::string condition, std::string needs, std::string found, bool holds) {
    gates_.push_back({path, std::move(condition), std::move(needs), std::move(found), holds});
    return holds;
  }
  bool at_most(Path path, std::string condition, std::int64_t found, std::int64_t most) {
    return ask(path, std::move(condition), "<= " + text(most), text(found), found <= most);
  }
  bool is_multiple(Path path, std::string condition, std::int64_t found, std::int64_t of) {
    return ask(path, std::move(condition), "multiple of " + text(of), text(found), found % of == 0);
  }
  bool is_set(Path path, Switch which) {
    return ask(path, text(variable(which).name), "not 0", text(switches_[which]),
               switches_[which] != 0);
  }
  bool is_sum(Path path) {
    return only_moves(call_.collective) ||
           ask(path, "op", "sum", text(name(call_.op)), call_.op == Op::sum);
  }

  bool low_precision_is_on() const {
    return switches_[Switch::low_precision] == 1 || switches_[row_.low_precision] == 1;
  }
  bool takes_low_precision() {
    const Path path = Path::low_precision;
    const auto dtype = call_.dtype;
    return ask(path,
               with_name(text(variable(Switch::low_precision).name) + " or", row_.low_precision),
               "1", low_precision_is_on() ? "1" : "0", low_precision_is_on()) &&
           ask(path, "dtype", "f32 or bf16", text(dtype.name()),
               dtype == Format::f32 || dtype == Format::bf16) &&
           is_sum(path) &&
           ask(path, "size in bytes", ">= " + text(kLowPrecisionBytes), text(bytes_),
               bytes_ >= kLowPrecisionBytes);
  }

  bool can_use_dda(Path path) {
    const bool is_public = call_.collective == Collective::all_reduce;
    const std::int64_t ranks = call_.ranks;
    if (!is_public && !ask(path, "build", "meta_internal", text(name(switches_.flavour)),
                           switches_.flavour == Flavour::meta_internal)) {
      return false;
    }
    if (!(ask(path, "nodes", "1", text(call_.nodes), call_.nodes == 1) &&
          ask(path, with_name("ranks equal", Switch::dda_ranks), text(switches_[Switch::dda_ranks]),
              text(ranks), ranks == switches_[Switch::dda_ranks]) &&
          ask(path, "ranks with a kernel", "2, 4, 8 or 16", text(ranks),
              ranks == 2 || ranks == 4 || ranks == 8 || ranks == 16) &&
          is_set(path, row_.dda) && is_sum(path) &&
          ask(path, "dtype", "f32, f16 or bf16", text(call_.dtype.name()), is_float(call_.dtype)) &&
          at_most(path, with_name("size in bytes, at most", Switch::dda_staging_bytes), bytes_,
                  switches_[Switch::dda_staging_bytes]))) {
      return false;
    }
    gates_.push_back({path, "both buffers' addresses", "multiples of 16",
                      call_.is_aligned ? "they are" : "they are not", call_.is_aligned, false});
    return is_multiple(path, "bytes of a block", block_bytes_, kVectorBytes) &&
           at_most(path, with_name("size in bytes, at most", row_.most_bytes), bytes_,
                   switches_[row_.most_bytes]);
  }
  bool fits_flat() {
    return at_most(Path::dda_flat,
                   with_name("size in bytes, at most", Switch::flat_all_reduce_bytes), bytes_,
                   switches_[Switch::flat_all_reduce_bytes]);
  }
  bool fits_tree() {
    return is_multiple(Path::dda_tree, "elements", call_.count, call_.ranks) &&
           is_multiple(Path::dda_tree, "bytes of a rank's chunk", bytes_ / call_.ranks,
                       kVectorBytes);
  }

  /// projects/rccl/src/rccl_wrap.cc: rcclUseAllGatherDirect, rcclUseReduceScatterDirect.
  bool sends_directly() {
    const Path path = Path::direct;
    const bool is_950 = switches_.arch == Arch::gfx950;
    switch (call_.collective) {
      case Collective::all_reduce:
        return false;
      case Collective::all_gather: {
        const std::int64_t one_node = is_950 ? 8 * kMi : 4 * kMi;
        const bool by_nodes = is_950 && call_.nodes > 1;
        return is_multiple(path, "ranks", call_.ranks, 8) &&
               at_most(path, "nodes", call_.nodes, 63) &&
               at_most(path, "size in bytes", bytes_, by_nodes ? call_.nodes * 2 * kMi : one_node);
      }
      case Collective::reduce_scatter:
        return ask(path, "arch", "gfx950", text(name(switches_.arch)), is_950) &&
               ask(path, "nodes", "2, 4 or 8", text(call_.nodes),
                   call_.nodes == 2 || call_.nodes == 4 || call_.nodes == 8) &&
               at_most(path, "size in bytes", bytes_, 2 * kMi);
      default:  // of all_to_all RCCL has no other
        return true;
    }
  }

  const Call& call_;
  const Switches& switches_;
  const Row& row_;
  const std::int64_t block_bytes_, bytes_;
  std::vector<Gate> gates_;
};

}  // namespace

std::string_view name(Arch arch) { return arch == Arch::gfx942 ? "gfx942" : "gfx950"; }
std::string_view name(Flavour flavour) { return flavour == Flavour::oss ? "oss" : "meta_internal"; }
std::string_view name(Path path) {
  constexpr std::string_view kNames[] = {"low_precision", "dda_flat", "dda_tree", "direct", "ring"};
  return kNames[static_cast<std::size_t>(path)];
}
std::optional<Arch> find_arch(std::string_view wanted) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (name(arch) == wanted) return arch;
  }
  return std::nullopt;
}

std::span<const Variable> variables() { return kVariables; }
const Variable& variable(Switch which) { return kVariables[static_cast<std::size_t>(which)]; }

Switches::Switches() {
  for (const Variable& one : kVariables) set(one.id, one.initial);
}

Result<Switches> read_switches(
    const std::function<std::optional<std::string>(const std::string&)>& lookup) {
  Switches switches;
  for (const Variable& one : kVariables) {
    const std::optional<std::string> found = lookup(std::string(one.name));
    if (!found) continue;
    if (is_low_precision(one.id)) {
      switches.set(one.id, *found == "1" ? 1 : 0);
      continue;
    }
    std::int64_t value = 0;
    const char* const end = found->data() + found->size();
    const auto [last, fault] = std::from_chars(found->data(), end, value);
    if (fault != std::errc() || last != end || value < 0) {
      return Error{text(one.name), "'" + *found + "' is not a number",
                   "a whole number, at least 0; " + text(one.initial) + " where it is not set"};
    }
    switches.set(one.id, value);
  }
  return switches;
}

Decision choose(const Call& call, const Switches& switches) {
  if (call.collective == Collective::all_to_all_v) return {Path::direct, {}};
  Dispatch dispatch(call, switches);
  const Path path = dispatch.choose();
  return {path, dispatch.gates()};
}

Execution execution(const Call& call, Path path, Arch arch) {
  Execution how{"flat", {}};
  how.arithmetic.element = call.dtype;
  how.arithmetic.op = call.op == Op::avg ? Op::avg_premul : call.op;
  if (path == Path::low_precision) {
    const Format fp8 = arch == Arch::gfx942 ? Format::e4m3fnuz : Format::e4m3fn;
    how.arithmetic.wire = cast_wire(fp8);
    how.arithmetic.accumulate = Accumulate::f32;
  }
  if (call.collective == Collective::all_reduce) {
    if (path == Path::low_precision || path == Path::dda_tree) how.algorithm = "tree";
    if (path == Path::ring) how.algorithm = "ring";
  }
  return how;
}

}  // namespace tally::model::rcclx
