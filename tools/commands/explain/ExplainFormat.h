// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the sections of an explanation share: numbers, places with ranges of
// layers, lines of limited width, tables.
#pragma once
#include "compiler/explain/Explanation.h"
#include <set>

namespace transom::tools {

/// Columns of a line.
inline constexpr size_t lineWidth = 100;

/// A number with a prefix of SI: `22.4 G`, `931`.
std::string formatCount(int64_t count);
/// The value of an amount as a count; `?` if it is not known.
std::string formatCount(const Amount &amount);
/// A number of bytes; `?` if it is not known.
std::string formatBytes(const Amount &amount);
/// `n thing` or `n things`.
std::string formatNumber(int64_t count, const std::string &thing);
/// `12.3 ms`, `45.6 us`.
std::string formatTime(double ms);

/// `33 %`.
std::string formatPercent(double share);
/// The share of `some` in all; 0 of nothing.
double getShare(int64_t some, int64_t whole);
/// The texts in one, with a separator between two.
std::string join(const std::vector<std::string> &texts,
                 const char *separator = ", ");

/// The bytes that any plan takes in the example call: the planner's bound,
/// which holds for all sizes, or what lives at the fullest step.
int64_t getLeastMemory(const ExplainedEntry &entry);

/// `1 sequence of 128 tokens`.
std::string formatCall(const ExampleCall &call);
/// `2 sequences of 128 and 32 tokens`.
std::string formatCall(const PaddedCall &call);

/// What a phase does: its products and attentions, else its operations.
std::string describePhase(const ExplainedPhase &phase);

/// `product` or `attention`, for readers.
std::string getPlainName(const PhaseOperation &operation);

/// The name of a place for readers: that of what several modules have in
/// common, with the projections that one product computes:
/// `attention.self: query, key, value projections`. Without a layer.
std::string describePlace(const PhaseOperation &operation);
/// The same of a phase: of its first product, else of all of it.
std::string describePlace(const ExplainedPhase &phase);

/// A module path without its layer, and that layer.
struct LayerPath {
  std::string rest;         ///< `attention.self`, or the whole path
  std::set<int64_t> layers; ///< empty for a path without a layer
};

/// Splits a path at its first component that is a number or a range of numbers:
/// `encoder.layer.{0-11}.output` is `output` of layers 0 to 11. What is before
/// the number is dropped.
LayerPath splitLayer(const std::string &path);

/// What all modules of a path have in common: `mlp` of `mlp.{dense,act}`, empty
/// for `{scores,sum}`.
std::string getCommonPath(const std::string &path);

/// A path whose braces with names are left out: what several modules have in
/// common, else the last of them, which gives the result. `mlp.{dense,act}` is
/// `mlp`, `{scores,sum}` is `sum`.
std::string shortenPath(const std::string &path);

/// The modules of a path, outer ones first; a number belongs to the one before
/// it: `encoder`, `layer.0`, `output`.
std::vector<std::string> splitPath(const std::string &path);

/// True when two paths without layers name a module in common, such as
/// `mlp.{dense,act}` and `mlp.act`.
bool nameCommonModule(const std::string &a, const std::string &b);

/// `layers 0-11`, `layer 3`, `layers 0, 2-5`; empty for none.
std::string formatLayers(const std::set<int64_t> &layers);

/// A path and its layers: `attention.self, layers 0-11`.
std::string joinPlace(const std::string &rest, const std::set<int64_t> &layers);

/// `attention.self, layers 0-11`.
std::string formatPlace(const std::string &path);

/// Remarks that differ in the layer only.
struct RemarkGroup {
  const ExplainedRemark *first = nullptr;
  std::set<int64_t> layers;
  size_t count = 0;
  std::string pattern; ///< the message with `.#.` for the layer's number

  /// Where they are: `attention.self, layers 0-11`.
  std::string getPlace() const;
  /// What they say; paths in it have the range of layers.
  std::string getMessage() const;
};

/// The remarks of these kinds, grouped, in the order of their first ones.
std::vector<RemarkGroup>
groupRemarks(const std::vector<const ExplainedRemark *> &remarks);

/// Appends `text` in lines of `lineWidth` columns that begin with `indent`
/// spaces; the first line continues the last one of `page`.
void appendWrapped(std::string &page, size_t indent, const std::string &text);

/// A section on why a compile did not come to its end; empty if it did.
std::string describeFailure(const Explanation &explanation);

/// A table whose columns are as wide as their cells.
class TextTable {
public:
  /// One character a column: `l` or `r` for its alignment.
  explicit TextTable(std::string alignments)
      : alignments(std::move(alignments)) {}

  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  /// A line of its own between two rows.
  void addTitle(const std::string &title) { rows.push_back({title}); }
  bool isEmpty() const { return rows.empty(); }
  /// The lines, indented by two spaces. The last column is wrapped if it is
  /// aligned to the left.
  std::string str() const;

private:
  std::string alignments;
  std::vector<std::vector<std::string>> rows;
};

} // namespace transom::tools
