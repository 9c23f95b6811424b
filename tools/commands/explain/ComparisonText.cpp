// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats a comparison as text: options, costs, then changes.
#include "tools/commands/Command.h"
#include "tools/commands/explain/Comparison.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

static std::string formatValue(const std::optional<int64_t> &value,
                               const std::string &unit) {
  if (!value)
    return "-";
  if (unit == "bytes")
    return formatBytes(static_cast<uint64_t>(*value));
  if (unit == "ns")
    return formatTime(static_cast<double>(*value) * 1e-6);
  if (unit.empty())
    return std::to_string(*value);
  const std::string count = formatCount(*value);
  return count + (*value < 1000 ? " " : "") + unit;
}

/// Returns `-50 %` or `2.1 times`; empty if nothing changed.
static std::string formatChange(const std::optional<int64_t> &a,
                                const std::optional<int64_t> &b) {
  if (!a || !b || *a == *b)
    return {};
  if (*a == 0)
    return "new";
  const double ratio = static_cast<double>(*b) / static_cast<double>(*a);
  char text[32];
  if (ratio >= 2)
    snprintf(text, sizeof text, "%.1f times", ratio);
  else if (std::abs(ratio - 1) < 0.0005)
    return "+0.0 %";
  else
    snprintf(text, sizeof text, "%+.1f %%", 100 * (ratio - 1));
  return text;
}

static void addTexts(std::string &page, const Comparison &comparison) {
  if (comparison.texts.empty()) {
    page +=
        "What was compared\n  models of the same name and size, compiled with "
        "the same options\n";
    return;
  }
  TextTable table("lll");
  table.add({"", "A", "B"});
  for (const ComparedText &text : comparison.texts)
    table.add({text.name, text.a.empty() ? "-" : text.a,
               text.b.empty() ? "-" : text.b});
  page += "What was compared\n" + table.str();
}

static void addNumbers(std::string &page, const Comparison &comparison) {
  TextTable table("lrrr");
  table.add({"", "A", "B", "change"});
  std::string entry;
  for (const ComparedNumber &number : comparison.numbers) {
    if (!number.a.value_or(0) && !number.b.value_or(0))
      continue;
    if (number.entry != entry)
      table.addTitle("entry '" + number.entry + "'");
    entry = number.entry;
    table.add({number.name, formatValue(number.a, number.unit),
               formatValue(number.b, number.unit),
               formatChange(number.a, number.b)});
  }
  page += "\nWhat it costs\n" + table.str();
}

static void addPasses(std::string &page, const Comparison &comparison) {
  if (comparison.passes.empty())
    return;
  TextTable table("lll");
  table.add({"pass", "A", "B"});
  for (const ComparedText &pass : comparison.passes)
    table.add({pass.name, pass.a, pass.b});
  page += "\nPasses that changed something in one of them\n" + table.str();
}

/// Adds `... and 3 more; -v shows all`.
static void addRest(std::string &page, size_t count, size_t shown) {
  if (count > shown)
    page +=
        "  ... and " + std::to_string(count - shown) + " more; -v shows all\n";
}

static void addRemarks(std::string &page, const Comparison &comparison,
                       bool all) {
  const size_t most = all ? SIZE_MAX : 6;
  for (const char *in : {"a", "b"}) {
    size_t count = 0;
    for (const ComparedRemark &remark : comparison.remarks) {
      // Analysis remarks follow from other passes, so omit them by default.
      if (remark.in != in || (!all && remark.kind == "analysis"))
        continue;
      if (count++ == 0)
        page += std::string("\nWhat passes say of ") +
                (*in == 'a' ? "A" : "B") + " alone\n";
      if (count > most)
        continue;
      page += "  ";
      appendWrapped(page, 6,
                    (remark.kind == "missed" ? "not done: " : "") +
                        remark.place + (remark.place.empty() ? "" : ": ") +
                        remark.message + " (" + remark.category + ")");
      page += "\n";
    }
    addRest(page, count, most);
  }
}

/// Returns the time difference; missing phases take no time.
static int64_t getSlowdown(const ComparedPhase &phase) {
  return phase.nsB.value_or(0) - phase.nsA.value_or(0);
}

static void addPhases(std::string &page, const Comparison &comparison,
                      size_t most) {
  if (comparison.phases.empty())
    return;
  // With times, list the largest changes first.
  std::vector<const ComparedPhase *> phases;
  for (const ComparedPhase &phase : comparison.phases)
    phases.push_back(&phase);
  const bool hasTimes =
      std::any_of(phases.begin(), phases.end(), [](const ComparedPhase *one) {
        return one->nsA || one->nsB;
      });
  if (hasTimes)
    // Phases are in one vector, so addresses keep their order.
    std::sort(phases.begin(), phases.end(), [](auto *a, auto *b) {
      return std::make_pair(-std::abs(getSlowdown(*a)), a) <
             std::make_pair(-std::abs(getSlowdown(*b)), b);
    });
  // Each location gets a table with one row for each compile.
  page += hasTimes ? "\nTimes by place, what changed most first\n"
                   : "\nPhases that differ\n";
  for (size_t i = 0; i < std::min(most, phases.size()); ++i) {
    const ComparedPhase &phase = *phases[i];
    const std::string change = formatChange(phase.nsA, phase.nsB);
    page += "  " + phase.place + (change.empty() ? "" : ": " + change) + "\n";
    TextTable table(hasTimes ? "lrrrrl" : "lrrrl");
    auto add = [&](const char *side, const std::string &text, int64_t runs,
                   const std::optional<int64_t> &flops,
                   const std::optional<int64_t> &bytes,
                   const std::optional<int64_t> &ns) {
      if (runs == 0)
        return;
      std::vector<std::string> cells = {side, formatNumber(runs, "run"),
                                        formatValue(flops, "FLOP"),
                                        formatValue(bytes, "bytes"), text};
      if (hasTimes)
        cells.insert(cells.begin() + 1, formatValue(ns, "ns"));
      table.add(std::move(cells));
    };
    add("  A", phase.a, phase.runsA, phase.flopsA, phase.bytesA, phase.nsA);
    add("  B", phase.b, phase.runsB, phase.flopsB, phase.bytesB, phase.nsB);
    page += table.str();
  }
  addRest(page, phases.size(), most);
}

std::string tools::toText(const Comparison &comparison, bool all) {
  std::string page;
  for (const std::string &note : comparison.notes) {
    appendWrapped(page, 2, "note: " + note);
    page += "\n\n";
  }
  addTexts(page, comparison);
  addNumbers(page, comparison);
  addPasses(page, comparison);
  addRemarks(page, comparison, all);
  addPhases(page, comparison, all ? SIZE_MAX : 8);
  if (comparison.passes.empty() && comparison.remarks.empty() &&
      std::all_of(comparison.phases.begin(), comparison.phases.end(),
                  [](const ComparedPhase &phase) {
                    return phase.a == phase.b && phase.runsA == phase.runsB;
                  }))
    page += "\nBoth compiles make the same code.\n";
  return page;
}
