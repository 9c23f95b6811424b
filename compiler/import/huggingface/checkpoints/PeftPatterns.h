// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python regular expressions that match module names in a PEFT adapter config.
#pragma once
#include "runtime/base/Error.h"
#include "llvm/Support/Regex.h"
#include <string>
#include <string_view>

namespace transom {

/// A module name pattern. It matches the whole name, or the part after a dot in
/// the name.
class ModulePattern {
public:
  /// Parses a pattern. `Rejected` if it is malformed, `Unsupported` if it uses
  /// look-around, back references or flags.
  static Result<ModulePattern> parse(std::string_view text);
  bool matches(const std::string &module) const;

private:
  explicit ModulePattern(llvm::Regex regex) : regex(std::move(regex)) {}
  llvm::Regex regex;
};

} // namespace transom
