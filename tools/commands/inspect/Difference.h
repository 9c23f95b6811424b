// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differences between two models or artifacts.
#pragma once
#include "tools/commands/inspect/Facts.h"

namespace transom::tools {

/// A fact that differs, or that only one model has.
struct Change {
  std::string name;
  std::optional<Fact> left, right;
};

/// Changes in a section such as `parameters`.
struct ChangedSection {
  std::string name;
  std::vector<Change> changes;
};

/// Two models and their differences.
struct Difference {
  std::string left, right; ///< paths
  std::vector<ChangedSection> sections;

  bool isEmpty() const { return sections.empty(); }
  /// Returns a summary line, then the changes by section; without `all` only
  /// the first changes in each.
  std::string getText(bool all) const;
  /// Returns one object, in several lines.
  std::string toJson() const;
};

/// Compares two models. Between a model and an artifact, only facts that both
/// report are compared.
Difference compare(const ComparedModel &left, const ComparedModel &right);

} // namespace transom::tools
