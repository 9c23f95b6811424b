// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What differs between two models or artifacts.
#pragma once
#include "tools/commands/inspect/Facts.h"

namespace transom::tools {

/// A fact that only one of two models has, or that differs.
struct Change {
  std::string name;
  std::optional<Fact> left, right;
};

/// The changes of a section such as `parameters`.
struct ChangedSection {
  std::string name;
  std::vector<Change> changes;
};

/// Two models and what differs.
struct Difference {
  std::string left, right; ///< paths
  std::vector<ChangedSection> sections;

  bool isEmpty() const { return sections.empty(); }
  /// A line for all, then the changes by section; without `all` the first ones
  /// of each.
  std::string getText(bool all) const;
  /// One object, in several lines.
  std::string toJson() const;
};

/// Compares two models. Of a model and an artifact only what both can tell is
/// compared.
Difference compare(const ComparedModel &left, const ComparedModel &right);

} // namespace transom::tools
