// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time columns come before the others, the error column after the numbers.
#include "tools/commands/explain/PhaseTables.h"
#include "tools/commands/Command.h"
#include "tools/commands/explain/ExplainFormat.h"
#include "tools/commands/explain/Verification.h"

using namespace transom;
using namespace transom::tools;

namespace {

/// Cost of one or more phases in a call.
struct PhaseCost {
  int64_t flops = 0, weightBytes = 0, bufferBytes = 0;

  int64_t getBytes() const { return weightBytes + bufferBytes; }
  PhaseCost &operator+=(const PhaseCost &other) {
    flops += other.flops;
    weightBytes += other.weightBytes;
    bufferBytes += other.bufferBytes;
    return *this;
  }
};

/// Writes the phase table for one entry.
class PhaseTable {
public:
  PhaseTable(const ExplainedEntry &entry, const MeasuredCall *call,
             bool isVerified)
      : entry(entry), call(call), isVerified(isVerified),
        table(std::string(call ? "rr" : "") + (isVerified ? "r" : "") +
              "rrrrll") {}

  std::string run(bool all);

private:
  /// Location and description of a phase.
  struct Words {
    std::string layers, what, where;
  };

  void addRow(const std::vector<std::string> &times, const std::string &error,
              std::vector<std::string> cells);
  void add(const PhaseTime &time, const std::string &error,
           const PhaseCost &cost, const Words &words);

  const ExplainedEntry &entry;
  const MeasuredCall *call;
  const bool isVerified;
  TextTable table;
};

} // namespace

/// Phases with smaller FLOP, byte and time shares are only counted.
static constexpr double leastFlopShare = 0.005, leastByteShare = 0.05;

static PhaseCost getCost(const ExplainedPhase &phase) {
  return {phase.flops.value.value_or(0) * phase.runs,
          phase.weightBytes * phase.runs,
          phase.bytes.value.value_or(0) * phase.runs};
}

void PhaseTable::addRow(const std::vector<std::string> &times,
                        const std::string &error,
                        std::vector<std::string> cells) {
  if (isVerified)
    cells.insert(cells.begin() + 4, error);
  if (call)
    cells.insert(cells.begin(), times.begin(), times.end());
  table.add(std::move(cells));
}

void PhaseTable::add(const PhaseTime &time, const std::string &error,
                     const PhaseCost &cost, const Words &words) {
  const int64_t whole = entry.flops.value.value_or(0);
  addRow({formatTime(time.ms),
          time.limitShare > 0 ? formatPercent(time.limitShare) : ""},
         error,
         {formatPercent(getShare(cost.flops, whole)), formatCount(cost.flops),
          formatBytes(static_cast<uint64_t>(cost.getBytes())), words.layers,
          words.what, words.where});
}

std::string PhaseTable::run(bool all) {
  addRow({"time", "of limit"}, "error",
         {"share", "FLOP", "bytes", "layer", "what it computes", "where"});
  // Shares refer to the whole entry.
  PhaseCost whole, rest;
  for (const ExplainedPhase &phase : entry.phases)
    whole += getCost(phase);
  int64_t numRest = 0;
  PhaseTime restTime;
  // Add a row for each significant phase and sum up the rest.
  for (const ExplainedPhase &phase : entry.phases) {
    const PhaseCost cost = getCost(phase);
    const PhaseTime *known = call ? call->find(phase.name) : nullptr;
    const PhaseTime time = known ? *known : PhaseTime();
    const bool isShort = !call || time.ms < 0.005 * call->ms;
    const bool isSmall =
        getShare(cost.flops, whole.flops) < leastFlopShare &&
        getShare(cost.getBytes(), whole.getBytes()) < leastByteShare;
    if (!all && isShort && isSmall) {
      ++numRest;
      rest += cost;
      restTime.ms += time.ms;
      continue;
    }
    const std::string layers =
        formatLayers(splitLayer(phase.place.location).layers);
    add(time, formatLargestError(phase.operations), cost,
        {layers.substr(layers.find(' ') + 1), describePhase(phase),
         describePlace(phase)});
  }
  if (numRest)
    add(restTime, "", rest, {"", formatNumber(numRest, "more phase"), ""});
  return table.str();
}

std::string tools::listPhases(const ExplainedEntry &entry,
                              const MeasuredCall *call, bool isVerified,
                              bool all) {
  std::string text;
  if (call)
    text = "  Measured: " + call->getSizes() + " tokens take " +
           formatTime(call->ms) +
           (call->limitShare > 0 ? ", " + formatPercent(call->limitShare) +
                                       " of the machine's limit"
                                 : "") +
           ".\n";
  return text + PhaseTable(entry, call, isVerified).run(all);
}

std::string tools::listOperations(const ExplainedEntry &entry,
                                  bool isVerified) {
  std::string text;
  for (const ExplainedPhase &phase : entry.phases) {
    text += "\n  phase " + phase.name + ", " + formatNumber(phase.runs, "run") +
            "\n";
    TextTable table(isVerified ? "lrrlrl" : "lrrll");
    for (const PhaseOperation &operation : phase.operations) {
      std::vector<std::string> cells = {
          "  " + operation.name, formatCount(operation.flops),
          formatBytes(operation.bytes), operation.split};
      if (isVerified)
        cells.push_back("error " + formatLargestError({operation}));
      cells.push_back(operation.detail +
                      (operation.detail.empty() ? "" : "; ") +
                      operation.place.location);
      table.add(std::move(cells));
    }
    text += table.str();
  }
  return text;
}
