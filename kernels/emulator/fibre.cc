#include "kernels/emulator/fibre.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tally::kernels::emulator {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStackBytes = 256 * 1024;  // redzones make frames several times larger
void about_to_switch(void** fake_stack, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
void switched(void* fake_stack, void** bottom, std::size_t* bytes) {
  const void* from = nullptr;
  __sanitizer_finish_switch_fiber(fake_stack, &from, bytes);
  *bottom = const_cast<void*>(from);
}
#else
constexpr std::size_t kStackBytes = 64 * 1024;
void about_to_switch(void**, const void*, std::size_t) {}
void switched(void*, void**, std::size_t*) {}
#endif

constexpr std::uint64_t kCanary = 0x5AFE'57AC'CA5A'11E7;

/// Stacks of finished fibres, kept for the next ones of the same OS thread.
std::vector<std::unique_ptr<std::byte[]>>& spare_stacks() {
  thread_local std::vector<std::unique_ptr<std::byte[]>> stacks;
  return stacks;
}

struct StackPool {
  boost::context::stack_context allocate() {
    auto& spare = spare_stacks();
    std::byte* bottom;
    if (spare.empty()) {
      bottom = new std::byte[kStackBytes];
    } else {
      bottom = spare.back().release();
      spare.pop_back();
    }
    *reinterpret_cast<std::uint64_t*>(bottom) = kCanary;
    boost::context::stack_context context;
    context.size = kStackBytes;
    context.sp = bottom + kStackBytes;
    return context;
  }
  void deallocate(boost::context::stack_context& context) {
    std::byte* bottom = static_cast<std::byte*>(context.sp) - kStackBytes;
    TALLY_CHECK(*reinterpret_cast<std::uint64_t*>(bottom) == kCanary,
                "an emulated thread overflowed its stack");
    spare_stacks().emplace_back(bottom);
  }
};

}  // namespace

Fibre::Fibre(std::function<void()> body) : body_(std::move(body)) {
  StackPool pool;
  const boost::context::stack_context stack = pool.allocate();
  own_ = {static_cast<std::byte*>(stack.sp) - stack.size, stack.size};
  inside_ = boost::context::fiber(std::allocator_arg,
                                  boost::context::preallocated(stack.sp, stack.size, stack), pool,
                                  [this](boost::context::fiber&& scheduler) {
                                    switched(nullptr, &scheduler_.bottom, &scheduler_.bytes);
                                    outside_ = std::move(scheduler);
                                    body_();
                                    finished_ = true;
                                    about_to_switch(nullptr, scheduler_.bottom, scheduler_.bytes);
                                    return std::move(outside_);
                                  });
}

Fibre::~Fibre() { TALLY_CHECK(finished_, "a fibre was destroyed before its body returned"); }

void Fibre::resume() {
  about_to_switch(&fake_stack_of_scheduler_, own_.bottom, own_.bytes);
  inside_ = std::move(inside_).resume();
  void* bottom;
  std::size_t bytes;
  switched(fake_stack_of_scheduler_, &bottom, &bytes);
}

void Fibre::pause() {
  void* fake_stack = nullptr;
  about_to_switch(&fake_stack, scheduler_.bottom, scheduler_.bytes);
  outside_ = std::move(outside_).resume();
  switched(fake_stack, &scheduler_.bottom, &scheduler_.bytes);
}

}  // namespace tally::kernels::emulator
