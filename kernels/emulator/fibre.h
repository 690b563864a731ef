#pragma once

// A fibre: one emulated thread's stack, switched to and from by the scheduler of one OS thread.

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace tally::kernels::emulator {

/// Runs `body` on a stack of its own, a piece at a time. Not copyable, not thread-safe; must have
/// finished when it is destroyed. Tells AddressSanitizer of every switch.
class Fibre {
 public:
  explicit Fibre(std::function<void()> body);
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;
  ~Fibre();

  /// Scheduler side: runs the body until it pauses or returns.
  void resume();
  /// Body side: back to the scheduler; returns when resumed.
  void pause();
  bool finished() const { return finished_; }

 private:
  struct Stack {
    void* bottom = nullptr;
    std::size_t bytes = 0;
  };
  std::function<void()> body_;
  bool finished_ = false;
  Stack own_, scheduler_;
  void* fake_stack_of_scheduler_ = nullptr;
  boost::context::fiber inside_, outside_;
};

}  // namespace tally::kernels::emulator
