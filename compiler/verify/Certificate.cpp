// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verdict and its limits in words, for people who use a model.
#include "compiler/verify/Certificate.h"

using namespace transom;

std::string VerifyDifference::str() const {
  std::string text = "after '" + pass + "': " + result;
  if (!place.empty() || !operation.empty())
    text += "; the first new number is of '" + operation + "'" +
            (place.empty() ? "" : " at " + place);
  return text;
}

bool Certificate::leavesLayersOut() const {
  for (const EqualLayers &run : layers)
    if (run.numKept < run.numLayers)
      return true;
  return false;
}

std::string Certificate::describeWidths() const {
  std::string text;
  for (const ShrunkSize &width : widths)
    text += (text.empty() ? "" : ", ") + width.name + " " +
            std::to_string(width.size) + " -> " + std::to_string(width.run);
  return text;
}

std::string Certificate::getVerdict() const {
  if (difference)
    return "difference " + difference->str();
  const std::string where = isAtFullWidths() ? "" : " at smaller widths";
  return lanes > 1 ? "proved equal" + where + " (chance of a miss below 2^-60)"
                   : "no difference found" + where +
                         " (proved chance of a miss at most 2^-11)";
}

std::vector<std::string> Certificate::getShown() const {
  if (difference)
    return {};
  std::vector<std::string> lines = {
      "After each pass every result of the calls listed was the same real "
      "function of weights and inputs as before it. This follows from the laws "
      "of arithmetic, exp(x + y) = exp(x) exp(y), the sums of angles, and "
      "equal "
      "arguments of other functions (tanh, erf, sigmoid, sqrt, relu, "
      "log1p_relu). A score "
      "of -1e30 or less hides its key.",
      "Weights and inputs were any numbers: no value was read from a "
      "file.",
      "In the planned module no operation reads what another one overwrote, "
      "and workers of one phase do not touch the same memory."};
  if (!isAtFullWidths())
    lines.push_back(
        otherStructure.empty()
            ? "At the widths of the model the same passes change it, and after "
              "each stage it has the same operations, operands and attributes "
              "as the model that was run, but for numbers, offsets in memory "
              "and the padding of rows."
            : "The widths listed are smaller than those of the model.");
  if (rounds())
    lines.push_back(
        "Rounding to bf16 or int8 counts as no change where "
        "kern-choose-precision inserts it; all later passes keep each one in "
        "its place.");
  if (!equalConstants.empty())
    lines.push_back("The constants listed were taken as equal: they differ by "
                    "less than the precision of f32.");
  return lines;
}

std::vector<std::string> Certificate::getNotShown() const {
  std::vector<std::string> lines = {
      "Sizes, masks and steps that the calls do not have.",
      "Precision, the order of sums, overflow, NaN and infinities.",
      "The importer, and the meaning of operations in the reference evaluator, "
      "which both sides of each comparison use.",
      "Machine code, packed weights and the runtime: 'transom verify MODEL.so "
      "--model MODEL' checks these."};
  if (leavesLayersOut())
    lines.insert(lines.begin() + 1,
                 "Layers that were left out: they are equal to layers that "
                 "were run, but for their weights. '--full' runs them.");
  if (!isAtFullWidths())
    lines.insert(lines.begin() + 1,
                 "The widths of the model: sizes, and numbers that passes "
                 "compute from sizes (offsets, bounds, group counts), may be "
                 "wrong at the model's own widths alone. '--full' runs these.");
  if (!otherStructure.empty())
    lines.insert(lines.begin() + 2,
                 "What passes make of the model at its own widths alone: " +
                     otherStructure + ".");
  lines.push_back(
      "Intent to deceive: the key follows from the text of the stages, so that "
      "the check can be repeated. It guards against mistakes, not against "
      "models made to have equal residues.");
  return lines;
}

static std::string joinWords(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// A sentence in lines of limited width, each after two spaces.
static std::string wrapSentence(const std::string &sentence) {
  constexpr size_t width = 96;
  std::string text = "  - ";
  size_t column = text.size(), begin = 0;
  while (begin < sentence.size()) {
    const size_t end = std::min(sentence.find(' ', begin), sentence.size());
    if (column + end - begin > width) {
      text += "\n    ";
      column = 4;
    }
    text += sentence.substr(begin, end - begin) + " ";
    column += end - begin + 1;
    begin = end + 1;
  }
  text.pop_back();
  return text + "\n";
}

/// The lines about a difference after the verdict.
static std::string describeDifference(const VerifyDifference &difference) {
  std::string text;
  for (const std::string &line : difference.before)
    text += "  before  " + line + "\n";
  if (!difference.after.empty())
    text += "  after   " + difference.after + "\n";
  if (!difference.replay.empty())
    text += "  replay  " + difference.replay + "\n";
  return text;
}

std::string Certificate::toText() const {
  size_t changed = 0;
  std::string passList;
  for (const CertifiedPass &pass : passes) {
    changed += pass.changed;
    if (pass.changed)
      passList += (passList.empty() ? "" : ", ") + pass.pass;
  }
  std::string text = model + ": " + getVerdict() + "\n";
  if (difference)
    text += describeDifference(*difference);
  text += "  passes  " + std::to_string(passes.size()) + ", of which " +
          std::to_string(changed) + " changed the model: " + passList + "\n";
  for (const EqualLayers &run : layers)
    text += "  layers  " + joinWords(run.kept) + " of '" + run.entry +
            "': " + std::to_string(run.numKept) + " of " +
            std::to_string(run.numLayers) + " equal ones\n";
  if (!isAtFullWidths())
    text += "  widths  " + describeWidths() + "\n";
  if (!whyFullWidths.empty())
    text += "  widths  all as they are: " + whyFullWidths + "\n";
  for (const std::string &call : calls)
    text += "  call    " + call + "\n";
  for (const std::string &call : endCalls)
    text += "  call    " + call + ", after all passes\n";
  for (const std::string &constant : equalConstants)
    text += "  constant " + constant + "\n";
  text += "  key     " + key + ", lanes: " + std::to_string(lanes) + "\n";
  if (!difference)
    text += "shown:\n";
  for (const std::string &line : getShown())
    text += wrapSentence(line);
  text += "not shown:\n";
  for (const std::string &line : getNotShown())
    text += wrapSentence(line);
  return text;
}

Result<void> Certificate::check() const {
  if (!difference)
    return {};
  return Error{Status::CheckFailed, model + ": " + difference->str(), {}};
}
