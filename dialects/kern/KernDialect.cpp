// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier for kern attributes on functions and modules; the dialect
// description lists them.
#include "dialects/kern/KernVerify.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A nonnegative i64.
static bool isCount(Attribute value) {
  auto integer = llvm::dyn_cast_or_null<IntegerAttr>(value);
  return integer && integer.getType().isInteger(64) && integer.getInt() >= 0;
}

/// A size as text.
static bool isSize(Attribute value) {
  auto text = llvm::dyn_cast_or_null<StringAttr>(value);
  return text && Polynomial::parse(text.getValue().str());
}

static bool isString(Attribute value) {
  return llvm::isa_and_nonnull<StringAttr>(value);
}

static bool isType(Attribute value) {
  return llvm::isa_and_nonnull<TypeAttr>(value);
}

static bool isListOf(Attribute value, function_ref<bool(Attribute)> isElement) {
  auto list = llvm::dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, isElement);
}

/// `{offset = "SIZE", bytes = "SIZE", location = "PATH"}`, optionally with
/// `first = N, last = N` and `kept`.
static bool isBuffer(Attribute value) {
  auto entry = llvm::dyn_cast<DictionaryAttr>(value);
  auto isAbsentOrCount = [&](StringRef name) {
    return !entry.contains(name) || isCount(entry.get(name));
  };
  return entry && isSize(entry.get("offset")) && isSize(entry.get("bytes")) &&
         isString(entry.get("location")) && isAbsentOrCount("first") &&
         isAbsentOrCount("last") &&
         (!entry.contains("kept") || llvm::isa<UnitAttr>(entry.get("kept")));
}

/// `{window = W, type = TYPE, layers = N, bytes = N}`.
static bool isCacheGroup(Attribute value) {
  auto group = llvm::dyn_cast<DictionaryAttr>(value);
  return group && isCount(group.get("window")) && isType(group.get("type")) &&
         isCount(group.get("layers")) && isCount(group.get("bytes"));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {

struct Rule {
  StringRef name;
  bool ofModule; ///< otherwise on a function
  StringRef expected;
  bool (*holds)(Attribute value);
};

} // namespace

static const Rule kRules[] = {
    {"kern.inputs", false, "a number", isCount},
    {"kern.symbols", false, "a list of names",
     [](Attribute value) { return isListOf(value, isString); }},
    {"kern.buffers", false, "a list of 'offset', 'bytes' and 'location'",
     [](Attribute value) { return isListOf(value, isBuffer); }},
    {"kern.memory_steps", false, "a list of names",
     [](Attribute value) { return isListOf(value, isString); }},
    {"kern.arena_bytes", false, "a size", isSize},
    {"kern.arena_lower_bound", false, "a size", isSize},
    {"kern.weight_bytes", true, "a number", isCount},
    {"kern.cache_groups", true,
     "a list of 'window', 'type', 'layers' and 'bytes'",
     [](Attribute value) { return isListOf(value, isCacheGroup); }},
};

LogicalResult KernDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  const Rule *rule = llvm::find_if(
      kRules, [&](const Rule &r) { return r.name == attribute.getName(); });
  if (rule == std::end(kRules))
    return success();

  // Each attribute belongs to one operation kind.
  if (rule->ofModule ? !llvm::isa<ModuleOp>(op) : !llvm::isa<func::FuncOp>(op))
    return op->emitOpError("expects '")
           << rule->name << "' on a "
           << (rule->ofModule ? "module" : "function");
  if (!rule->holds(attribute.getValue()))
    return op->emitOpError("expects ")
           << rule->expected << " as '" << rule->name << "', got "
           << attribute.getValue();

  // Check the locations of weights, caches and buffers.
  if (rule->name == "kern.buffers")
    return rules::verifyBufferOffsets(
        op, llvm::cast<ArrayAttr>(attribute.getValue()));
  if (rule->name == "kern.weight_bytes")
    return rules::verifyWeightOffsets(
        op, llvm::cast<IntegerAttr>(attribute.getValue()).getInt());
  if (rule->name == "kern.cache_groups")
    return rules::verifyCacheOffsets(
        op, llvm::cast<ArrayAttr>(attribute.getValue()));

  // The inputs are a subset of the arguments.
  auto function = llvm::dyn_cast<func::FuncOp>(op);
  if (rule->name == "kern.inputs" &&
      llvm::cast<IntegerAttr>(attribute.getValue()).getInt() >
          int64_t(function.getNumArguments()))
    return op->emitOpError("expects at most ")
           << function.getNumArguments() << " as 'kern.inputs', got "
           << attribute.getValue();
  return success();
}
