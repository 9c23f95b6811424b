// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists a clone of the module without remarks: MLIR's printer reports the line
// of each operation.
#include "compiler/explain/ModuleListing.h"
#include "compiler/stages/ModuleText.h"
#include "dialects/common/Location.h"
#include "dialects/kern/Kern.h"
#include "mlir/IR/AsmState.h"
#include "passes/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include <set>

using namespace mlir;
using namespace transom;

namespace {

/// Builds the operation table.
class Lister {
public:
  Lister(const AsmState::LocationMap &lines,
         ArrayRef<unsigned> firstWrappedLine)
      : lines(lines), firstWrappedLine(firstWrappedLine) {}

  void list(Operation *op, int parent);
  std::vector<ListedOperation> take() { return std::move(operations); }

private:
  /// Returns the operation that a value depends on, -1 for block arguments.
  int getProducer(Value value) const;
  /// Adds the operations that wrote the buffers read by `op`.
  void addOperands(Operation *op, std::set<int> &operands) const;

  const AsmState::LocationMap &lines;
  ArrayRef<unsigned> firstWrappedLine;
  std::vector<ListedOperation> operations;
  DenseMap<Operation *, int> indices;
  /// The last operation that wrote a buffer.
  DenseMap<Value, int> writers;
};

/// Assigns each string the index of its first use.
class Table {
public:
  int64_t getIndex(const std::string &text) {
    return static_cast<int64_t>(
        texts.insert({text, texts.size()}).first->second);
  }
  void write(JsonWriter &json, std::string_view key) const {
    json.key(key);
    json.beginArray();
    for (const auto &[text, index] : texts)
      json.value(text);
    json.endArray();
  }

private:
  llvm::MapVector<std::string, size_t, std::map<std::string, unsigned>> texts;
};

} // namespace

int Lister::getProducer(Value value) const {
  if (auto written = writers.find(value); written != writers.end())
    return written->second;
  auto defined = indices.find(value.getDefiningOp());
  return defined == indices.end() ? -1 : defined->second;
}

void Lister::addOperands(Operation *op, std::set<int> &operands) const {
  auto bufferOp = dyn_cast<kern::BufferOp>(op);
  SmallVector<Value> read;
  if (bufferOp)
    read = bufferOp.readBuffers();
  for (Value operand : op->getOperands())
    // A buffer that is only written does not depend on its previous contents.
    if (!bufferOp || !isa<kern::BufferType>(operand.getType()) ||
        llvm::is_contained(read, operand))
      if (int producer = getProducer(operand); producer >= 0)
        operands.insert(producer);
}

/// Collects `file: /pointer` for each child of a location.
static void addOrigins(Location location, std::vector<std::string> &origins) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location child : fused.getLocations())
      addOrigins(child, origins);
    return;
  }
  if (std::string origin = getOrigin(location);
      !origin.empty() && !llvm::is_contained(origins, origin))
    origins.push_back(std::move(origin));
}

void Lister::list(Operation *op, int parent) {
  const int index = static_cast<int>(operations.size());
  indices[op] = index;
  ListedOperation &listed = operations.emplace_back();
  listed.name = op->getName().getStringRef().str();
  listed.location = getModulePath(op->getLoc());
  addOrigins(op->getLoc(), listed.origins);
  listed.parent = parent;
  // The printer counts lines from 1.
  if (auto at = lines.find(op); at != lines.end() && at->second.first > 0)
    listed.line = firstWrappedLine[at->second.first - 1];

  std::set<int> operands;
  addOperands(op, operands);
  listed.operands.assign(operands.begin(), operands.end());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        // Terminators that are not printed have no line.
        if (lines.contains(&inner))
          list(&inner, index);

  if (auto bufferOp = dyn_cast<kern::BufferOp>(op))
    for (Value written : bufferOp.writtenBuffers())
      writers[written] = index;
  if (auto layers = dyn_cast<kern::LayersOp>(op)) {
    writers[layers.getState()] = index;
    for (Value invariant : layers.getInvariants())
      writers[invariant] = index;
  }
}

ModuleListing transom::listModule(ModuleOp module) {
  kern::KernDialect::useTypeAliases(module.getContext());
  OwningOpRef<ModuleOp> clone(module.clone());
  (*clone)->removeAttr(Remarks::attributeName);
  AsmState::LocationMap lines;
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState state(*clone, OpPrintingFlags(), &lines);
  (*clone)->print(stream, state);
  stream << "\n";

  ModuleListing listing;
  std::vector<unsigned> firstWrappedLine;
  listing.text = wrapLines(stream.str(), &firstWrappedLine);
  Lister lister(lines, firstWrappedLine);
  lister.list(*clone, -1);
  listing.operations = lister.take();
  return listing;
}

/// Writes an array of indices.
static void writeIndices(JsonWriter &json, ArrayRef<int> indices) {
  json.beginArray();
  for (int index : indices)
    json.value(index);
  json.endArray();
}

void transom::writeListing(JsonWriter &json, const ModuleListing &listing) {
  Table names, locations, origins;
  json.beginObject();
  json.member("text", listing.text);
  json.key("operations");
  json.beginArray();
  for (const ListedOperation &op : listing.operations) {
    json.beginArray();
    json.value(op.line);
    json.value(names.getIndex(op.name));
    json.value(locations.getIndex(op.location));
    json.beginArray();
    for (const std::string &origin : op.origins)
      json.value(origins.getIndex(origin));
    json.endArray();
    json.value(op.parent);
    writeIndices(json, op.operands);
    json.endArray();
  }
  json.endArray();
  names.write(json, "names");
  locations.write(json, "locations");
  origins.write(json, "origins");
  json.endObject();
}
