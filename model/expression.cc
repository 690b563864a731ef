#include "model/expression.h"

namespace tally::model {
namespace {

Expressions::Id operand(std::int64_t field) { return static_cast<Expressions::Id>(field); }

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
    case Kind::zero: return {};
    case Kind::input: return {{static_cast<int>(n.first), n.second}};
    case Kind::add: {
      auto all = inputs(operand(n.first));
      for (const auto& one : inputs(operand(n.second))) all.push_back(one);
      return all;
    }
    case Kind::round:
    case Kind::encode:
    case Kind::decode: return inputs(operand(n.first));
  }
  return {};
}

std::string Expressions::order(Id x) const {
  const Node& n = node(x);
  switch (n.kind) {
    case Kind::zero: return "";
    case Kind::input: return std::to_string(n.first);
    case Kind::add: {
      const std::string accumulator = order(operand(n.first)), term = order(operand(n.second));
      return accumulator.empty() ? term : "(" + term + "+" + accumulator + ")";
    }
    case Kind::round:
    case Kind::decode: return order(operand(n.first));
    case Kind::encode: return "q(" + order(operand(n.first)) + ")";
  }
  return "";
}

std::string Expressions::text(Id x) const {
  const Node& n = node(x);
  const auto wrap = [&](const char* name) { return name + ("(" + text(operand(n.first))) + ")"; };
  switch (n.kind) {
    case Kind::zero: return "z";
    case Kind::input: return std::to_string(n.first) + "." + std::to_string(n.second);
    case Kind::add: return "(" + text(operand(n.second)) + "+" + text(operand(n.first)) + ")";
    case Kind::round: return wrap("r");
    case Kind::encode: return wrap("q");
    case Kind::decode: return wrap("d");
  }
  return "";
}

}  // namespace tally::model
