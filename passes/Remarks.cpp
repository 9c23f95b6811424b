// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks as an array of dictionaries on the module: reading, merging with the
// remarks of earlier passes, and writing.
#include "passes/Remarks.h"
#include "dialects/common/Location.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace transom {

static constexpr llvm::StringLiteral passedText = "passed";
static constexpr llvm::StringLiteral missedText = "missed";

/// One text for the fields that make a remark distinct.
static std::string getKey(const Remark &remark) {
  return remark.pass + '\n' + remark.location + '\n' +
         (remark.kind == Remark::Passed ? '+' : '-') + remark.reason;
}

static Attribute writeRemark(const Remark &remark, Builder &builder) {
  auto text = [&](StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  bool isPassed = remark.kind == Remark::Passed;
  return builder.getDictionaryAttr(
      {text("pass", remark.pass), text("location", remark.location),
       text("kind", isPassed ? passedText : missedText),
       text("reason", remark.reason)});
}

static Remark readRemark(DictionaryAttr entry) {
  auto text = [&](StringRef name) {
    auto value = entry.getAs<StringAttr>(name);
    return value ? value.getValue().str() : std::string();
  };
  return {text("pass"), text("location"),
          text("kind") == passedText ? Remark::Passed : Remark::Missed,
          text("reason")};
}

Remarks::Remarks(ModuleOp module, StringRef pass)
    : module(module), pass(pass.str()) {}

Remarks::~Remarks() { save(); }

void Remarks::add(Location location, Remark::Kind kind, std::string reason) {
  collected.push_back({pass, getModulePath(location), kind, std::move(reason)});
}

void Remarks::passed(Location location, const Twine &what) {
  add(location, Remark::Passed, what.str());
}

void Remarks::missed(Location location, const Twine &reason) {
  add(location, Remark::Missed, reason.str());
}

void Remarks::notifyMatchFailure(
    Location location, function_ref<void(Diagnostic &)> reasonCallback) {
  Diagnostic diagnostic(location, DiagnosticSeverity::Remark);
  reasonCallback(diagnostic);
  add(location, Remark::Missed, diagnostic.str());
}

void Remarks::save() {
  if (collected.empty())
    return;
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  llvm::StringSet<> seen;

  // Keep the remarks of earlier passes in front.
  for (const Remark &remark : readFrom(module)) {
    seen.insert(getKey(remark));
    entries.push_back(writeRemark(remark, builder));
  }

  // Add the new remarks that are distinct.
  for (const Remark &remark : collected)
    if (seen.insert(getKey(remark)).second)
      entries.push_back(writeRemark(remark, builder));
  collected.clear();
  module->setAttr(attributeName, builder.getArrayAttr(entries));
}

std::vector<Remark> Remarks::readFrom(ModuleOp module) {
  std::vector<Remark> remarks;
  auto entries = module->getAttrOfType<ArrayAttr>(attributeName);
  if (!entries)
    return remarks;
  for (Attribute entry : entries)
    if (auto dictionary = dyn_cast<DictionaryAttr>(entry))
      remarks.push_back(readRemark(dictionary));
  return remarks;
}

} // namespace transom
