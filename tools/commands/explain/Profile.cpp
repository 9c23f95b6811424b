// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads JSON from bench. Unused keys are ignored, so bench may add columns.
#include "tools/commands/explain/Profile.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

/// Returns the number for a key; 0 if the object lacks it.
static Result<double> getNumber(JsonValue object, const char *key) {
  std::optional<JsonValue> value = object.find(key);
  return value ? value->asDouble() : Result<double>(0.0);
}

static Result<std::string> getText(JsonValue object, const char *key) {
  TRANSOM_ASSIGN(JsonValue value, object.get(key));
  TRANSOM_ASSIGN(std::string_view text, value.asString());
  return std::string(text);
}

static Result<PhaseTime> readPhase(JsonValue line, double limitGbps) {
  TRANSOM_TRY(line.expectObject());
  PhaseTime time;
  TRANSOM_ASSIGN(time.phase, getText(line, "phase"));
  TRANSOM_ASSIGN(time.ms, getNumber(line, "ms"));
  TRANSOM_ASSIGN(time.limitShare, getNumber(line, "peak_share"));
  TRANSOM_ASSIGN(double gbps, getNumber(line, "gbps"));
  if (limitGbps > 0)
    time.limitShare = std::max(time.limitShare, gbps / limitGbps);
  return Result<PhaseTime>(std::move(time));
}

static Result<MeasuredCall> readCall(JsonValue row, JsonValue profile) {
  MeasuredCall call;
  TRANSOM_ASSIGN(call.entry, getText(row, "entry"));
  const std::pair<const char *, int64_t *> sizes[] = {
      {"batch", &call.batch}, {"seq", &call.length}, {"depth", &call.past}};
  for (const auto &[key, size] : sizes) {
    TRANSOM_ASSIGN(double number, getNumber(row, key));
    *size = static_cast<int64_t>(number);
  }
  TRANSOM_ASSIGN(call.ms, getNumber(row, "ms_min"));
  TRANSOM_ASSIGN(call.limitShare, getNumber(row, "limit_share"));
  TRANSOM_ASSIGN(double limitGbps, getNumber(row, "limit_gbps"));
  TRANSOM_TRY(profile.expectArray());
  for (JsonValue line : profile.elements()) {
    TRANSOM_ASSIGN(call.phases.emplace_back(), readPhase(line, limitGbps));
  }
  return Result<MeasuredCall>(std::move(call));
}

Result<std::vector<MeasuredCall>>
tools::readProfile(const JsonDocument &document) {
  TRANSOM_TRY(document.root().expectArray());
  std::vector<MeasuredCall> calls;
  for (JsonValue row : document.root().elements())
    if (std::optional<JsonValue> profile = row.find("profile")) {
      TRANSOM_ASSIGN(calls.emplace_back(), readCall(row, *profile));
    }
  if (calls.empty())
    return document.root().error(
        "no row has a profile; write it with 'transom bench MODEL.so "
        "--profile --json'");
  return Result<std::vector<MeasuredCall>>(std::move(calls));
}

const MeasuredCall *tools::findCall(const std::vector<MeasuredCall> &calls,
                                    const ExplainedEntry &entry) {
  const MeasuredCall *first = nullptr;
  for (const MeasuredCall &call : calls) {
    if (call.entry != entry.name)
      continue;
    const ExampleCall &example = entry.example;
    if (call.batch == example.batch && call.length == example.length &&
        call.past == example.past)
      return &call;
    first = first ? first : &call;
  }
  return first;
}

std::string MeasuredCall::getSizes() const {
  return std::to_string(batch) + " x " + std::to_string(length) +
         (past ? " after " + std::to_string(past) : "");
}

const PhaseTime *MeasuredCall::find(const std::string &phase) const {
  for (const PhaseTime &time : phases)
    if (time.phase == phase)
      return &time;
  return nullptr;
}
