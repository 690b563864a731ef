#pragma once

// A GPU's stream in host memory, which the fake runtime and the fake library both put work into.

#include <deque>
#include <functional>
#include <vector>

namespace tally::test {

struct FakeStream {
  /// Does its work once it can; false: not yet, and what is behind it has to wait.
  using Node = std::function<bool()>;

  std::deque<Node> nodes;
  std::vector<Node> captured;
  bool is_capturing = false;

  void put(Node node) {
    if (is_capturing) {
      captured.push_back(std::move(node));
    } else {
      nodes.push_back(std::move(node));
    }
  }
};

}  // namespace tally::test
