// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks as an array of dictionaries on the module: reads it, merges it with
// the remarks from earlier passes, and writes it. The message is not stored,
// since it follows from the table and the arguments.
#include "passes/Remarks.h"
#include "dialects/common/Location.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace transom {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

StringRef getRemarkKindName(RemarkKind kind) {
  switch (kind) {
  case RemarkKind::Passed:
    return "passed";
  case RemarkKind::Missed:
    return "missed";
  case RemarkKind::Failure:
    return "failure";
  case RemarkKind::Analysis:
    return "analysis";
  }
  llvm_unreachable("unknown kind of remark");
}

static RemarkKind parseKind(StringRef name) {
  for (RemarkKind kind :
       {RemarkKind::Missed, RemarkKind::Failure, RemarkKind::Analysis})
    if (name == getRemarkKindName(kind))
      return kind;
  return RemarkKind::Passed;
}

llvm::ArrayRef<RemarkInfo> getRemarkTable() {
  static constexpr RemarkInfo table[] = {
#define REMARK(ID, KIND, CATEGORY, NAME, TEXT, HELP)                           \
  {RemarkId::ID, RemarkKind::KIND, CATEGORY, NAME, TEXT, HELP},
#include "passes/RemarkTable.def"
  };
  return table;
}

const RemarkInfo &getRemarkInfo(RemarkId id) {
  return getRemarkTable()[static_cast<size_t>(id)];
}

const RemarkInfo *findRemarkInfo(StringRef category, StringRef name) {
  const RemarkInfo *info =
      llvm::find_if(getRemarkTable(), [&](const RemarkInfo &entry) {
        return entry.category == category && entry.name == name;
      });
  return info == getRemarkTable().end() ? nullptr : info;
}

//===----------------------------------------------------------------------===//
// Strings for values
//===----------------------------------------------------------------------===//

std::string getRemarkText(StringRef text) { return text.str(); }

std::string getRemarkText(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", number);
  return text;
}

std::string getRemarkText(const Polynomial &size) { return size.str(); }

std::string getRemarkText(ArrayRef<Polynomial> sizes) {
  return "[" +
         llvm::join(
             llvm::map_range(sizes,
                             [](const Polynomial &size) { return size.str(); }),
             ", ") +
         "]";
}

std::string getRemarkText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// ` <tanh>` for an operation with a kind, as the IR shows it.
static std::string getKindText(Operation *op) {
  Attribute kind = op->getAttr("kind");
  if (!kind)
    return "";
  std::string text;
  llvm::raw_string_ostream(text) << kind;
  const size_t begin = text.find('<');
  return begin == std::string::npos ? "" : " " + text.substr(begin);
}

std::string getRemarkText(Operation *op) {
  std::string text =
      "'" + op->getName().getStringRef().str() + getKindText(op) + "'";
  std::string path = getModulePath(op->getLoc());
  return path.empty() ? text : text + " at '" + path + "'";
}

std::string getRemarkText(Value value) {
  if (Operation *op = value.getDefiningOp())
    return getRemarkText(op);
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto name = function ? function.getArgAttrOfType<StringAttr>(
                             argument.getArgNumber(), "attn.name")
                       : StringAttr();
  return name ? "argument '" + name.getValue().str() + "'"
              : "argument " + std::to_string(argument.getArgNumber());
}

/// After this count, operations are only counted.
static constexpr size_t maxListed = 4;

std::string listTexts(std::vector<std::string> texts) {
  if (texts.empty())
    return "none";
  if (size_t more = texts.size(); more > maxListed) {
    texts.resize(maxListed);
    texts.push_back(std::to_string(more - maxListed) + " more");
  }
  return llvm::join(texts, ", ");
}

std::string getRemarkText(ArrayRef<Operation *> ops) {
  std::vector<std::string> texts;
  for (Operation *op : ops)
    texts.push_back(getRemarkText(op));
  return listTexts(std::move(texts));
}

std::string getReaders(Value value) {
  // The use list is in reverse order of creation.
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  SmallVector<Operation *> readers(llvm::reverse(users.takeVector()));
  return getRemarkText(ArrayRef<Operation *>(readers));
}

//===----------------------------------------------------------------------===//
// One remark
//===----------------------------------------------------------------------===//

StringRef Remark::getArgument(StringRef key) const {
  for (const RemarkArgument &argument : args)
    if (argument.key == key)
      return argument.value;
  return {};
}

std::string Remark::getMessage() const {
  const RemarkInfo *info = findRemarkInfo(category, name);
  if (!info)
    return name;
  std::string message;
  StringRef rest = info->text;
  while (!rest.empty()) {
    auto [text, tail] = rest.split('{');
    message += text;
    auto [key, after] = tail.split('}');
    if (!key.empty())
      message += getArgument(key);
    rest = after;
  }
  return message;
}

static Attribute writeRemark(const Remark &remark, Builder &builder) {
  NamedAttrList fields;
  auto set = [&](NamedAttrList &list, StringRef name, StringRef value) {
    list.set(name, builder.getStringAttr(value));
  };
  set(fields, "kind", getRemarkKindName(remark.kind));
  set(fields, "category", remark.category);
  set(fields, "name", remark.name);
  using Field = std::pair<StringRef, const std::string *>;
  for (auto [name, value] :
       {Field{"function", &remark.function},
        Field{"location", &remark.location}, Field{"file", &remark.file},
        Field{"pointer", &remark.pointer}})
    if (!value->empty())
      set(fields, name, *value);
  NamedAttrList args;
  for (const RemarkArgument &argument : remark.args)
    set(args, argument.key, argument.value);
  if (!args.empty())
    fields.set("args", args.getDictionary(builder.getContext()));
  return fields.getDictionary(builder.getContext());
}

static Remark readRemark(DictionaryAttr entry) {
  auto text = [&](StringRef name) {
    auto value = entry.getAs<StringAttr>(name);
    return value ? value.getValue().str() : std::string();
  };
  Remark remark = {parseKind(text("kind")),
                   text("category"),
                   text("name"),
                   text("function"),
                   text("location"),
                   text("file"),
                   text("pointer"),
                   {}};
  if (auto args = entry.getAs<DictionaryAttr>("args"))
    for (NamedAttribute argument : args)
      if (auto value = dyn_cast<StringAttr>(argument.getValue()))
        remark.args.emplace_back(argument.getName().getValue(),
                                 value.getValue());
  return remark;
}

//===----------------------------------------------------------------------===//
// Remarks on a module
//===----------------------------------------------------------------------===//

Remarks::Remarks(ModuleOp module) : module(module) {}

Remarks::~Remarks() { save(); }

/// The function that contains an operation, or the operation itself.
static Operation *getFunction(Operation *op) {
  if (isa<FunctionOpInterface>(op))
    return op;
  return op->getParentOfType<FunctionOpInterface>();
}

/// The operation's location. For a function without a module path, its first
/// operation's location.
static Location getRemarkLocation(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || function.isExternal() || hasModulePath(op->getLoc()))
    return op->getLoc();
  for (Operation &inner : function.getFunctionBody().front())
    if (hasModulePath(inner.getLoc()))
      return inner.getLoc();
  return op->getLoc();
}

void Remarks::report(Operation *op, const RemarkReason &reason) {
  report(getRemarkLocation(op), getFunction(op), reason);
}

void Remarks::report(Location location, Operation *function,
                     const RemarkReason &reason) {
  const RemarkInfo &info = getRemarkInfo(reason.id);
  // A location without a module path refers to IR, not to a model.
  std::string path = getModulePath(location);
  Origin origin = path.empty() ? Origin() : findOrigin(location);
  Remark remark = {info.kind,
                   info.category.str(),
                   info.name.str(),
                   function ? SymbolTable::getSymbolName(function).str() : "",
                   std::move(path),
                   origin.file,
                   origin.pointer,
                   reason.args};
  llvm::sort(remark.args, [](const RemarkArgument &a, const RemarkArgument &b) {
    return a.key < b.key;
  });
  collected.push_back(std::move(remark));
}

void Remarks::save() {
  if (collected.empty())
    return;
  // Keep the remarks from earlier passes in front, and add the new distinct
  // ones. Attributes are unique, so equal remarks are one pointer.
  Builder builder(module.getContext());
  llvm::SetVector<Attribute> entries;
  if (auto earlier = module->getAttrOfType<ArrayAttr>(attributeName))
    entries.insert(earlier.begin(), earlier.end());
  for (const Remark &remark : collected)
    entries.insert(writeRemark(remark, builder));
  collected.clear();
  module->setAttr(attributeName, builder.getArrayAttr(entries.getArrayRef()));
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
