#include <cstring>
#include <unordered_map>

#include "kernels/emulator/memory_model.h"

namespace tally::kernels::emulator {
namespace {

/// The sizes that kernels use most are worth a move of their own.
void copy(void* to, const void* from, std::uint32_t bytes) {
  switch (bytes) {
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    case 16:
      std::memcpy(to, from, 16);
      break;
    default:
      std::memcpy(to, from, bytes);
  }
}

std::byte* home(const Access& access) {
  return static_cast<std::byte*>(const_cast<void*>(access.address));
}

class StrongMemory final : public MemoryModel {
 public:
  explicit StrongMemory(MemoryListener& listener) : listener_(listener) {}

  void load(const Place&, const Access& access, void* value) override {
    copy(value, access.address, access.bytes);
  }
  void store(const Place&, const Access& access, const void* value, StoreToken token) override {
    copy(home(access), value, access.bytes);
    listener_.performed(access.address, access.bytes, token);
  }
  std::uint64_t update(const Place&, const Access& access,
                       const std::function<std::uint64_t(std::uint64_t)>& change) override {
    std::uint64_t before = 0;
    std::memcpy(&before, access.address, access.bytes);
    const std::uint64_t after = change(before);
    std::memcpy(home(access), &after, access.bytes);
    listener_.performed(access.address, access.bytes, 0);
    return before;
  }
  void fence(const Place&, Order, Scope) override {}

  LoadTicket issue_load(const Place& who, const Access& access) override {
    Loaded& loaded = loaded_[++last_ticket_];
    loaded.bytes = access.bytes;
    load(who, access, loaded.value);
    return last_ticket_;
  }
  void bind(LoadTicket ticket, void* value) override {
    const auto at = loaded_.find(ticket);
    std::memcpy(value, at->second.value, at->second.bytes);
    loaded_.erase(at);
  }

  void kernel_begins(int, std::span<const Place>) override {}
  void kernel_ends(int, std::span<const Place>) override {}
  void synchronise(int) override {}
  void breathe() override {}
  bool settle() override { return false; }

 private:
  struct Loaded {
    std::byte value[16];
    std::uint32_t bytes;
  };

  MemoryListener& listener_;
  std::unordered_map<LoadTicket, Loaded> loaded_;
  LoadTicket last_ticket_ = 0;
};

}  // namespace

std::unique_ptr<MemoryModel> strong_memory(MemoryListener& listener) {
  return std::make_unique<StrongMemory>(listener);
}

}  // namespace tally::kernels::emulator
