#include "cli/verify_time.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "cli/complain.h"
#include "cli/output_files.h"
#include "verify/timing.h"

namespace tally::cli {
namespace {

using tally::verify::Timed;
using tally::verify::TimedCall;
using tally::verify::TimedRow;

/// Sizes where none were typed, in bytes of the larger buffer.
constexpr std::int64_t kSmallest = 1 << 10, kLargest = 1 << 28, kFactor = 4;

std::vector<TimedCall> timed_calls(const tally::verify::Plan& plan, int ranks) {
  std::vector<std::int64_t> sizes = plan.sizes;
  if (sizes.empty() && plan.counts.empty()) {
    for (std::int64_t size = kSmallest; size <= kLargest; size *= kFactor) sizes.push_back(size);
  }
  std::vector<TimedCall> all;
  for (const model::Collective collective : plan.collectives) {
    for (const model::ElementType dtype : plan.dtypes) {
      for (const model::Wire& wire : plan.wires) {
        const model::Arithmetic arithmetic = model::arithmetic_of_sums(dtype, wire);
        for (const std::int64_t count : plan.counts) all.push_back({collective, arithmetic, count});
        const std::int64_t blocks = std::max(model::input_elements(collective, ranks, 1),
                                             model::output_elements(collective, ranks, 1));
        for (const std::int64_t size : sizes) {
          all.push_back({collective, arithmetic, size / dtype.bytes() / blocks});
        }
      }
    }
  }
  return all;
}

/// A rank has an input, an output, staging and the library's own copies of both at once.
std::optional<model::Error> too_large(const std::vector<TimedCall>& calls, int ranks,
                                      std::size_t memory_bytes) {
  for (const TimedCall& call : calls) {
    const auto larger = static_cast<std::size_t>(
        call.arithmetic.element.bytes() *
        std::max(model::input_elements(call.collective, ranks, call.count),
                 model::output_elements(call.collective, ranks, call.count)));
    if (larger <= memory_bytes / 8) continue;
    return model::Error{"--time",
                        std::to_string(larger) + " bytes are more than an eighth of a GPU",
                        "a smaller -e or --count"};
  }
  return std::nullopt;
}

std::string text(const Timed* timed) {
  if (timed == nullptr) return "-";
  const std::string launch = timed->launch ? " " + timed->launch->text() : "";
  return fmt::format("{:.2f} {}{}", timed->microseconds, timed->algorithm, launch);
}

void print(const TimedRow& row) {
  const Timed *ours = row.best_of_ours(), *theirs = row.best_of_library();
  const std::string ratio =
      ours && theirs ? fmt::format("{:.2f}", ours->microseconds / theirs->microseconds) : "-";
  fmt::print("{:>14} {:>5} {:>12} {:>10}  {:>9.2f}  {:<32} {:<40} {:>6}\n",
             model::name(row.call.collective), row.call.arithmetic.element.name(),
             row.call.arithmetic.wire.name(), row.size_bytes, row.floor_microseconds, text(ours),
             text(theirs), ratio);
}

nlohmann::ordered_json json(const TimedRow& row) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Timed& one : row.all) {
    all.push_back({{"algorithm", one.algorithm},
                   {"launch", one.launch ? one.launch->text() : ""},
                   {"time_us", one.microseconds}});
  }
  return {{"collective", model::name(row.call.collective)},
          {"dtype", row.call.arithmetic.element.name()},
          {"wire", row.call.arithmetic.wire.name()},
          {"ranks", row.ranks},
          {"count", row.call.count},
          {"size_bytes", row.size_bytes},
          {"floor_us", row.floor_microseconds},
          {"timed", all}};
}

/// A line of the table of what is best at each size.
std::string csv(const TimedRow& row) {
  const Timed *ours = row.best_of_ours(), *theirs = row.best_of_library();
  return fmt::format("{},{},{},{},{},{},{},{},{}\n", model::name(row.call.collective),
                     row.call.arithmetic.element.name(), row.call.arithmetic.wire.name(), row.ranks,
                     row.size_bytes, ours ? ours->algorithm : "",
                     ours && ours->launch ? ours->launch->text() : "",
                     ours ? fmt::format("{:.2f}", ours->microseconds) : "",
                     theirs ? fmt::format("{:.2f}", theirs->microseconds) : "");
}
constexpr std::string_view kCsvHead =
    "collective,dtype,wire,ranks,size_bytes,algorithm,launch,time_us,library_time_us\n";

}  // namespace

int verify_time(const VerifyOptions& options) {
  namespace hardware = kernels::hardware;
  hardware::GpuRuntime& gpu = *hardware::linked_gpu_runtime();
  const std::size_t equals = options.subject.find('=');
  const auto library = hardware::nccl::Api::open(
      equals == std::string::npos ? "" : options.subject.substr(equals + 1));
  OutputFiles files;
  const auto opened = files.open_or_stdout(options.json), table = files.open_or_stdout(options.csv);
  if (!opened) return complain(opened.error());
  if (!table) return complain(table.error());
  std::ostream *const lines = *opened, *const best = *table;
  if (best != nullptr) *best << kCsvHead;
  std::vector<int> devices = options.devices;
  if (devices.empty()) {
    devices.resize(std::min<std::size_t>(gpu.devices().size(), kernels::kMaxRanks));
    std::iota(devices.begin(), devices.end(), 0);
  }
  const int ranks = static_cast<int>(devices.size());
  const std::vector<TimedCall> calls = timed_calls(*options.timed, ranks);
  if (auto error = too_large(calls, ranks, gpu.devices()[devices[0]].memory_bytes)) {
    return complain(*error);
  }
  const double bandwidth = tally::verify::peer_copy_bandwidth(gpu, devices);
  const auto versions = gpu.versions();
  const std::string library_name =
      library ? (*library)->library() + " " + (*library)->version() : "none";
  if (lines != nullptr) {
    *lines << nlohmann::ordered_json{{"device", gpu.devices()[devices[0]].name},
                                     {"devices", ranks},
                                     {"driver", versions.driver},
                                     {"runtime", versions.runtime},
                                     {"library", library_name},
                                     {"peer_copy_bytes_per_s", bandwidth}}
           << "\n";
  }
  if (options.table_on_stdout()) {
    fmt::print("# {} x {}, {} driver {} runtime {}, library {}, peer copy {:.0f}e9 bytes/s\n",
               ranks, gpu.devices()[devices[0]].name, versions.vendor, versions.driver,
               versions.runtime, library_name, bandwidth / 1e9);
    fmt::print("# {:>12} {:>5} {:>12} {:>10}  {:>9}  {:<32} {:<40} {:>6}\n", "collective", "type",
               "wire", "size(B)", "floor(us)", "ours(us)", "library(us)", "ratio");
  }
  tally::verify::time_calls(gpu, devices, library ? library->get() : nullptr, calls, bandwidth,
                            [&](const TimedRow& row) {
                              if (lines != nullptr) *lines << json(row) << "\n" << std::flush;
                              if (best != nullptr) *best << csv(row) << std::flush;
                              if (options.table_on_stdout()) print(row);
                            });
  if (const auto error = files.finish()) return complain(*error);
  return kHeld;
}

}  // namespace tally::cli
