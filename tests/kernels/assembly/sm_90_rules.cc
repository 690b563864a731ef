#include "tests/kernels/assembly/sm_90_rules.h"

#include <algorithm>
#include <regex>

#include "tests/kernels/assembly/word_rule.h"

namespace tally::kernels::assembly::sm_90 {
namespace {

using Code = std::vector<Instruction>;

bool starts_with(const Instruction& i, std::string_view prefix) {
  return i.operation.rfind(prefix, 0) == 0;
}
bool is_access(const Instruction& i) {
  return (starts_with(i, "ld.") && !starts_with(i, "ld.param")) || starts_with(i, "st.");
}
/// A load or store that says how it is ordered: relaxed, acquire, release, volatile, mmio.
bool is_ordered(const Instruction& i) {
  static const std::regex ordered(R"(^(ld|st)\.(relaxed|acquire|release|volatile|mmio))");
  return std::regex_search(i.operation, ordered);
}
bool is_block_barrier(const Instruction& i) {
  return starts_with(i, "bar.sync") || starts_with(i, "barrier");
}
int count(const Code& code, std::string_view operation) {
  return static_cast<int>(std::count_if(
      code.begin(), code.end(), [&](const Instruction& i) { return i.operation == operation; }));
}

constexpr std::string_view kLoadFlag = "ld.acquire.sys.global.u32";
constexpr std::string_view kStoreFlag = "st.release.sys.global.u32";
constexpr std::string_view kLoadPacket = "ld.relaxed.sys.global.u64";
constexpr std::string_view kStorePacket = "st.relaxed.sys.global.u64";

}  // namespace

std::string moves_whole_words(const Kernel& kernel) {
  for (const Instruction& i : kernel.code) {
    if (starts_with(i, "ld.global.nc")) return broken(i, "a load of read-only data");
    const bool is_global = contains(i.operation, ".global");
    if (is_access(i) && !is_global) return broken(i, "not global");
  }
  if (kernel.has_packets()) return "";
  return assembly::moves_whole_words(kernel, {"bar.sync", "ld.global", "st.global",
                                              "ld.global.v4.u32", "st.global.v4.u32", "", ""});
}

std::string moves_whole_packets(const Kernel& kernel) {
  if (!kernel.has_packets()) return "";
  for (const Instruction& i : kernel.code) {
    if (is_ordered(i) && i.operation != kLoadPacket && i.operation != kStorePacket) {
      return broken(i, "not relaxed.sys.global.u64");
    }
  }
  const bool are_there = count(kernel.code, kLoadPacket) >= kPacketsOfWord &&
                         count(kernel.code, kStorePacket) >= kPacketsOfWord;
  return are_there ? "" : "no packets of a whole word";
}

std::string packets_need_no_order(const Kernel& kernel) {
  if (!kernel.has_packets()) return "";
  const Instruction* barrier = nullptr;
  for (const Instruction& i : kernel.code) {
    if (starts_with(i, "fence") || starts_with(i, "membar")) return broken(i, "a fence");
    if (is_block_barrier(i)) barrier = &i;
    if (is_ordered(i) && barrier != nullptr) return broken(*barrier, "a barrier before packets");
  }
  return "";
}

std::string signals_behind_a_barrier(const Kernel& kernel) {
  if (kernel.has_packets()) return "";
  const Instruction* latest = nullptr;  // barrier or access, but those of flags
  int flags = 0;
  for (const Instruction& i : kernel.code) {
    const bool stores_flag = starts_with(i, "st.") && is_ordered(i);
    if (stores_flag) {
      ++flags;
      if (latest == nullptr) return broken(i, "no block barrier before it");
      if (!is_block_barrier(*latest)) return broken(*latest, "between a barrier and a flag");
    } else if (is_block_barrier(i) || is_access(i)) {
      latest = &i;
    }
  }
  return flags == 0 ? "no flag is stored" : "";
}

std::string stores_flags_with_release(const Kernel& kernel) {
  if (kernel.has_packets()) return "";
  for (const Instruction& i : kernel.code) {
    if (starts_with(i, "st.") && is_ordered(i) && i.operation != kStoreFlag) {
      return broken(i, "not st.release.sys");
    }
  }
  return count(kernel.code, kStoreFlag) == 0 ? "no st.release.sys" : "";
}

std::string loads_flags_with_acquire(const Kernel& kernel) {
  if (kernel.has_packets()) return "";
  for (const Instruction& i : kernel.code) {
    if (starts_with(i, "ld.") && is_ordered(i) && i.operation != kLoadFlag) {
      return broken(i, "not ld.acquire.sys");
    }
  }
  return count(kernel.code, kLoadFlag) == 0 ? "no ld.acquire.sys" : "";
}

std::string converts_in_hardware_where_it_can(const Kernel& kernel) {
  struct Conversion {
    std::string_view operation;
    model::Format format;
    bool only_saturating;
  };
  constexpr Conversion kConversions[] = {
      {"cvt.rn.satfinite.e4m3x2.f32", model::Format::e4m3fn, true},
      {"cvt.rn.satfinite.e5m2x2.f32", model::Format::e5m2, true},
      {"cvt.rn.f16x2.e4m3x2", model::Format::e4m3fn, false},
      {"cvt.rn.f16x2.e5m2x2", model::Format::e5m2, false},
  };
  for (const auto& [operation, format, only_saturating] : kConversions) {
    const bool is_due = kernel.carries(format) && (!only_saturating || kernel.saturates());
    const auto found =
        std::find_if(kernel.code.begin(), kernel.code.end(),
                     [op = operation](const Instruction& i) { return i.operation == op; });
    if (is_due && found == kernel.code.end()) return "no " + std::string(operation);
    if (!is_due && found != kernel.code.end()) return broken(*found, "software is due");
  }
  return "";
}

std::string shuffles_where_due(const Kernel& kernel) {
  for (const std::string_view shuffle : {"shfl.sync.bfly.b32", "shfl.sync.idx.b32"}) {
    const int found = count(kernel.code, shuffle);
    if ((found > 0) != kernel.has_blocks()) {
      return std::to_string(found) + " " + std::string(shuffle);
    }
  }
  return "";
}

std::string divides_as_ieee(const Kernel& kernel) {
  for (const Instruction& i : kernel.code) {
    if (starts_with(i, "rcp.")) return broken(i, "a reciprocal");
  }
  const int divisions = count(kernel.code, "div.rn.f32");
  return (divisions > 0) == kernel.divides() ? "" : std::to_string(divisions) + " divisions";
}

std::string fuses_nothing(const Kernel& kernel) {
  static const std::regex fused(R"(^(fma\.|mad\.(.*\.)?f(16|32|64)))");
  for (const Instruction& i : kernel.code) {
    if (std::regex_search(i.operation, fused)) return broken(i, "a fused multiply-add");
  }
  return "";
}

std::string rounds_as_ieee(const Kernel& kernel) {
  static const std::regex loose(R"(\.(ftz|approx|full|sat)(\.|$))");
  for (const Instruction& i : kernel.code) {
    if (std::regex_search(i.operation, loose)) return broken(i, "flushed or approximate");
  }
  return "";
}

}  // namespace tally::kernels::assembly::sm_90
