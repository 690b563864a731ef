#include "kernels/comm/work.h"

#include <utility>

namespace tally::comm {
namespace {

class WorkOfParts : public Work {
 public:
  explicit WorkOfParts(std::vector<std::shared_ptr<Work>> parts) : parts_(std::move(parts)) {}

  std::optional<model::Error> wait() override {
    for (const auto& part : parts_) {
      if (auto error = part->wait()) return error;
    }
    return std::nullopt;
  }
  Status status() override {
    for (const auto& part : parts_) {
      if (const Status status = part->status(); status != Status::COMPLETED) return status;
    }
    return Status::COMPLETED;
  }

 private:
  const std::vector<std::shared_ptr<Work>> parts_;
};

}  // namespace

std::shared_ptr<Work> completed_work() { return work_of({}); }

std::shared_ptr<Work> work_of(std::vector<std::shared_ptr<Work>> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_shared<WorkOfParts>(std::move(parts));
}

}  // namespace tally::comm
