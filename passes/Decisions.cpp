// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions as an array of dictionaries on the module: reading, merging with
// what stands there, and writing.
#include "passes/Decisions.h"
#include "dialects/common/Location.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace transom {

static constexpr llvm::StringLiteral doneText = "done";
static constexpr llvm::StringLiteral refusedText = "refused";

/// One text for what makes a decision distinct.
static std::string keyOf(const Decision &decision) {
  return decision.pass + '\n' + decision.place + '\n' +
         (decision.kind == Decision::Done ? '+' : '-') + decision.reason;
}

static Attribute attributeFor(const Decision &decision, Builder &builder) {
  auto text = [&](StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  bool isDone = decision.kind == Decision::Done;
  return builder.getDictionaryAttr(
      {text("pass", decision.pass), text("place", decision.place),
       text("kind", isDone ? doneText : refusedText),
       text("reason", decision.reason)});
}

static Decision decisionFrom(DictionaryAttr entry) {
  auto text = [&](StringRef name) {
    auto value = entry.getAs<StringAttr>(name);
    return value ? value.getValue().str() : std::string();
  };
  return {text("pass"), text("place"),
          text("kind") == doneText ? Decision::Done : Decision::Refused,
          text("reason")};
}

Decisions::Decisions(ModuleOp module, StringRef pass)
    : module(module), pass(pass.str()) {}

Decisions::~Decisions() { save(); }

void Decisions::add(Location place, Decision::Kind kind, std::string reason) {
  collected.push_back({pass, placeOf(place), kind, std::move(reason)});
}

void Decisions::done(Location place, const Twine &what) {
  add(place, Decision::Done, what.str());
}

void Decisions::refused(Location place, const Twine &reason) {
  add(place, Decision::Refused, reason.str());
}

void Decisions::notifyMatchFailure(
    Location place, function_ref<void(Diagnostic &)> reasonCallback) {
  Diagnostic diagnostic(place, DiagnosticSeverity::Remark);
  reasonCallback(diagnostic);
  add(place, Decision::Refused, diagnostic.str());
}

void Decisions::save() {
  if (collected.empty())
    return;
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  llvm::StringSet<> seen;
  for (const Decision &decision : of(module)) {
    seen.insert(keyOf(decision));
    entries.push_back(attributeFor(decision, builder));
  }
  for (const Decision &decision : collected)
    if (seen.insert(keyOf(decision)).second)
      entries.push_back(attributeFor(decision, builder));
  collected.clear();
  module->setAttr(attributeName, builder.getArrayAttr(entries));
}

std::vector<Decision> Decisions::of(ModuleOp module) {
  std::vector<Decision> decisions;
  auto entries = module->getAttrOfType<ArrayAttr>(attributeName);
  if (!entries)
    return decisions;
  for (Attribute entry : entries)
    if (auto dictionary = dyn_cast<DictionaryAttr>(entry))
      decisions.push_back(decisionFrom(dictionary));
  return decisions;
}

} // namespace transom
