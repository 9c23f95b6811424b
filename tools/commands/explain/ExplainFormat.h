// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting that all explanation sections share: numbers, locations with layer
// ranges, wrapped lines, tables.
#pragma once
#include "compiler/explain/Explanation.h"
#include <set>

namespace transom::tools {

/// Line width in columns.
inline constexpr size_t lineWidth = 100;

/// Formats a number with an SI prefix: `22.4 G`, `931`.
std::string formatCount(int64_t count);
/// Formats an amount as a count; `?` if unknown.
std::string formatCount(const Amount &amount);
/// Formats a byte count; `?` if unknown.
std::string formatBytes(const Amount &amount);
/// Returns `n thing` or `n things`.
std::string formatNumber(int64_t count, const std::string &thing);
/// Returns `12.3 ms`, `45.6 us`.
std::string formatTime(double ms);

/// Returns `33 %`.
std::string formatPercent(double share);
/// Returns `some` divided by `whole`; 0 if `whole` is 0.
double getShare(int64_t some, int64_t whole);
/// Joins strings with a separator.
std::string join(const std::vector<std::string> &texts,
                 const char *separator = ", ");

/// Returns the lower bound in bytes for any memory plan in the example call:
/// the planner's bound, which holds for all sizes, or the live bytes at the
/// fullest step.
int64_t getLeastMemory(const ExplainedEntry &entry);

/// Returns `1 sequence of 128 tokens`.
std::string formatCall(const ExampleCall &call);
/// Returns `2 sequences of 128 and 32 tokens`.
std::string formatCall(const PaddedCall &call);

/// Describes a phase by its GEMMs and attention, otherwise by its operations.
std::string describePhase(const ExplainedPhase &phase);

/// Returns `product` for a GEMM, otherwise the op name without its dialect.
std::string getPlainName(const PhaseOperation &operation);

/// Returns a readable location without the layer: the path that several modules
/// share, with the projections that one GEMM computes:
/// `attention.self: query, key, value projections`.
std::string describePlace(const PhaseOperation &operation);
/// Does the same for the first GEMM in a phase, otherwise for the whole phase.
std::string describePlace(const ExplainedPhase &phase);

/// A module path without its layer, and that layer.
struct LayerPath {
  std::string rest;         ///< `attention.self`, or the whole path
  std::set<int64_t> layers; ///< empty for a path without a layer
};

/// Splits a path at its first component that is a number or a range:
/// `encoder.layer.{0-11}.output` becomes `output` in layers 0 to 11. The prefix
/// before the number is dropped.
LayerPath splitLayer(const std::string &path);

/// Returns the part that all modules in a path share: `mlp` for
/// `mlp.{dense,act}`, empty for `{scores,sum}`.
std::string getCommonPath(const std::string &path);

/// Returns a path without names in braces: the common module, otherwise the
/// last one, which produces the result. `mlp.{dense,act}` becomes `mlp`,
/// `{scores,sum}` becomes `sum`.
std::string shortenPath(const std::string &path);

/// Splits a path into modules, outer ones first; a number belongs to the name
/// before it: `encoder`, `layer.0`, `output`.
std::vector<std::string> splitPath(const std::string &path);

/// Returns true if two paths without layers share a module, such as
/// `mlp.{dense,act}` and `mlp.act`.
bool nameCommonModule(const std::string &a, const std::string &b);

/// Returns `layers 0-11`, `layer 3`, `layers 0, 2-5`; empty for none.
std::string formatLayers(const std::set<int64_t> &layers);

/// Joins a path and its layers: `attention.self, layers 0-11`.
std::string joinPlace(const std::string &rest, const std::set<int64_t> &layers);

/// Returns `attention.self, layers 0-11`.
std::string formatPlace(const std::string &path);

/// Remarks that differ only in the layer.
struct RemarkGroup {
  const ExplainedRemark *first = nullptr;
  std::set<int64_t> layers;
  size_t count = 0;
  std::string pattern; ///< the message with `.#.` for the layer number

  /// Returns the location: `attention.self, layers 0-11`.
  std::string getPlace() const;
  /// Returns the message; paths in it contain the layer range.
  std::string getMessage() const;
};

/// Groups remarks, ordered by the first remark in each group.
std::vector<RemarkGroup>
groupRemarks(const std::vector<const ExplainedRemark *> &remarks);

/// Appends `text` in lines with at most `lineWidth` columns, indented by
/// `indent` spaces; the first line continues the last one in `page`.
void appendWrapped(std::string &page, size_t indent, const std::string &text);

/// Explains why a compile failed; empty if it succeeded.
std::string describeFailure(const Explanation &explanation);

/// A table with columns as wide as their cells.
class TextTable {
public:
  /// One character per column: `l` or `r` for its alignment.
  explicit TextTable(std::string alignments)
      : alignments(std::move(alignments)) {}

  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  /// Adds a separate line between two rows.
  void addTitle(const std::string &title) { rows.push_back({title}); }
  bool isEmpty() const { return rows.empty(); }
  /// Formats the lines, indented by two spaces. The last column is wrapped if
  /// it is left-aligned.
  std::string str() const;

private:
  std::string alignments;
  std::vector<std::vector<std::string>> rows;
};

} // namespace transom::tools
