// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of finding is a search through phases and remarks. Reasons and
// advice are those of the remarks; numbers are those of the example call.
#include "tools/commands/explain/Findings.h"
#include "tools/commands/Command.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>
#include <map>

using namespace transom;
using namespace transom::tools;

namespace {

/// Finds what costs time in one explanation.
class CostFinder {
public:
  explicit CostFinder(const Explanation &explanation)
      : explanation(explanation) {}

  std::vector<Finding> run();

private:
  void findDisabledPasses();
  void findPadding();
  void findUnfusedAttention(const ExplainedEntry &entry);
  void findUnusedColumns(const ExplainedEntry &entry);
  void findMasks();
  std::vector<RemarkGroup> getRemarks(const std::string &pass,
                                      const std::string &kind) const;
  std::string getEntryText(const ExplainedEntry &entry) const;

  const Explanation &explanation;
  bool keepsAttention = false; ///< some attention is not fused
  std::vector<Finding> found;
};

} // namespace

/// The remarks of a kind that a pass made.
std::vector<RemarkGroup> CostFinder::getRemarks(const std::string &pass,
                                                const std::string &kind) const {
  std::vector<const ExplainedRemark *> remarks;
  for (const ExplainedRemark &remark : explanation.remarks)
    if (remark.kind == kind && remark.category == pass)
      remarks.push_back(&remark);
  return groupRemarks(remarks);
}

/// ` of entry 'step'` where a model has several entries.
std::string CostFinder::getEntryText(const ExplainedEntry &entry) const {
  return explanation.entries.size() > 1 ? " of entry '" + entry.name + "'" : "";
}

void CostFinder::findDisabledPasses() {
  for (const DisabledPass &pass : explanation.compile.disabledPasses)
    found.push_back(
        {"Pass '" + pass.pass + "' is switched off: it " + pass.summary + ".",
         "",
         "Leave out '--disable-pass " + pass.pass +
             "', or unset TRANSOM_DISABLE_PASS. To see what that changes, "
             "add: --other-flags '--disable-pass none'",
         "",
         {}});
}

void CostFinder::findPadding() {
  for (const RemarkGroup &group : getRemarks("attn-remove-padding", "missed")) {
    std::string what = "Padding is computed like other tokens.";
    for (const ExplainedEntry &entry : explanation.entries) {
      const int64_t length = entry.example.length, some = length / 4;
      if (entry.kind != "step" && some > 0) {
        what = "Padding is computed like other tokens: of two sequences of " +
               std::to_string(length) + " and " + std::to_string(some) +
               " tokens, " + std::to_string(length - some) + " of " +
               std::to_string(2 * length) + " rows are padding.";
        break;
      }
    }
    // What single operations of an attention do is a consequence.
    const ExplainedRemark &remark = *group.first;
    found.push_back(
        {what, group.getMessage(),
         keepsAttention
             ? "This follows from the attention that is not fused: mend that "
               "first."
             : remark.help,
         remark.category, remark.place});
  }
}

/// What runs of an operation read and write in buffers.
static int64_t getBufferBytes(const ExplainedPhase &phase,
                              const PhaseOperation &operation) {
  return operation.bytes.value.value_or(0) * phase.runs;
}

/// What the pass found in the masks of attentions that it fused.
void CostFinder::findMasks() {
  for (const RemarkGroup &group :
       getRemarks("attn-fuse-attention", "analysis")) {
    const ExplainedRemark &remark = *group.first;
    found.push_back({"Attention reads a mask for each score.",
                     group.getMessage(), remark.help, remark.category,
                     remark.place});
  }
}

void CostFinder::findUnfusedAttention(const ExplainedEntry &entry) {
  // A softmax between two products of activations is an attention.
  int64_t products = 0, softmaxes = 0, bytes = 0;
  for (const ExplainedPhase &phase : entry.phases)
    for (const PhaseOperation &operation : phase.operations) {
      if (operation.name == "kern.batch_matmul")
        products += phase.runs;
      if (operation.name == "kern.softmax") {
        softmaxes += phase.runs;
        bytes += getBufferBytes(phase, operation);
      }
    }
  const int64_t count = std::min(products / 2, softmaxes);
  if (count == 0)
    return;
  keepsAttention = true;
  const std::vector<RemarkGroup> reasons =
      getRemarks("attn-fuse-attention", "missed");
  std::string advice = reasons.empty() ? "" : reasons.front().first->help;
  if (reasons.size() > 1)
    advice +=
        " See below for " +
        formatNumber(static_cast<int64_t>(reasons.size()) - 1, "more reason") +
        ".";
  found.push_back(
      {formatNumber(count, "attention") + getEntryText(entry) +
           (count > 1 ? " are" : " is") +
           " not fused: scores go through memory, and each softmax reads and "
           "writes them (" +
           formatBytes(static_cast<uint64_t>(bytes)) + " in a call).",
       reasons.empty() ? "" : reasons.front().getMessage(), advice,
       reasons.empty() ? "" : reasons.front().first->category,
       reasons.empty() ? ModelPlace() : reasons.front().first->place});
}

namespace {
/// Operations of one place that compute columns which nothing uses.
struct UnusedColumns {
  std::string text;
  double share = 0; ///< of the work of the call
};
} // namespace

void CostFinder::findUnusedColumns(const ExplainedEntry &entry) {
  // Work in columns that are used, and in all that are computed.
  double whole = 0, unused = 0;
  bool hasAttention = false;
  std::map<std::string, UnusedColumns> operations;
  for (const ExplainedPhase &phase : entry.phases)
    for (const PhaseOperation &operation : phase.operations) {
      const double flops =
          static_cast<double>(operation.flops.value.value_or(0)) *
          static_cast<double>(phase.runs);
      whole += flops;
      if (operation.columns == operation.paddedColumns)
        continue;
      const double more =
          flops *
          (1 / getShare(operation.columns, operation.paddedColumns) - 1);
      whole += more;
      unused += more;
      hasAttention |= operation.name == "kern.attention";
      const std::string text = describeColumns(operation);
      UnusedColumns &sum = operations[text];
      sum.text = text;
      sum.share += more;
    }
  constexpr double least = 0.05;
  if (whole == 0 || unused / whole < least)
    return;
  std::vector<UnusedColumns> sorted;
  for (const auto &[text, one] : operations)
    sorted.push_back(one);
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return std::tie(b.share, a.text) < std::tie(a.share, b.text);
  });
  constexpr size_t most = 3;
  std::string why;
  for (size_t i = 0; i < std::min(most, sorted.size()); ++i)
    why += (i ? "; " : "") + sorted[i].text;
  found.push_back(
      {formatPercent(unused / whole) + " of the work" + getEntryText(entry) +
           " is for columns that are computed and not used.",
       why,
       std::string("Products compute panels of 32 columns: make widths "
                   "multiples of 32.") +
           (hasAttention ? " Attention computes vectors of 16 numbers for each "
                           "head: make the head size a multiple of 16."
                         : ""),
       "",
       {}});
}

std::vector<Finding> CostFinder::run() {
  findDisabledPasses();
  for (const ExplainedEntry &entry : explanation.entries)
    findUnfusedAttention(entry);
  findMasks();
  findPadding();
  for (const ExplainedEntry &entry : explanation.entries)
    findUnusedColumns(entry);
  return std::move(found);
}

std::vector<Finding> tools::findCosts(const Explanation &explanation) {
  return CostFinder(explanation).run();
}
