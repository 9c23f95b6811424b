// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM slices fill register tiles with a width that depends on the instruction
// set; attention heads fill vectors.
#include "tools/commands/explain/UnusedColumns.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace transom;
using namespace transom::tools;

/// Vector width in attention in elements, for all instruction sets.
static constexpr int64_t vectorColumns = 16;

static int64_t alignTo(int64_t width, int64_t multiple) {
  return (width + multiple - 1) / multiple * multiple;
}

/// Returns the width granularity for an operation.
static int64_t getMultiple(const PhaseOperation &operation,
                           const ColumnUse &use) {
  return operation.name == "kern.attention" ? vectorColumns : use.tileColumns;
}

/// Returns the column count including padding.
static int64_t getComputed(const PhaseOperation &operation, int64_t multiple) {
  int64_t width = 0, computed = 0;
  for (int64_t one : operation.widths) {
    width += one;
    computed += alignTo(one, multiple);
  }
  // All attention heads have the same width.
  return width ? computed * (operation.columns / width) : operation.columns;
}

std::string UnusedColumns::describe() const {
  const std::string place = describePlace(*operation);
  return (place.empty() ? "" : place + ": ") + getPlainName(*operation) + " " +
         operation->detail + ", " + std::to_string(used) + " of " +
         std::to_string(computed) + " columns used";
}

std::string UnusedColumns::getBetterWidths() const {
  std::vector<std::string> texts;
  for (int64_t width : operation->widths) {
    const int64_t above = alignTo(width, multiple), below = above - multiple;
    if (above == width)
      continue;
    std::string text = (below ? std::to_string(below) + " or " : "") +
                       std::to_string(above) + " in place of " +
                       std::to_string(width);
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  return join(texts);
}

/// Returns the register tile width of GEMM kernels; 0 if no kernel is known.
static int64_t getTileColumns(const Explanation &explanation,
                              const std::string &isa) {
  int64_t columns = 0;
  for (const ExplainedKernel &kernel : explanation.kernels)
    if (kernel.isa == isa)
      columns = std::max(columns, kernel.columns);
  return columns;
}

/// Computes the unused share for an entry.
static void addEntry(const ExplainedEntry &entry, ColumnUse &use) {
  double whole = 0, unused = 0;
  std::map<std::string, UnusedColumns> operations;
  // Sum up the FLOP and the additional FLOP for unused columns.
  for (const ExplainedPhase &phase : entry.phases)
    for (const PhaseOperation &operation : phase.operations) {
      const double flops =
          static_cast<double>(operation.flops.value.value_or(0)) *
          static_cast<double>(phase.runs);
      whole += flops;
      const int64_t multiple = getMultiple(operation, use);
      if (operation.columns == 0 || multiple == 0)
        continue;
      const int64_t computed = getComputed(operation, multiple);
      if (computed == operation.columns)
        continue;
      const double more = flops * (static_cast<double>(computed) /
                                       static_cast<double>(operation.columns) -
                                   1);
      unused += more;
      UnusedColumns one{&operation, operation.columns, computed, multiple, 0};
      operations.try_emplace(one.describe(), one).first->second.share += more;
    }
  whole += unused;
  if (whole == 0)
    return;
  use.share = unused / whole;
  // Convert to shares, largest first.
  for (auto &[text, one] : operations) {
    one.share /= whole;
    use.operations.push_back(one);
  }
  std::stable_sort(
      use.operations.begin(), use.operations.end(),
      [](const auto &a, const auto &b) { return a.share > b.share; });
}

std::vector<ColumnUse> tools::findUnusedColumns(const Explanation &explanation,
                                                const ExplainedEntry &entry) {
  std::vector<ColumnUse> uses;
  for (const std::string &isa : explanation.compile.isas) {
    ColumnUse &use = uses.emplace_back();
    use.isa = isa;
    use.tileColumns = getTileColumns(explanation, isa);
    addEntry(entry, use);
  }
  // On ties prefer wider tiles, because their widths suit all sets.
  std::stable_sort(uses.begin(), uses.end(), [](const auto &a, const auto &b) {
    return std::tie(a.share, a.tileColumns) > std::tie(b.share, b.tileColumns);
  });
  return uses;
}

std::string tools::listUnusedColumns(const Explanation &explanation,
                                     const ExplainedEntry &entry) {
  std::string text;
  for (const ColumnUse &use : findUnusedColumns(explanation, entry)) {
    text +=
        "\n  Columns that " + use.isa + " computes and nothing uses: " +
        (use.operations.empty() ? "none"
                                : formatPercent(use.share) + " of the work") +
        "\n";
    TextTable table("rll");
    if (!use.operations.empty())
      table.add({"of work", "without them", "operation"});
    for (const UnusedColumns &one : use.operations)
      table.add(
          {formatPercent(one.share), one.getBetterWidths(), one.describe()});
    text += table.str();
  }
  return text;
}
