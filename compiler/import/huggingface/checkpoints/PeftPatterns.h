// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regular expressions of Python that name modules in the config of a PEFT
// adapter.
#pragma once
#include "runtime/base/Error.h"
#include "llvm/Support/Regex.h"
#include <string>
#include <string_view>

namespace transom {

/// A pattern of module names. It matches a name as a whole, or what follows a
/// dot of the name.
class ModulePattern {
public:
  /// Reads a pattern. `Rejected` where it is malformed, `Unsupported` where it
  /// uses look-around, back references or flags.
  static Result<ModulePattern> parse(std::string_view text);
  bool matches(const std::string &module) const;

private:
  explicit ModulePattern(llvm::Regex regex) : regex(std::move(regex)) {}
  llvm::Regex regex;
};

} // namespace transom
