#include "model/expression.h"

#include <algorithm>
#include <iterator>

#include "model/check.h"

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

Expressions::Id Expressions::combine(Op op, Id accumulator, Id term) {
  const auto kind = [&] {
    switch (op) {
      case Op::sum:
      case Op::avg:
      case Op::premul_sum:
      case Op::avg_premul:
        return Kind::add;
      case Op::prod:
        return Kind::multiply;
      case Op::min:
        return Kind::minimum;
      case Op::max:
        return Kind::maximum;
    }
    TALLY_CHECK(false, "no such operation");
  };
  return make({kind(), number(accumulator), number(term)});
}

Expressions::Id Expressions::divide(Id x, int divisor) {
  return divisor == 1 ? x : make({Kind::divide, number(x), divisor});
}

Expressions::Id Expressions::round(Id x) {
  switch (node(x).kind) {
    case Kind::zero:
    case Kind::one:
    case Kind::input:
    case Kind::premultiply:
    case Kind::round:
      return x;
    default:
      return make({Kind::round, number(x), 0});
  }
}

Expressions::Id Expressions::make_members(std::vector<Id> sorted) {
  const auto [entry, is_new] =
      set_numbers_.try_emplace(std::move(sorted), static_cast<std::int64_t>(sets_.size()));
  if (is_new) sets_.push_back(entry->first);
  return make({Kind::members, entry->second, 0});
}

Expressions::Id Expressions::members(Id x) { return make_members({x}); }

Expressions::Id Expressions::unite(Id members, Id more) {
  const std::vector<Id>&a = sets_[node(members).first], &b = sets_[node(more).first];
  std::vector<Id> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return make_members(std::move(all));
}

std::vector<std::pair<int, std::int64_t>> Expressions::inputs(Id x) const {
  const Node& n = node(x);
  switch (n.kind) {
    case Kind::zero:
    case Kind::one:
    case Kind::members:
      return {};
    case Kind::input:
      return {{static_cast<int>(n.first), n.second}};
    case Kind::add:
    case Kind::multiply:
    case Kind::minimum:
    case Kind::maximum: {
      auto all = inputs(operand(n.first));
      for (const auto& one : inputs(operand(n.second))) all.push_back(one);
      return all;
    }
    case Kind::divide:
    case Kind::premultiply:
    case Kind::round:
    case Kind::encode:
    case Kind::decode:
      return inputs(operand(n.first));
  }
  return {};
}

std::string Expressions::order(Id x) const {
  const Node& n = node(x);
  const auto pair = [&](const char* before, const char* between) {
    const std::string accumulator = order(operand(n.first)), term = order(operand(n.second));
    return accumulator.empty() ? term : before + ("(" + term) + between + accumulator + ")";
  };
  switch (n.kind) {
    case Kind::zero:
    case Kind::one:
    case Kind::members:
      return "";
    case Kind::input:
      return std::to_string(n.first);
    case Kind::add:
      return pair("", "+");
    case Kind::multiply:
      return pair("", "*");
    case Kind::minimum:
      return pair("min", ",");
    case Kind::maximum:
      return pair("max", ",");
    case Kind::divide:
      return order(operand(n.first)) + "/" + std::to_string(n.second);
    case Kind::premultiply:
    case Kind::round:
    case Kind::decode:
      return order(operand(n.first));
    case Kind::encode:
      return "q(" + order(operand(n.first)) + ")";
  }
  return "";
}

std::string Expressions::text(Id x) const {
  const Node& n = node(x);
  const auto wrap = [&](const std::string& name) {
    return name + "(" + text(operand(n.first)) + ")";
  };
  const auto pair = [&](const char* before, const char* between) {
    return before + ("(" + text(operand(n.second))) + between + text(operand(n.first)) + ")";
  };
  switch (n.kind) {
    case Kind::zero:
      return "z";
    case Kind::one:
      return "1";
    case Kind::input:
      return std::to_string(n.first) + "." + std::to_string(n.second);
    case Kind::add:
      return pair("", "+");
    case Kind::multiply:
      return pair("", "*");
    case Kind::minimum:
      return pair("min", ",");
    case Kind::maximum:
      return pair("max", ",");
    case Kind::divide:
      return wrap("") + "/" + std::to_string(n.second);
    case Kind::premultiply:
      return wrap("f*");
    case Kind::round:
      return wrap("r");
    case Kind::members:
      return "{" + std::to_string(sets_[n.first].size()) + "}";
    case Kind::encode: {
      if (n.second == kAlone) return wrap("q");
      return wrap("q" + std::to_string(sets_[node(operand(n.second)).first].size()));
    }
    case Kind::decode:
      return wrap("d");
  }
  return "";
}

}  // namespace tally::model
