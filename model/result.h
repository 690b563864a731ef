#pragma once

// Result<T> is for other people's mistakes: a value, or where, what and a hint.

#include <string>
#include <utility>
#include <variant>

#include "model/check.h"

namespace tally::model {

/// What was wrong with an input. `where` names the file, flag or variable (and the place in it).
struct Error {
  std::string where, what, hint;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  const T& operator*() const { return checked(); }
  T& operator*() { return const_cast<T&>(checked()); }
  const T* operator->() const { return &checked(); }
  T* operator->() { return const_cast<T*>(&checked()); }
  const Error& error() const {
    TALLY_CHECK(!*this, "error() of a Result that holds a value");
    return std::get<Error>(state_);
  }

 private:
  const T& checked() const {
    TALLY_CHECK(bool(*this), "value of a Result that holds an error");
    return std::get<T>(state_);
  }
  std::variant<T, Error> state_;
};

}  // namespace tally::model
