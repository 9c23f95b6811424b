// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phase costs and the memory plan come from the manifest; phase operations come
// from the module.
#include "compiler/explain/ExplainEntries.h"
#include "compiler/explain/DescribeOperation.h"
#include "dialects/common/Location.h"
#include "dialects/kern/PhaseLocation.h"
#include "dialects/kern/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

using namespace mlir;
using namespace transom;

ModelPlace transom::getPlace(Location location) {
  ModelPlace place;
  place.location = getModulePath(location);
  const std::string origin = getOrigin(location);
  auto [file, pointer] = StringRef(origin).split(": ");
  place.file = file.str();
  place.pointer = pointer.str();
  return place;
}

static Amount toAmount(const Polynomial &polynomial) {
  return {polynomial.str(), {}};
}

namespace {

/// Describes one entry's phases.
class PhaseReader {
public:
  PhaseReader(ModuleOp module, const ManifestEntry &manifest)
      : symbols(module), bounds(module), manifest(manifest) {}

  std::vector<ExplainedPhase> read(func::FuncOp entry);

private:
  void visit(func::FuncOp function, kern::LayersOp site);
  PhaseOperation readOperation(kern::BufferOp op, kern::LayersOp site);
  StringRef getSymbol(Value weight, kern::LayersOp site);

  SymbolTable symbols;
  kern::SizeBounds bounds;
  const ManifestEntry &manifest;
  std::map<std::string, ExplainedPhase> phases; ///< by name
};

} // namespace

/// Returns a weight's symbol; for a parameter, the symbol in the first layer
/// with that body.
StringRef PhaseReader::getSymbol(Value weight, kern::LayersOp site) {
  if (auto get = weight.getDefiningOp<kern::GetWeightOp>())
    return get.getWeight();
  auto argument = cast<BlockArgument>(weight);
  for (kern::LayerAttr layer : site.getLayerRange())
    if (site.getBody(layer, symbols) == argument.getOwner()->getParentOp())
      return site.getParameter(layer, weight).getValue();
  return {};
}

/// A copy reads and writes a range along one axis in its buffers.
static Polynomial getMovedBytes(kern::CopyOp op) {
  auto type = cast<kern::BufferType>(op.getInput().getType());
  Polynomial count = *Polynomial::parse(op.getSize().str());
  for (auto [axis, size] : llvm::enumerate(type.getDims()))
    if (static_cast<int64_t>(axis) != static_cast<int64_t>(op.getAxis()))
      count = count * size;
  return Polynomial(type.getElementType().getIntOrFloatBitWidth() / 8 * 2) *
         count;
}

PhaseOperation PhaseReader::readOperation(kern::BufferOp op,
                                          kern::LayersOp site) {
  PhaseOperation result;
  // Operation, origin and parallelization.
  result.name = op->getName().getStringRef().str();
  result.detail = describeOperation(op);
  result.place = getPlace(op->getLoc());
  result.split = op.ownedRows() ? "rows" : "tiles";
  result.flops = toAmount(bounds.getBound(op.flops()));
  // The bytes in its buffers.
  SmallVector<Value> buffers = op.readBuffers();
  llvm::append_range(buffers, op.writtenBuffers());
  Polynomial bytes;
  for (Value buffer : buffers)
    bytes = bytes + cast<kern::BufferType>(buffer.getType()).getByteSize();
  if (auto copy = dyn_cast<kern::CopyOp>(*op))
    bytes = getMovedBytes(copy);
  result.bytes = toAmount(bounds.getBound(bytes));
  // Its weights; gathered tables are not read as a whole.
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<kern::WeightType>(operand.getType());
    if (!type)
      continue;
    result.weights.push_back(getSymbol(operand, site).str());
    if (!op.gathersWeight())
      result.weightBytes += type.getByteSize();
  }
  // The columns with padding.
  std::tie(result.columns, result.paddedColumns) = getPaddedColumns(op);
  result.widths = getWidths(op);
  if (isa<kern::GemmOp>(*op) && !result.weights.empty())
    result.joined = getJoinedProjections(result.weights.front());
  return result;
}

void PhaseReader::visit(func::FuncOp function, kern::LayersOp site) {
  for (Operation &op : function.getBody().front()) {
    if (auto phase = dyn_cast<kern::PhaseOp>(op)) {
      ExplainedPhase &result = phases[phase.getName().str()];
      if (!result.name.empty())
        continue;
      result.name = phase.getName().str();
      result.place = getPlace(kern::getPhaseLocation(phase));
      for (auto inner : phase.getBody().getOps<kern::BufferOp>())
        result.operations.push_back(readOperation(inner, site));
    } else if (auto layers = dyn_cast<kern::LayersOp>(op)) {
      for (kern::LayerAttr layer : layers.getLayerRange())
        visit(layers.getBody(layer, symbols), layers);
    }
  }
}

std::vector<ExplainedPhase> PhaseReader::read(func::FuncOp entry) {
  visit(entry, {});
  std::vector<ExplainedPhase> result;
  for (const ManifestDispatch &dispatch : manifest.dispatches) {
    ExplainedPhase &phase =
        result.emplace_back(std::move(phases[dispatch.phase]));
    phase.runs = dispatch.rows;
    phase.flops = toAmount(dispatch.flops);
    phase.bf16Flops = toAmount(dispatch.bf16Flops);
    phase.int8Flops = toAmount(dispatch.int8Flops);
    phase.bytes = toAmount(dispatch.bytes);
    phase.weightBytes = dispatch.weightBytes;
    phase.schedule = dispatch.schedule;
  }
  return result;
}

static std::vector<ExplainedTensor>
readTensors(const std::vector<ManifestTensor> &tensors) {
  std::vector<ExplainedTensor> result;
  for (const ManifestTensor &tensor : tensors) {
    result.push_back({tensor.name, std::string(dtypeName(tensor.dtype)), {}});
    for (const Polynomial &size : tensor.shape)
      result.back().shape.push_back(size.str());
  }
  return result;
}

/// Reads the planned buffers, with lifetimes that only the module has.
static void readMemory(func::FuncOp function, const ManifestEntry &entry,
                       ExplainedEntry &result) {
  result.arenaBytes = toAmount(entry.arenaBytes);
  result.arenaLowerBound = toAmount(entry.arenaLowerBound);
  auto table = function->getAttrOfType<ArrayAttr>("kern.buffers");
  for (auto [buffer, attribute] : llvm::zip(entry.buffers, table)) {
    auto fields = cast<DictionaryAttr>(attribute);
    auto step = [&](StringRef name) {
      auto number = fields.getAs<IntegerAttr>(name);
      return number ? number.getInt() : 0;
    };
    result.buffers.push_back({buffer.what, toAmount(buffer.offset),
                              toAmount(buffer.bytes), step("first"),
                              step("last")});
  }
  if (auto steps = function->getAttrOfType<ArrayAttr>("kern.memory_steps"))
    for (Attribute step : steps)
      result.memorySteps.push_back(cast<StringAttr>(step).getValue().str());
}

std::vector<ExplainedEntry> transom::explainEntries(ModuleOp module,
                                                    const Manifest &manifest) {
  std::vector<ExplainedEntry> entries;
  for (const ManifestEntry &entry : manifest.entries) {
    if (!entry.derivedFrom.empty())
      continue;
    auto function = module.lookupSymbol<func::FuncOp>(entry.name);
    ExplainedEntry &result = entries.emplace_back();
    result.name = entry.name;
    result.kind = getEntryKindName(entry.kind);
    result.inputs = readTensors(entry.inputs);
    result.outputs = readTensors(entry.outputs);
    result.flops = toAmount(entry.flops);
    result.bf16Flops = toAmount(entry.bf16Flops);
    result.int8Flops = toAmount(entry.int8Flops);
    result.streamedBytes = entry.streamedBytes.value_or(0);
    result.barriers = static_cast<int64_t>(entry.dispatchOrder.size());
    result.minBarriers = entry.getMinBarriers();
    result.order = entry.dispatchOrder;
    for (auto layers : function.getOps<kern::LayersOp>())
      result.layers += static_cast<int64_t>(layers.getLayers().size());
    result.phases = PhaseReader(module, entry).read(function);
    readMemory(function, entry, result);
  }
  return entries;
}

std::vector<ExplainedWeight> transom::explainWeights(ModuleOp module) {
  std::vector<ExplainedWeight> weights;
  for (auto weight : module.getOps<kern::WeightOp>()) {
    kern::WeightType type = weight.getType();
    weights.push_back(
        {weight.getSymName().str(), getLayoutName(type.getLayout()),
         type.getFormat().getStorage().str(), type.getShape().vec(),
         int64_t(weight.getOffset().value_or(0)), type.getByteSize()});
  }
  return weights;
}
