#include "tests/kernels/assembly/gfx942_rules.h"

#include <algorithm>
#include <regex>
#include <utility>

#include "tests/kernels/assembly/scalar_flow.h"
#include "tests/kernels/assembly/word_rule.h"

namespace tally::kernels::assembly::gfx942 {
namespace {

using Code = std::vector<Instruction>;

bool starts_with(const Instruction& i, std::string_view prefix) {
  return i.operation.rfind(prefix, 0) == 0;
}
bool has_word(const Instruction& i, std::string_view word) {
  return contains(" " + i.text + " ", " " + std::string(word) + " ");
}
bool has_scope(const Instruction& i) { return has_word(i, "sc0") || has_word(i, "sc1"); }
bool is_system(const Instruction& i) { return has_word(i, "sc0") && has_word(i, "sc1"); }
bool is_memory_access(const Instruction& i) {
  return starts_with(i, "global_") || starts_with(i, "flat_") || starts_with(i, "buffer_") ||
         starts_with(i, "scratch_");
}
bool is_flag_store(const Instruction& i) {
  return starts_with(i, "global_store_dword") && has_scope(i);
}
bool is_flag_load(const Instruction& i) {
  return starts_with(i, "global_load_dword") && has_scope(i);
}
int count(const Kernel& kernel, const std::string& pattern) {
  const std::regex operation(pattern);
  return static_cast<int>(std::count_if(
      kernel.code.begin(), kernel.code.end(),
      [&](const Instruction& i) { return std::regex_search(i.operation, operation); }));
}
bool waits_for_memory(const Instruction& i) {
  return i.operation == "s_waitcnt" && contains(i.text, "vmcnt(0)");
}

/// Whether, walking back inside its block, a system write-back stands before `at` with no access
/// between, and with a wait between where `with_wait`.
bool write_back_before(const Code& code, Code::const_iterator at, bool with_wait) {
  bool waited = false;
  while (at != code.begin() && !at->begins_block) {
    --at;
    if (at->operation == "buffer_wbl2") return is_system(*at) && (waited || !with_wait);
    if (is_memory_access(*at)) return false;
    waited = waited || waits_for_memory(*at);
  }
  return false;
}

/// How many scalar registers the kernel starts with that hold addresses of constants: its
/// arguments and what describes its launch.
int preloaded_registers(const Kernel& kernel) {
  static const std::regex count(R"(\.amdhsa_user_sgpr_count (\d+))");
  std::smatch match;
  for (const std::string& directive : kernel.directives) {
    if (std::regex_match(directive, match, count)) return std::stoi(match[1]);
  }
  return 0;
}

}  // namespace

std::string moves_whole_words(const Kernel& kernel) {
  for (const Instruction& i : kernel.code) {
    if (starts_with(i, "flat_") || starts_with(i, "scratch_")) return broken(i, "not global");
  }
  if (kernel.has_packets()) return "";
  return assembly::moves_whole_words(
      kernel, {"s_barrier", "global_load", "global_store", "global_load_dwordx4",
               "global_store_dwordx4", "global_load_dwordx2", "global_load_dwordx3"});
}

std::string moves_whole_packets(const Kernel& kernel) {
  if (!kernel.has_packets()) return "";
  int loads = 0, stores = 0;
  for (const Instruction& i : kernel.code) {
    if (!is_memory_access(i) || !has_scope(i)) continue;
    if (!is_system(i)) return broken(i, "not at system scope");
    loads += i.operation == "global_load_dwordx2";
    stores += i.operation == "global_store_dwordx2";
    if (i.operation != "global_load_dwordx2" && i.operation != "global_store_dwordx2") {
      return broken(i, "not 8 bytes");
    }
  }
  return loads >= kPacketsOfWord && stores >= kPacketsOfWord ? "" : "no packets of a whole word";
}

std::string packets_need_no_order(const Kernel& kernel) {
  if (!kernel.has_packets()) return "";
  const Instruction* barrier = nullptr;
  for (const Instruction& i : kernel.code) {
    if (i.operation == "buffer_wbl2" || i.operation == "buffer_inv") return broken(i, "a fence");
    if (i.operation == "s_barrier") barrier = &i;
    const bool is_packet = is_memory_access(i) && has_scope(i);
    if (is_packet && barrier != nullptr) return broken(*barrier, "a barrier before packets");
  }
  return "";
}

std::string releases_in_every_thread(const Kernel& kernel) {
  if (kernel.has_packets()) return "";
  const Code& code = kernel.code;
  auto barrier = code.end();
  int flags = 0;
  for (auto i = code.begin(); i != code.end(); ++i) {
    if (i->operation == "s_barrier") barrier = i;
    if (!is_flag_store(*i)) continue;
    ++flags;
    if (barrier == code.end()) return broken(*i, "no block barrier before it");
    if (!write_back_before(code, barrier, true)) {
      return broken(*barrier, "no buffer_wbl2 sc0 sc1 with its s_waitcnt vmcnt(0) before it");
    }
  }
  return flags == 0 ? "no flag is stored" : "";
}

std::string stores_flags_with_release(const Kernel& kernel) {
  if (kernel.has_packets()) return "";
  int flags = 0;
  for (auto i = kernel.code.begin(); i != kernel.code.end(); ++i) {
    if (!is_flag_store(*i)) continue;
    ++flags;
    if (!is_system(*i)) return broken(*i, "not at system scope");
    if (!write_back_before(kernel.code, i, false)) return broken(*i, "no write-back before it");
  }
  return flags == 0 ? "no flag is stored" : "";
}

std::string loads_flags_with_acquire(const Kernel& kernel) {
  if (kernel.has_packets()) return "";
  int flags = 0;
  for (auto i = kernel.code.begin(); i != kernel.code.end(); ++i) {
    if (!is_flag_load(*i)) continue;
    ++flags;
    if (!is_system(*i)) return broken(*i, "not at system scope");
    auto next = i + 1;
    bool waited = false;
    while (next != kernel.code.end() && !next->begins_block && !is_memory_access(*next)) {
      waited = waited || waits_for_memory(*next);
      ++next;
    }
    const bool drops = next != kernel.code.end() && !next->begins_block &&
                       next->operation == "buffer_inv" && is_system(*next);
    if (!waited || !drops) return broken(*i, "no s_waitcnt vmcnt(0), buffer_inv sc0 sc1 behind it");
  }
  return flags == 0 ? "no flag is loaded" : "";
}

std::string loads_no_data_as_scalars(const Kernel& kernel) {
  const std::vector<ScalarState> states = scalar_states(kernel, preloaded_registers(kernel));
  bool acquires = kernel.has_packets();
  for (std::size_t k = 0; k < kernel.code.size(); ++k) {
    const Instruction& i = kernel.code[k];
    acquires = acquires || i.operation == "buffer_inv";
    if (!starts_with(i, "s_load") || !states[k].may_have_waited) continue;
    for (const int r : scalar_registers(i.operands.at(1))) {
      if (states[k].constants.count(r) == 0) return broken(i, "not an argument");
    }
  }
  return acquires ? "" : "no acquire";
}

std::string converts_in_hardware_where_it_can(const Kernel& kernel) {
  struct Conversion {
    std::string_view operation;
    model::Format format;
  };
  constexpr Conversion kConversions[] = {
      {"v_cvt_pk_fp8_f32", model::Format::e4m3fnuz},
      {"v_cvt_pk_f32_fp8", model::Format::e4m3fnuz},
      {"v_cvt_pk_bf8_f32", model::Format::e5m2fnuz},
      {"v_cvt_pk_f32_bf8", model::Format::e5m2fnuz},
  };
  for (const auto& [operation, format] : kConversions) {
    const auto found =
        std::find_if(kernel.code.begin(), kernel.code.end(),
                     [op = operation](const Instruction& i) { return starts_with(i, op); });
    const bool is_due = kernel.carries(format);
    if (is_due && found == kernel.code.end()) return "no " + std::string(operation);
    if (!is_due && found != kernel.code.end()) return broken(*found, "software is due");
  }
  return "";
}

std::string shuffles_where_due(const Kernel& kernel) {
  const int shuffles = count(kernel, R"(^ds_bpermute_b32$)");
  if (kernel.has_blocks()) return shuffles == 0 ? "no shuffle" : "";
  return shuffles == 0 ? "" : std::to_string(shuffles) + " shuffles without blocks";
}

// A division by LLVM's AMDGPU backend (LowerFDIV32): v_div_scale twice, v_rcp, two steps that
// improve the reciprocal and three that improve the quotient, v_div_fmas, v_div_fixup.
std::string divides_as_ieee(const Kernel& kernel) {
  const int divisions = count(kernel, R"(^v_div_fixup_f32)");
  if ((divisions > 0) != kernel.divides()) return std::to_string(divisions) + " divisions";
  for (const auto& [operation, times] :
       {std::pair("v_div_scale_f32", 2), {"v_div_fmas_f32", 1}, {"v_rcp_f32", 1}}) {
    const int found = count(kernel, "^" + std::string(operation));
    if (found != times * divisions) {
      return std::to_string(found) + " " + operation + " for " + std::to_string(divisions) +
             " divisions";
    }
  }
  const int others =
      count(kernel, R"(^v_(rsq|sqrt|exp|log|rcp)_(f16|f64)|^v_(rsq|sqrt|exp|log)_f32)");
  return others == 0 ? "" : std::to_string(others) + " approximate operations";
}

std::string fuses_only_in_divisions(const Kernel& kernel) {
  static const std::regex fused(
      R"(^v_(pk_)?(fma|fmac|mac|mad_f|mad_mix|mad_legacy|mad_mixlo|mad_mixhi|madmk|madak|dot))");
  static const std::regex divides(R"(^v_(pk_fma|fma|fmac)_f32)");
  const int divisions = count(kernel, R"(^v_div_fixup_f32)");
  int steps = 0;
  for (const Instruction& i : kernel.code) {
    if (!std::regex_search(i.operation, fused)) continue;
    if (divisions == 0 || !std::regex_search(i.operation, divides)) {
      return broken(i, "a fused multiply-add");
    }
    steps += starts_with(i, "v_pk_") ? 2 : 1;
  }
  if (steps == 5 * divisions) return "";
  return std::to_string(steps) + " fused multiply-adds for " + std::to_string(divisions) +
         " divisions";
}

std::string sets_the_mode(const Kernel& kernel) {
  for (const char* wanted : {".amdhsa_float_round_mode_32 0", ".amdhsa_float_round_mode_16_64 0",
                             ".amdhsa_float_denorm_mode_32 3", ".amdhsa_float_denorm_mode_16_64 3",
                             ".amdhsa_fp16_overflow 0"}) {
    const auto& all = kernel.directives;
    if (std::find(all.begin(), all.end(), wanted) == all.end()) return std::string("no ") + wanted;
  }
  return "";
}

}  // namespace tally::kernels::assembly::gfx942
