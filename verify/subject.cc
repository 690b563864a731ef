#include "verify/subject.h"

#include <map>

#include "model/suggestion.h"
#include "verify/gpu_subject.h"
#include "verify/nccl_subject.h"

namespace tally::verify {
namespace {

FoundSubject find_emulator(std::string_view, const Hardware&) { return {emulator_subject(), ""}; }

/// Why what runs on GPUs is not available; empty where it is.
std::string no_gpu(const Hardware& hardware) {
  if (hardware.gpu == nullptr) return "this program was built without kernels for a GPU";
  const int devices = static_cast<int>(hardware.gpu->devices().size());
  if (devices == 0) return hardware.gpu->unavailable();
  for (const int device : hardware.devices) {
    if (device >= devices) {
      return "there is no device " + std::to_string(device) + ", but " + std::to_string(devices) +
             " beginning with 0";
    }
  }
  return "";
}

FoundSubject find_gpu(std::string_view, const Hardware& hardware) {
  if (const std::string why = no_gpu(hardware); !why.empty()) return {nullptr, why};
  return {gpu_subject(*hardware.gpu, hardware.devices), ""};
}

FoundSubject find_nccl(std::string_view library, const Hardware& hardware) {
  if (const std::string why = no_gpu(hardware); !why.empty()) return {nullptr, why};
  const auto api = kernels::hardware::nccl::Api::open(std::string(library));
  if (!api) return {nullptr, api.error().what + " (" + api.error().hint + ")"};
  return {nccl_subject(*hardware.gpu, *api, {.devices = hardware.devices}), ""};
}

// Named, so that asking for one is not a spelling mistake.
FoundSubject find_nothing(std::string_view, const Hardware&) { return {nullptr, "not built yet"}; }

/// `find` is given what stands behind the name's "=".
struct KnownSubject {
  std::string_view name;
  FoundSubject (*find)(std::string_view argument, const Hardware& hardware);
};
constexpr KnownSubject kSubjects[] = {
    {"emulator", find_emulator}, {"gpu", find_gpu}, {"nccl", find_nccl}, {"mpi", find_nothing}};

}  // namespace

std::string description(const kernels::hardware::GpuRuntime& runtime,
                        const std::vector<int>& devices) {
  std::string text;
  std::map<std::string, int> of_name;
  for (const int device : devices) ++of_name[runtime.devices()[device].name];
  for (const auto& [name, count] : of_name) {
    text += name + " x " + std::to_string(count) + ", ";
  }
  const auto [vendor, driver, version] = runtime.versions();
  return text + vendor + " driver " + std::to_string(driver) + ", runtime " +
         std::to_string(version);
}

std::vector<std::string> subject_names() {
  std::vector<std::string> names;
  for (const KnownSubject& known : kSubjects) names.emplace_back(known.name);
  return names;
}

model::Result<FoundSubject> find_subject(std::string_view name, const Hardware& hardware) {
  const std::size_t end = name.find('=');
  const std::string_view argument = end == name.npos ? "" : name.substr(end + 1);
  for (const KnownSubject& known : kSubjects) {
    if (known.name == name.substr(0, end)) return known.find(argument, hardware);
  }
  return model::Error{"--subject", "unknown subject '" + std::string(name) + "'",
                      model::suggestion(name, subject_names())};
}

}  // namespace tally::verify
