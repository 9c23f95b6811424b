// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches phases and remarks for each kind of finding. Remarks provide reasons
// and advice; numbers refer to the example call.
#include "tools/commands/explain/Findings.h"
#include "tools/commands/Command.h"
#include "tools/commands/explain/ExplainFormat.h"
#include "tools/commands/explain/UnusedColumns.h"
#include <algorithm>
#include <map>
#include <set>

using namespace transom;
using namespace transom::tools;

namespace {

/// Finds costly code in one explanation.
class CostFinder {
public:
  explicit CostFinder(const Explanation &explanation)
      : explanation(explanation) {}

  std::vector<Finding> run();

private:
  void findDisabledPasses();
  void findPadding();
  void findUnfusedAttention(const ExplainedEntry &entry);
  void findNoSoftmax(const ExplainedEntry &entry);
  void findCopies(const ExplainedEntry &entry);
  void findColumns(const ExplainedEntry &entry);
  void findMasks();
  std::vector<RemarkGroup> getRemarks(const std::string &pass,
                                      const std::string &kind) const;
  std::string getEntryText(const ExplainedEntry &entry) const;

  const Explanation &explanation;
  bool keepsAttention = false; ///< some attention is not fused
  std::vector<Finding> found;
};

} // namespace

/// Returns the remarks with this kind from one pass.
std::vector<RemarkGroup> CostFinder::getRemarks(const std::string &pass,
                                                const std::string &kind) const {
  std::vector<const ExplainedRemark *> remarks;
  for (const ExplainedRemark &remark : explanation.remarks)
    if (remark.kind == kind && remark.category == pass)
      remarks.push_back(&remark);
  return groupRemarks(remarks);
}

/// Returns ` of entry 'step'` if a model has several entries.
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
    // Remarks on single attention operations are a consequence.
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

/// Returns the buffer bytes that all runs of an operation read and write.
static int64_t getBufferBytes(const ExplainedPhase &phase,
                              const PhaseOperation &operation) {
  return operation.bytes.value.value_or(0) * phase.runs;
}

/// Reports masks in fused attention.
void CostFinder::findMasks() {
  for (const RemarkGroup &group :
       getRemarks("attn-fuse-attention", "analysis")) {
    const ExplainedRemark &remark = *group.first;
    found.push_back({"Attention reads a mask for each score.",
                     group.getMessage(), remark.help, remark.category,
                     remark.place});
  }
}

/// Returns true for remarks on two GEMMs without a softmax.
static bool isNoSoftmax(const RemarkGroup &group) {
  return group.first->name == "attention-without-softmax";
}

/// Returns a remark argument; empty without it.
static std::string getArgument(const ExplainedRemark &remark,
                               const std::string &key) {
  for (const ExplainedArgument &argument : remark.args)
    if (argument.key == key)
      return argument.value;
  return "";
}

/// Extracts the module path from an operation, `'attn.add' at 'PATH'`.
static std::string getPath(const std::string &operation) {
  const std::string before = " at '";
  const size_t at = operation.find(before);
  return at == std::string::npos
             ? ""
             : operation.substr(at + before.size(),
                                operation.size() - at - before.size() - 1);
}

void CostFinder::findNoSoftmax(const ExplainedEntry &entry) {
  for (const RemarkGroup &group : getRemarks("attn-fuse-attention", "missed")) {
    const ExplainedRemark &remark = *group.first;
    if (!isNoSoftmax(group) || remark.function != entry.name)
      continue;
    // Both GEMMs, in all layers.
    const std::set<std::string> places = {
        splitLayer(remark.place.location).rest,
        splitLayer(getPath(getArgument(remark, "product"))).rest};
    int64_t bytes = 0;
    for (const ExplainedPhase &phase : entry.phases)
      for (const PhaseOperation &operation : phase.operations)
        if (operation.name == "kern.batch_matmul" &&
            places.count(splitLayer(operation.place.location).rest))
          bytes += getBufferBytes(phase, operation);
    found.push_back(
        {formatNumber(static_cast<int64_t>(group.count), "attention") +
             getEntryText(entry) + (group.count > 1 ? " have" : " has") +
             " no softmax and " + (group.count > 1 ? "are" : "is") +
             " not fused: scores go through memory, and the "
             "products read and write " +
             formatBytes(static_cast<uint64_t>(bytes)) + " in a call.",
         group.getMessage(), remark.help, remark.category, remark.place});
  }
}

namespace {

/// Bytes that phases move.
struct MovedBytes {
  int64_t copies = 0, all = 0;
  std::map<std::string, int64_t> places; ///< bytes of copies by place
  const ModelPlace *largest = nullptr;   ///< the largest copy
  int64_t largestBytes = 0;
};

} // namespace

/// Sums the moved bytes over phases in the same layers.
static std::map<std::string, MovedBytes>
getMovedByLayers(const ExplainedEntry &entry) {
  std::map<std::string, MovedBytes> moved;
  for (const ExplainedPhase &phase : entry.phases) {
    MovedBytes &group =
        moved[formatLayers(splitLayer(phase.place.location).layers)];
    for (const PhaseOperation &operation : phase.operations) {
      const int64_t bytes = getBufferBytes(phase, operation);
      group.all += bytes + operation.weightBytes * phase.runs;
      if (operation.name != "kern.copy" && operation.name != "kern.transpose")
        continue;
      group.copies += bytes;
      group.places[describePlace(operation)] += bytes;
      if (bytes > group.largestBytes) {
        group.largest = &operation.place;
        group.largestBytes = bytes;
      }
    }
  }
  return moved;
}

/// Min share of copied bytes for a finding; copies and transposes have no FLOP.
static constexpr double leastCopyShare = 0.25;

void CostFinder::findCopies(const ExplainedEntry &entry) {
  int64_t all = 0;
  const std::map<std::string, MovedBytes> moved = getMovedByLayers(entry);
  for (const auto &[layers, group] : moved)
    all += group.all;
  for (const auto &[layers, group] : moved) {
    const double share = getShare(group.copies, group.all);
    // Ignore groups that move few bytes.
    if (share < leastCopyShare || getShare(group.copies, all) < 0.05)
      continue;
    std::vector<std::pair<int64_t, std::string>> places;
    for (const auto &[place, bytes] : group.places)
      places.push_back({-bytes, place});
    std::sort(places.begin(), places.end());
    std::vector<std::string> most;
    for (const auto &[bytes, place] : places)
      if (most.size() < 3)
        most.push_back(place + " (" +
                       formatBytes(static_cast<uint64_t>(-bytes)) + ")");
    found.push_back(
        {formatPercent(share) + " of the bytes that " +
             (layers.empty() ? "operations outside of layers" : layers) +
             getEntryText(entry) + " read and write are copies: " +
             formatBytes(static_cast<uint64_t>(group.copies)) + " of " +
             formatBytes(static_cast<uint64_t>(group.all)) + " in a call.",
         "slices, joins and transposes that no kernel absorbs: " + join(most),
         "Copies have no FLOP and take time by their bytes. Kernels read a "
         "range of the last axis in place, so take query, key and value from a "
         "packed projection by 'slice' or 'split' along the last axis, or give "
         "each a 'linear'; keep the order [batch, seq, heads, size] up to the "
         "transpose in front of an attention.",
         "", *group.largest});
  }
}

void CostFinder::findUnfusedAttention(const ExplainedEntry &entry) {
  // Attention is a softmax between two GEMMs on activations.
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
  std::vector<RemarkGroup> reasons =
      getRemarks("attn-fuse-attention", "missed");
  reasons.erase(std::remove_if(reasons.begin(), reasons.end(), isNoSoftmax),
                reasons.end());
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

/// Returns `10 % of the work`, for each instruction set if they differ.
static std::string describeShares(const std::vector<ColumnUse> &uses) {
  const std::string most = formatPercent(uses.front().share);
  std::vector<std::string> others;
  for (const ColumnUse &use : uses)
    if (formatPercent(use.share) != most)
      others.push_back(formatPercent(use.share) + " with " + use.isa);
  return most + " of the work" +
         (others.empty()
              ? ""
              : " with " + uses.front().isa + ", " + join(others) + ",");
}

void CostFinder::findColumns(const ExplainedEntry &entry) {
  const std::vector<ColumnUse> uses = findUnusedColumns(explanation, entry);
  if (uses.empty() || uses.front().share < leastUnusedShare)
    return;
  const ColumnUse &use = uses.front();
  constexpr size_t most = 3;
  std::string why;
  std::vector<std::string> products, heads;
  // Describe the largest losses and collect better widths.
  for (size_t i = 0; i < use.operations.size(); ++i) {
    const UnusedColumns &one = use.operations[i];
    if (i < most)
      why += (i ? "; " : "") + one.describe();
    std::vector<std::string> &widths =
        one.operation->name == "kern.attention" ? heads : products;
    const std::string better = one.getBetterWidths();
    if (std::find(widths.begin(), widths.end(), better) == widths.end())
      widths.push_back(better);
  }
  // GEMMs and attention heads have different granularities.
  std::string advice;
  if (!products.empty())
    advice = "Products compute tiles of " + std::to_string(use.tileColumns) +
             " columns: make widths multiples of it, such as " +
             join(products) + ".";
  if (!heads.empty())
    advice += std::string(advice.empty() ? "" : " ") +
              "Attention computes vectors of 16 numbers for each head: make "
              "the head size a multiple of 16, such as " +
              join(heads) + ".";
  found.push_back(
      {describeShares(uses) + getEntryText(entry) +
           " is for columns that are computed and not used (less than " +
           formatPercent(leastUnusedShare) + " is told by -v alone).",
       why, advice, "", use.operations.front().operation->place});
}

std::vector<Finding> CostFinder::run() {
  findDisabledPasses();
  for (const ExplainedEntry &entry : explanation.entries)
    findUnfusedAttention(entry);
  for (const ExplainedEntry &entry : explanation.entries)
    findNoSoftmax(entry);
  findMasks();
  findPadding();
  for (const ExplainedEntry &entry : explanation.entries)
    findCopies(entry);
  for (const ExplainedEntry &entry : explanation.entries)
    findColumns(entry);
  return std::move(found);
}

std::vector<Finding> tools::findCosts(const Explanation &explanation) {
  return CostFinder(explanation).run();
}
