// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differences between two explanations.
#pragma once
#include "tools/commands/explain/Profile.h"

namespace transom::tools {

/// A string that both compiles have: an option, a version, a name.
struct ComparedText {
  std::string name, a, b;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit) {
    visit.field("name", self.name, "what it is");
    visit.field("a", self.a, "in the first compile; empty if it has none");
    visit.field("b", self.b, "in the second compile");
  }
};

/// A number that both compiles have. Equal numbers are included.
struct ComparedNumber {
  std::string entry, name, unit;
  std::optional<int64_t> a, b;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit) {
    visit.field("entry", self.entry, "entry; empty for the whole model");
    visit.field("name", self.name, "what it is");
    visit.field("unit", self.unit, "bytes, FLOP, ns, or empty for a count");
    visit.field("a", self.a, "in the first compile; null if it has none");
    visit.field("b", self.b, "in the second compile");
  }
};

/// Remarks with one kind that only one compile has.
struct ComparedRemark {
  std::string in, kind, category, place, message;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit) {
    visit.field("in", self.in, "the compile that has it: a or b");
    visit.field("kind", self.kind, "kind of the remark");
    visit.field("category", self.category, "the pass");
    visit.field("place", self.place, "where, with layers as a range");
    visit.field("message", self.message, "the reason");
  }
};

/// Phases at one location, in all layers, that differ or that only one compile
/// has.
struct ComparedPhase {
  std::string entry, place, a, b;
  int64_t runsA = 0, runsB = 0;
  std::optional<int64_t> flopsA, flopsB, bytesA, bytesB;
  std::optional<int64_t> nsA, nsB;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit) {
    visit.field("entry", self.entry, "entry");
    visit.field("place", self.place, "where, with layers as a range");
    visit.field("a", self.a, "their operations in the first compile");
    visit.field("b", self.b, "their operations in the second compile");
    visit.field("runs_a", self.runsA,
                "runs in a call, each with a barrier after it");
    visit.field("runs_b", self.runsB, "the same of the second compile");
    visit.field("flops_a", self.flopsA, "FLOP of all their runs in a call");
    visit.field("flops_b", self.flopsB, "the same of the second compile");
    visit.field("bytes_a", self.bytesA,
                "bytes of weights and buffers of all their runs in a call");
    visit.field("bytes_b", self.bytesB, "the same of the second compile");
    visit.field(
        "ns_a", self.nsA,
        "measured nanoseconds of all their runs in a call; null without "
        "a profile");
    visit.field("ns_b", self.nsB, "the same of the second compile");
  }
};

/// Differences between two compiles, `a` and `b`.
struct Comparison {
  std::vector<std::string> notes;
  std::vector<ComparedText> texts;
  std::vector<ComparedNumber> numbers;
  std::vector<ComparedText> passes; ///< `changed`, `no change` or `not run`
  std::vector<ComparedRemark> remarks;
  std::vector<ComparedPhase> phases;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit) {
    visit.field("notes", self.notes,
                "what is not compared, and why: explanations of other formats");
    visit.field("texts", self.texts, "names and options that differ");
    visit.field("numbers", self.numbers, "what both compiles cost");
    visit.field("passes", self.passes,
                "passes that changed the module in one compile alone: "
                "changed, no change or not run");
    visit.field("remarks", self.remarks, "remarks of one compile alone");
    visit.field("phases", self.phases, "phases that differ");
  }
};

/// Compares two compiles. Entries are paired by name, and phases if their
/// locations share a module, even if layers are grouped differently. Times are
/// compared where both profiles contain a call with equal sizes.
Comparison compare(const MeasuredCompile &a, const MeasuredCompile &b);

/// Formats the comparison as JSON, or as text for a terminal. The text contains
/// all differences if `all` is set.
std::string toJson(const Comparison &comparison);
std::string toText(const Comparison &comparison, bool all);

} // namespace transom::tools
