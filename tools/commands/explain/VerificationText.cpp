// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats the check results as text.
#include "tools/commands/explain/ExplainFormat.h"
#include "tools/commands/explain/Verification.h"
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

std::string
tools::formatLargestError(const std::vector<PhaseOperation> &operations) {
  double largest = -1;
  for (const PhaseOperation &operation : operations)
    for (const ExplainedError &error : operation.errors)
      largest = std::max(largest, error.relative.value_or(HUGE_VAL));
  if (largest <= 0)
    return largest < 0 ? "" : "0";
  if (std::isinf(largest))
    return "no number";
  char text[32];
  snprintf(text, sizeof text, "%.1e", largest);
  return text;
}

static std::string describeCode(const VerifiedCode &code) {
  return "entry '" + code.entry + "' on " + code.isa + ": " +
         (code.differences
              ? "other bits than the kern module in " +
                    formatNumber(code.differences, "run") + " of phases"
              : "the bits of the kern module") +
         " (" + formatNumber(code.calls, "call") + ", " +
         formatNumber(code.dispatches, "run") + " of phases, " +
         formatNumber(code.numbers, "number") + ")";
}

std::string tools::describeVerification(const Explanation &explanation) {
  if (!explanation.verification)
    return "";
  const ExplainedVerification &verification = *explanation.verification;
  std::string page = "\nWhat was checked\n";
  auto add = [&](const std::string &label, const std::string &text) {
    page += "  ";
    appendWrapped(page, 16, label + std::string(14 - label.size(), ' ') + text);
    page += "\n";
  };
  // Passes, with the first difference.
  add("passes", verification.message);
  if (const auto &difference = verification.difference) {
    for (const std::string &line : difference->before)
      add("  before", line);
    if (!difference->after.empty())
      add("  after", difference->after);
    if (!difference->replay.empty())
      add("  replay", difference->replay);
  }
  // Machine code, then skipped checks.
  for (const VerifiedCode &code : verification.code)
    add("machine code", describeCode(code));
  if (!verification.codeDifference.empty())
    add("  first", verification.codeDifference);
  for (const std::string &line : verification.notRun)
    add("not run", line);
  page += "  ";
  appendWrapped(page, 2,
                "equal: after the pass each result is the same function of "
                "weights and inputs as before it; different: one is not. "
                "error: the largest |bits - float64| of an operation's "
                "results, divided by their largest number.");
  return page + "\n";
}
