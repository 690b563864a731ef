// Races as sentences.

#include <string_view>

#include "kernels/emulator/access_names.h"
#include "kernels/emulator/happens_before.h"
#include "kernels/emulator/mutation.h"

namespace tally::kernels::emulator {
namespace {

std::string_view verb(AccessKind kind) {
  constexpr std::string_view kVerbs[] = {"loads", "stores", "updates"};
  return kVerbs[static_cast<int>(kind)];
}
std::string_view why(Race::Kind kind) {
  switch (kind) {
    case Race::Kind::unordered:
      return "nothing orders them";
    case Race::Kind::scope:
      return "one's scope leaves the other's thread out";
    case Race::Kind::mixed_size:
      return "they are atomic, but not of the same size";
  }
  return "";
}

}  // namespace

std::string describe(const RacingAccess& access) {
  std::string text = name(access.thread) + ' ';
  text += verb(access.kind);
  text += ' ' + std::to_string(access.bytes) + (access.bytes == 1 ? " byte (" : " bytes (");
  text += name(access.order);
  if (is_atomic(access.order)) {
    text += ", ";
    text += name(access.scope);
  }
  return text + ") at " + project_path(access.site.file_name()) + ':' +
         std::to_string(access.site.line());
}

std::string describe(const Race& race, const Memory& memory) {
  return "race on " + memory.describe(race.address) + ": " + describe(race.first) + "; " +
         describe(race.second) + "; " + std::string(why(race.kind));
}

}  // namespace tally::kernels::emulator
