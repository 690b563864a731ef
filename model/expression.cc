#include "model/expression.h"

namespace tally::model {
namespace {

Expressions::Id operand(std::int64_t field) { return static_cast<Expressions::Id>(field); }

// Appends, because g++ 12 in Release sees an overlap in "(" + std::string() that is not there.
std::string call(std::string name, const std::string& x) {
  return name.append("(").append(x).append(")");
}
std::string sum(const std::string& term, const std::string& accumulator) {
  return call("", std::string(term).append("+").append(accumulator));
}

}  // namespace

std::size_t Expressions::Hash::operator()(const Node& node) const {
  const auto mix = [](std::uint64_t x) { return (x ^ (x >> 29)) * 0x9E3779B97F4A7C15u; };
  return mix(mix(mix(static_cast<std::uint64_t>(node.kind)) ^ node.first) ^ node.second);
}

Expressions::Id Expressions::make(const Node& node) {
  const auto [entry, is_new] = ids_.try_emplace(node, static_cast<Id>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return entry->second;
}

Expressions::Id Expressions::round(Id x) {
  const Kind kind = node(x).kind;
  if (kind == Kind::round || kind == Kind::zero || kind == Kind::input) return x;
  return make({Kind::round, static_cast<std::int64_t>(x), 0});
}

std::vector<std::pair<int, std::int64_t>> Expressions::inputs(Id x) const {
  const Node& n = node(x);
  switch (n.kind) {
    case Kind::zero:
      return {};
    case Kind::input:
      return {{static_cast<int>(n.first), n.second}};
    case Kind::add: {
      auto all = inputs(operand(n.first));
      for (const auto& one : inputs(operand(n.second))) all.push_back(one);
      return all;
    }
    case Kind::round:
    case Kind::encode:
    case Kind::decode:
      return inputs(operand(n.first));
  }
  return {};
}

std::string Expressions::order(Id x) const {
  const Node& n = node(x);
  switch (n.kind) {
    case Kind::zero:
      return "";
    case Kind::input:
      return std::to_string(n.first);
    case Kind::add: {
      const std::string accumulator = order(operand(n.first)), term = order(operand(n.second));
      return accumulator.empty() ? term : sum(term, accumulator);
    }
    case Kind::round:
    case Kind::decode:
      return order(operand(n.first));
    case Kind::encode:
      return call("q", order(operand(n.first)));
  }
  return "";
}

std::string Expressions::text(Id x) const {
  const Node& n = node(x);
  switch (n.kind) {
    case Kind::zero:
      return "z";
    case Kind::input:
      return std::to_string(n.first).append(".").append(std::to_string(n.second));
    case Kind::add:
      return sum(text(operand(n.second)), text(operand(n.first)));
    case Kind::round:
      return call("r", text(operand(n.first)));
    case Kind::encode:
      return call("q", text(operand(n.first)));
    case Kind::decode:
      return call("d", text(operand(n.first)));
  }
  return "";
}

}  // namespace tally::model
