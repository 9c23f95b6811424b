// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The floating-point mode of generated code.
#pragma once
#include <cstdint>

namespace transom {

/// What operations do with denormals.
enum class Denormals { AreZero, AreKept };

/// Sets the floating-point mode of generated code (to nearest, denormals as
/// zero), or the same with denormals, and restores the thread's own at the end.
class FloatMode {
public:
  explicit FloatMode(Denormals denormals = Denormals::AreZero);
  ~FloatMode();
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

private:
  uint64_t saved;
};

} // namespace transom
