// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text shows the phases with the largest errors, the JSON all phases.
#include "tools/commands/verify/CodeReport.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <cinttypes>

using namespace transom;
using namespace transom::tools;

static std::string getLayer(int64_t layer) {
  return layer < 0 ? "" : ", layer " + std::to_string(layer);
}

std::string tools::describeDifference(const CodeDifference &difference) {
  return "entry '" + difference.entry + "' on " + difference.isa + ", " +
         difference.call + ": phase '" + difference.phase + "'" +
         getLayer(difference.layer) + ": '" + difference.operation + "'" +
         (difference.location.empty() ? "" : " of " + difference.location) +
         " leaves " + difference.found + " in place of " + difference.expected +
         " in " + difference.buffer + " at " + difference.index + " (" +
         std::to_string(difference.count) + " of " +
         std::to_string(difference.numbers) + " differ)";
}

Result<void> CodeReport::check() const {
  int64_t count = 0;
  for (const CheckedEntry &entry : verification.entries)
    count += entry.differences;
  if (count == 0)
    return {};
  return Error{
      Status::CheckFailed,
      "'" + path + "': " + std::to_string(count) +
          (count == 1 ? " dispatch leaves other bits than its phase"
                      : " dispatches leave other bits than their "
                        "phases") +
          "; first: " + describeDifference(verification.differences[0]),
      {}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string getNumber(const char *format, double value) {
  char text[40];
  snprintf(text, sizeof text, format, value);
  return text;
}

static std::string toText(const CheckedEntry &entry) {
  std::string text = "entry '" + entry.entry + "' on " + entry.isa + ": " +
                     std::to_string(entry.calls) +
                     (entry.calls == 1 ? " call, " : " calls, ") +
                     std::to_string(entry.dispatches) + " dispatches, " +
                     std::to_string(entry.numbers) + " numbers: ";
  if (entry.differences)
    return text + "other bits in " + std::to_string(entry.differences) +
           " dispatches\n";
  return text + "equal bits\n";
}

/// Returns the phases with the largest errors, in descending order.
static std::vector<const PhaseAccuracy *>
sortByError(const std::vector<PhaseAccuracy> &all) {
  std::vector<const PhaseAccuracy *> sorted;
  for (const PhaseAccuracy &phase : all)
    sorted.push_back(&phase);
  std::sort(sorted.begin(), sorted.end(),
            [](const PhaseAccuracy *a, const PhaseAccuracy *b) {
              return a->relative > b->relative;
            });
  return sorted;
}

static std::string toText(const std::vector<PhaseAccuracy> &accuracies) {
  std::vector<const PhaseAccuracy *> phases = sortByError(accuracies);
  const size_t shown = std::min(phases.size(), CodeReport::maxPhases);
  std::string text = "errors of phases against float64 on the same inputs, the "
                     "largest " +
                     std::to_string(shown) + " of " +
                     std::to_string(phases.size()) +
                     ", relative to the largest number of the result\n";
  for (size_t i = 0; i != shown; ++i) {
    const PhaseAccuracy &phase = *phases[i];
    text += "  " + getNumber("%.2e", phase.relative) + "  absolute " +
            getNumber("%.2e", phase.absolute) + "  '" + phase.entry + "' on " +
            phase.isa + ", phase '" + phase.phase + "'" +
            getLayer(phase.layer) + ", " + phase.buffer + "\n";
  }
  return text;
}

std::string CodeReport::toText() const {
  std::string text = "machine code of '" + name + "', " + dtype +
                     ": each phase on the bytes that the machine has before "
                     "it\n";
  for (const std::string &note : notes)
    text += "note: " + note + "\n";
  if (!verification.whyNotBits.empty())
    text += "bits of some phases are not compared: " + verification.whyNotBits +
            "\n";
  for (const CheckedEntry &entry : verification.entries)
    text += ::toText(entry);
  for (const std::string &isa : lacking)
    text += "not run: this CPU lacks " + isa + "\n";
  for (const CodeDifference &difference : verification.differences)
    text += "  " + describeDifference(difference) + "\n";
  return text + ::toText(verification.accuracies);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void write(JsonWriter &json, const CheckedEntry &entry) {
  json.beginObject();
  json.member("isa", entry.isa);
  json.member("entry", entry.entry);
  json.member("calls", entry.calls);
  json.member("dispatches", entry.dispatches);
  json.member("numbers", entry.numbers);
  json.member("differences", entry.differences);
  json.endObject();
}

static void write(JsonWriter &json, const CodeDifference &difference) {
  json.beginObject();
  json.member("isa", difference.isa);
  json.member("entry", difference.entry);
  json.member("call", difference.call);
  json.member("phase", difference.phase);
  if (difference.layer >= 0)
    json.member("layer", difference.layer);
  json.member("operation", difference.operation);
  json.member("module_path", difference.location);
  json.member("buffer", difference.buffer);
  json.member("index", difference.index);
  json.member("expected", difference.expected);
  json.member("found", difference.found);
  json.member("count", difference.count);
  json.member("numbers", difference.numbers);
  json.endObject();
}

static void writeAccuracy(JsonWriter &json, const Accuracy &accuracy) {
  if (accuracy.layer >= 0)
    json.member("layer", accuracy.layer);
  json.member("buffer", accuracy.buffer);
  json.member("call", accuracy.call);
  json.member("numbers", accuracy.numbers);
  json.member("absolute", accuracy.absolute);
  json.member("relative", accuracy.relative);
}

static void write(JsonWriter &json, const OperationAccuracy &operation) {
  json.beginObject();
  json.member("operation", operation.operation);
  json.member("module_path", operation.location);
  writeAccuracy(json, operation);
  json.endObject();
}

template <typename T>
static void writeAll(JsonWriter &json, const char *key,
                     const std::vector<T> &all);

static void write(JsonWriter &json, const PhaseAccuracy &phase) {
  json.beginObject();
  json.member("isa", phase.isa);
  json.member("entry", phase.entry);
  json.member("phase", phase.phase);
  json.member("module_path", phase.location);
  writeAccuracy(json, phase);
  writeAll(json, "operations", phase.operations);
  json.endObject();
}

template <typename T>
static void writeAll(JsonWriter &json, const char *key,
                     const std::vector<T> &all) {
  json.key(key);
  json.beginArray();
  for (const T &each : all)
    write(json, each);
  json.endArray();
}

std::string CodeReport::toJson() const {
  std::string line;
  JsonWriter json(line);
  // Subject and inputs.
  json.beginObject();
  json.member("artifact", path);
  json.member("name", name);
  json.member("dtype", dtype);
  json.member("backend", backend);
  json.member("seed", seed);
  json.key("lengths");
  json.beginArray();
  for (int64_t length : lengths)
    json.value(length);
  json.endArray();
  // Verdict, skipped checks and details.
  json.member("equal", static_cast<bool>(check()));
  if (!verification.whyNotBits.empty())
    json.member("why_not_bits", verification.whyNotBits);
  json.key("notes");
  json.array(notes);
  json.key("not_run");
  json.array(lacking);
  writeAll(json, "entries", verification.entries);
  writeAll(json, "differences", verification.differences);
  writeAll(json, "phases", verification.accuracies);
  json.endObject();
  return line + "\n";
}
