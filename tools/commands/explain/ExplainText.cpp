// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the sections: the model, the outcome of each pass, missed
// optimizations, phases and memory.
#include "tools/commands/explain/ExplainText.h"
#include "tools/commands/Command.h"
#include "tools/commands/explain/ExplainFormat.h"
#include "tools/commands/explain/Findings.h"
#include "tools/commands/explain/PhaseTables.h"
#include "tools/commands/explain/UnusedColumns.h"
#include "tools/commands/explain/Verification.h"
#include <algorithm>
#include <map>

using namespace transom;
using namespace transom::tools;

namespace {

/// Writes one explanation as text.
class TextWriter {
public:
  TextWriter(const MeasuredCompile &compile, bool all)
      : explanation(compile.explanation), calls(compile.calls), all(all),
        isVerified(explanation.verification.has_value()) {}

  std::string run();

private:
  void addModel();
  void addPaddedCall(const PaddedCall &call);
  void addFindings();
  void addPasses();
  void addMissed();
  void addEntry(const ExplainedEntry &entry);
  void addMemory(const ExplainedEntry &entry);
  void addKernels();
  void addNotes();
  std::string getPassText(const ExplainedPass &pass,
                          const ModuleSummary &before) const;
  std::vector<const ExplainedRemark *>
  getRemarks(const ExplainedPass &pass, const std::string &kind) const;
  void heading(const std::string &text) { page += "\n" + text + "\n"; }

  const Explanation &explanation;
  const std::vector<MeasuredCall> &calls;
  const bool all;
  const bool isVerified; ///< verdicts and errors exist
  std::string page;
};

} // namespace

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

void TextWriter::addModel() {
  const ExplainedModel &model = explanation.model;
  const ExplainedCompile &compile = explanation.compile;
  // Architecture, size, types and targets.
  std::string head = model.name + ": " + model.architecture;
  if (model.family != "graph")
    head += " (" + model.family + ")";
  head +=
      ", " + formatCount(model.parameters) + " parameters in " + compile.dtype;
  if (!compile.kvDtype.empty())
    head += ", cache in " + compile.kvDtype;
  if (!compile.isas.empty())
    head += ", code for " + join(compile.isas);
  if (compile.backend != "native")
    head += ", products by " + compile.backend;
  appendWrapped(page, 2, head);
  page += "\n";
  // Costs for the example call of each entry.
  if (!model.hasWeights)
    page += "  There are no weights beside the config; all numbers hold "
            "without them.\n";
  for (const ExplainedEntry &entry : explanation.entries) {
    page += "  ";
    appendWrapped(
        page, 6,
        "entry '" + entry.name + "'" +
            (entry.layers ? ", " + formatNumber(entry.layers, "layer") : "") +
            ": " + formatCall(entry.example) + " takes " +
            formatCount(entry.flops) + "FLOP, reads " +
            formatBytes(static_cast<uint64_t>(entry.streamedBytes)) +
            " of weights and uses " + formatBytes(entry.arenaBytes) +
            " of memory");
    page += "\n";
    if (entry.padded)
      addPaddedCall(*entry.padded);
  }
}

/// Adds the cost for a batch with different sequence lengths.
void TextWriter::addPaddedCall(const PaddedCall &call) {
  if (!call.flops || !call.flopsAlone)
    return;
  page += "      ";
  std::string text = "a batch of " + formatCall(call) + " takes " +
                     formatCount(*call.flops) + "FLOP";
  const int64_t padding = *call.flops - *call.flopsAlone;
  text += padding > 0 ? ", " + formatPercent(getShare(padding, *call.flops)) +
                            " of them for padding"
                      : ", none of them for padding";
  if (call.arenaBytes)
    text += ", and uses " +
            formatBytes(static_cast<uint64_t>(*call.arenaBytes)) + " of memory";
  appendWrapped(page, 6, text);
  page += "\n";
}

void TextWriter::addFindings() {
  const std::vector<Finding> findings = findCosts(explanation);
  if (findings.empty())
    return;
  heading("What makes it slower than it has to be");
  for (const Finding &finding : findings) {
    page += "  * ";
    appendWrapped(page, 4, finding.what);
    std::string why = finding.why;
    if (!finding.place.pointer.empty())
      why += " (" + finding.place.file + " " + finding.place.pointer + ")";
    const std::pair<const char *, const std::string &> lines[] = {
        {"Why: ", why}, {"What to do: ", finding.advice}};
    for (const auto &[label, text] : lines)
      if (!text.empty()) {
        page += "\n    ";
        appendWrapped(page, 6, label + text);
      }
    page += "\n";
  }
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

std::vector<const ExplainedRemark *>
TextWriter::getRemarks(const ExplainedPass &pass,
                       const std::string &kind) const {
  std::vector<const ExplainedRemark *> remarks;
  for (int64_t index : pass.remarks)
    if (explanation.remarks[static_cast<size_t>(index)].kind == kind)
      remarks.push_back(&explanation.remarks[static_cast<size_t>(index)]);
  return remarks;
}

static const EntryCost *findCost(const ModuleSummary &summary,
                                 const std::string &entry) {
  for (const EntryCost &cost : summary.entries)
    if (cost.entry == entry)
      return &cost;
  return nullptr;
}

/// Adds changes in statistics that no remark reports.
static void addChanges(const ModuleSummary &before, const ModuleSummary &after,
                       bool hasBuffers, std::vector<std::string> &lines) {
  const std::string oldBytes =
      formatBytes(static_cast<uint64_t>(before.weightBytes));
  const std::string newBytes =
      formatBytes(static_cast<uint64_t>(after.weightBytes));
  if (hasBuffers && oldBytes != newBytes)
    lines.push_back("weights " + oldBytes + " -> " + newBytes);
  for (const EntryCost &cost : after.entries) {
    const EntryCost *old = findCost(before, cost.entry);
    const std::string name =
        after.entries.size() > 1 ? "entry " + cost.entry + ": " : "";
    if (!old) {
      lines.push_back("new entry " + cost.entry);
      continue;
    }
    if (formatCount(old->flops) != formatCount(cost.flops))
      lines.push_back(name + formatCount(old->flops) + "FLOP -> " +
                      formatCount(cost.flops) + "FLOP");
    if (hasBuffers && cost.phases && !old->phases)
      lines.push_back(name + formatNumber(cost.phases, "function") +
                      " of code; all threads wait for each other " +
                      formatNumber(cost.barriers, "time") + " in a call");
  }
}

/// Summarizes a pass: grouped remarks, then changes without remarks.
std::string TextWriter::getPassText(const ExplainedPass &pass,
                                    const ModuleSummary &before) const {
  std::vector<std::string> lines;
  const size_t most = all ? SIZE_MAX : 2;
  std::vector<RemarkGroup> groups = groupRemarks(getRemarks(pass, "passed"));
  // Show an analysis in the short text if it is a single sentence.
  std::vector<RemarkGroup> found = groupRemarks(getRemarks(pass, "analysis"));
  if (all || (groups.empty() && found.size() == 1))
    groups.insert(groups.end(), found.begin(), found.end());
  std::map<std::string, std::set<int64_t>> layersOf;
  std::vector<std::string> messages;
  // Merge equal messages at several locations into one line.
  for (const RemarkGroup &group : groups) {
    const std::string message = group.getMessage();
    auto [known, isNew] = layersOf.try_emplace(message);
    known->second.insert(group.layers.begin(), group.layers.end());
    if (isNew)
      messages.push_back(message);
  }
  for (const std::string &message : messages) {
    if (lines.size() == most) {
      lines.push_back(std::to_string(messages.size() - most) + " more");
      break;
    }
    std::string layers = formatLayers(layersOf[message]);
    lines.push_back(layers.empty() ? message : layers + ": " + message);
  }
  addChanges(before, pass.after, pass.stage == "kern", lines);
  if (size_t missed = groupRemarks(getRemarks(pass, "missed")).size())
    lines.push_back(std::to_string(missed) + " not done, see below");
  if (!getRemarks(pass, "failure").empty())
    lines.push_back("failed, see above");
  if (lines.empty())
    return pass.changed ? pass.summary : "nothing to do";
  return join(lines, "; ");
}

/// Titles for the stages that have passes.
static const std::pair<const char *, const char *> stageTitles[] = {
    {"attn-opt", "on the model's operations"},
    {"kern", "on kernels and their memory"},
    {"llvm-ir", "on code"}};

void TextWriter::addPasses() {
  heading("What the passes did (number of operations before and after)");
  TextTable table(isVerified ? "lrll" : "lrl");
  const ModuleSummary *before = &explanation.imported;
  std::string stage;
  std::vector<std::string> idle;
  for (const ExplainedPass &pass : explanation.passes) {
    // Lowering has its own section, unless it fails.
    if (!pass.isa.empty() && getRemarks(pass, "failure").empty())
      continue;
    if (!pass.changed && pass.remarks.empty() && !all) {
      if (std::find(idle.begin(), idle.end(), pass.pass) == idle.end())
        idle.push_back(pass.pass);
      continue;
    }
    for (const auto &[name, title] : stageTitles)
      if (pass.stage == name && stage != pass.stage)
        table.addTitle(title);
    stage = pass.stage;
    const std::string count = std::to_string(pass.after.computing);
    std::vector<std::string> cells = {
        pass.pass, pass.after.computing == before->computing
                       ? count
                       : std::to_string(before->computing) + " -> " + count};
    if (isVerified)
      cells.push_back(pass.verdict);
    cells.push_back(getPassText(pass, *before));
    table.add(std::move(cells));
    before = &pass.after;
  }
  page += table.str();
  if (!idle.empty()) {
    page += "  ";
    appendWrapped(page, 4, "nothing to do: " + join(idle));
    page += "\n";
  }
}

//===----------------------------------------------------------------------===//
// Missed optimizations
//===----------------------------------------------------------------------===//

void TextWriter::addMissed() {
  // Group remarks that differ only in the layer.
  std::vector<const ExplainedRemark *> missed;
  for (const ExplainedRemark &remark : explanation.remarks)
    if (remark.kind == "missed")
      missed.push_back(&remark);
  std::vector<RemarkGroup> groups = groupRemarks(missed);
  if (groups.empty())
    return;
  heading("What was not done, and why");
  const size_t most = all ? SIZE_MAX : 8;
  size_t shown = 0;
  // For each group show the reason, the pass, the source and the advice.
  for (const RemarkGroup &group : groups) {
    if (shown++ == most)
      break;
    const ExplainedRemark &remark = *group.first;
    const std::string place = group.getPlace();
    page += "  ";
    appendWrapped(page, 4,
                  (place.empty() ? "" : place + ": ") + group.getMessage());
    page += "\n      pass " + remark.category;
    if (!remark.place.pointer.empty())
      page += ", " + remark.place.file + " " + remark.place.pointer;
    page += "\n";
    if (!remark.help.empty()) {
      page += "      ";
      appendWrapped(page, 6, remark.help);
      page += "\n";
    }
  }
  if (groups.size() > shown)
    page += "  ... and " + std::to_string(groups.size() - shown) +
            " more; -v shows all\n";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void TextWriter::addMemory(const ExplainedEntry &entry) {
  // Compare the arena with the sum and with the lower bound.
  const int64_t arena = entry.arenaBytes.value.value_or(0);
  int64_t sum = 0;
  for (const ExplainedBuffer &buffer : entry.buffers)
    sum += buffer.bytes.value.value_or(0);
  page += "  ";
  std::string text =
      "Memory of a call: " + formatBytes(entry.arenaBytes) + " for " +
      formatNumber(static_cast<int64_t>(entry.buffers.size()), "buffer");
  const std::string sumText = formatBytes(static_cast<uint64_t>(sum));
  text += sum > arena
              ? ", which would take " + sumText + " if none shared memory."
              : " of " + sumText +
                    ": offsets are rounded up to multiples of 64 bytes that "
                    "hold for all sizes of a call.";
  const int64_t least = getLeastMemory(entry);
  text += arena == least ? " No plan takes less."
                         : " No plan takes less than " +
                               formatBytes(static_cast<uint64_t>(least)) +
                               ", the buffers that live at the fullest moment.";
  appendWrapped(page, 2, text);
  page += "\n  ";
  appendWrapped(page, 4, "In bytes: " + entry.arenaBytes.formula);
  page += "\n";
  if (!all)
    return;
  // List all buffers.
  TextTable table("rrll");
  table.add({"offset", "bytes", "steps", "buffer"});
  for (const ExplainedBuffer &buffer : entry.buffers)
    table.add({buffer.offset.formula, formatBytes(buffer.bytes),
               std::to_string(buffer.first) + "-" + std::to_string(buffer.last),
               formatPlace(buffer.location)});
  page += table.str();
}

void TextWriter::addEntry(const ExplainedEntry &entry) {
  heading("What runs in a call of '" + entry.name + "' (" +
          formatCall(entry.example) + ", " +
          formatNumber(entry.barriers, "phase") +
          " with a barrier after each)");
  if (entry.minBarriers != entry.barriers)
    page += "  A call of one short sequence has " +
            formatNumber(entry.minBarriers, "barrier") +
            ", if the threads divide its heads evenly.\n";
  page += "  FLOP and shares count useful work, without columns that are "
          "computed and not used;\n  bytes are those of weights and buffers.\n";
  page += listPhases(entry, findCall(calls, entry), isVerified, all);
  if (all) {
    page += listOperations(entry, isVerified);
    page += listUnusedColumns(explanation, entry);
  }
  addMemory(entry);
}

void TextWriter::addKernels() {
  if (!all || explanation.kernels.empty())
    return;
  heading("Micro-kernels");
  TextTable table("lrl");
  for (const ExplainedKernel &kernel : explanation.kernels)
    table.add(
        {kernel.symbol,
         std::to_string(kernel.rows) + "x" + std::to_string(kernel.columns),
         join(kernel.phases)});
  page += table.str();
  // Show the lowering decisions for each instruction set.
  for (const ExplainedPass &pass : explanation.passes) {
    if (pass.isa.empty())
      continue;
    for (const RemarkGroup &group :
         groupRemarks(getRemarks(pass, "analysis"))) {
      const std::string place = group.getPlace();
      page += "  ";
      appendWrapped(page, 4,
                    (place.empty() ? "" : place + ": ") + group.getMessage());
      page += "\n";
    }
  }
}

void TextWriter::addNotes() {
  for (const std::string &note : explanation.notes)
    page += "\nnote: " + note;
  if (!explanation.notes.empty())
    page += "\n";
  if (!all)
    page += "\n-v shows everything; --json writes it for programs.\n";
}

std::string TextWriter::run() {
  addModel();
  page += describeFailure(explanation);
  page += describeVerification(explanation);
  addFindings();
  addPasses();
  addMissed();
  for (const ExplainedEntry &entry : explanation.entries)
    addEntry(entry);
  addKernels();
  addNotes();
  return page;
}

std::string tools::toText(const MeasuredCompile &compile, bool all) {
  return TextWriter(compile, all).run();
}
