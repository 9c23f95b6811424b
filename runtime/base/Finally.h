// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs code when a scope ends, also on exceptions.
#pragma once
#include <utility>

namespace transom {

/// Calls a function, which does not throw, when the scope ends:
/// `const Finally close([&] { ... });`.
template <typename Function> class Finally {
public:
  explicit Finally(Function function) : function(std::move(function)) {}
  ~Finally() { function(); }
  Finally(const Finally &) = delete;
  Finally &operator=(const Finally &) = delete;

private:
  Function function;
};

} // namespace transom
