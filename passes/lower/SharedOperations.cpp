// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are compared by a string key: the addresses of their unique names,
// attributes and types, and the indices of their operands.
#include "passes/lower/SharedOperations.h"
#include "passes/lower/ops/TileQueue.h"
#include "runtime/base/CodeSymbols.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The string for an operation, and its numbered operands. Equal strings mean
/// equal code except for the numbers.
class SharedOperations::Key {
public:
  Key(const ModuleInfo &info, Operation &op) : info(info), stream(text) {
    add(info.getEntry(op.getParentOfType<func::FuncOp>()));
    addOperation(op);
    for (Value operand : op.getOperands())
      addOperand(operand, 0);
    for (Region &region : op.getRegions())
      addRegion(region);
    if (auto gemm = dyn_cast<kern::GemmOp>(op)) {
      add(int64_t(TileQueue::canShare(gemm)));
      addNextProduct(gemm);
    }
  }

  StringRef getText() const { return text; }
  ArrayRef<Numbered> getNumbered() const { return numbered; }

private:
  void add(int64_t number) { stream << number << ' '; }
  void add(const void *address) { stream << address << ' '; }
  void add(Type type) { add(type.getAsOpaquePointer()); }
  void add(Operation *op) { add(static_cast<const void *>(op)); }

  void addOperation(Operation &op) {
    add(op.getName().getAsOpaquePointer());
    add(op.getAttrDictionary().getAsOpaquePointer());
  }

  /// Adds an owner's index among the numbered operands.
  void addNumbered(Value owner, unsigned layersAhead) {
    auto *known = llvm::find_if(numbered, [&](const Numbered &other) {
      return other.owner == owner && other.layersAhead == layersAhead;
    });
    add(int64_t(known - numbered.begin()));
    if (known == numbered.end())
      numbered.push_back({owner, layersAhead});
  }

  void addOperand(Value operand, unsigned layersAhead) {
    // The type identifies a ragged batch.
    add(operand.getType());
    if (isa<kern::RaggedType>(operand.getType()))
      return;
    if (isa<kern::CacheType>(operand.getType()))
      add(int64_t(info.getCache(operand).getGroup().value_or(0)));
    if (!isa<kern::BufferType>(operand.getType()))
      return addNumbered(operand, layersAhead);
    // Entry arguments are the same in each call.
    Value storage = info.getStorage(operand);
    if (auto argument = dyn_cast<BlockArgument>(storage))
      stream << 'a' << argument.getArgNumber() << ' ';
    else
      addNumbered(storage, layersAhead);
  }

  /// Operations in a region refer to values in the region by index.
  void addRegion(Region &region) {
    DenseMap<Value, int64_t> numbers;
    auto define = [&](Value value) {
      numbers.try_emplace(value, numbers.size());
      add(value.getType());
    };
    for (Block &block : region) {
      llvm::for_each(block.getArguments(), define);
      for (Operation &op : block) {
        addOperation(op);
        for (Value operand : op.getOperands())
          add(numbers.at(operand));
        llvm::for_each(op.getResults(), define);
      }
    }
  }

  /// A GEMM prefetches the next GEMM's weight.
  void addNextProduct(kern::GemmOp op) {
    auto [next, isInNextLayer] = info.getNextProduct(op);
    if (!next)
      return;
    add(int64_t(isInNextLayer));
    addOperand(next.getWeight(), isInNextLayer ? 1 : 0);
    add(next.getInput().getType());
  }

  const ModuleInfo &info;
  std::string text;
  llvm::raw_string_ostream stream;
  SmallVector<Numbered> numbered;
};

FailureOr<LLVM::LLVMFuncOp>
SharedOperations::createFunction(Operation &op, ArrayRef<Numbered> operands,
                                 Lower lower) {
  // void (frame, layer offsets, worker, num_workers, numbers...)
  MLIRContext *context = target.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(target.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context), word = b.getI64Type();
  SmallVector<Type> types{pointer, pointer, word, word};
  types.append(operands.size(), word);
  const InstructionSet &isa = kernels.getIsa();
  std::string name = std::string(sharedSymbolPrefix) + isa.name + "." +
                     std::to_string(functions.size()) + "." +
                     op.getName().stripDialect().str();
  auto function = b.create<LLVM::LLVMFuncOp>(
      op.getLoc(), name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types),
      LLVM::Linkage::Internal);
  function.setNoInline(true);
  setTargetAttributes(function, isa);

  // Emit the operation; the numbers are the remaining arguments.
  b.setInsertionPointToStart(function.addEntryBlock(b));
  PhaseEmitter e(b, op.getLoc(), info, op.getParentOfType<func::FuncOp>(),
                 function, kernels);
  for (auto [i, operand] : llvm::enumerate(operands))
    e.setNumber(operand.owner, operand.layersAhead,
                function.getArgument(4 + i));
  if (failed(lower(e, op)))
    return failure();
  b.create<LLVM::ReturnOp>(op.getLoc(), ValueRange{});
  return function;
}

LogicalResult SharedOperations::emitCall(PhaseEmitter &e, Operation &op,
                                         Lower lower) {
  Key key(info, op);
  LLVM::LLVMFuncOp function = functions.lookup(key.getText());
  if (!function) {
    FailureOr<LLVM::LLVMFuncOp> created =
        createFunction(op, key.getNumbered(), lower);
    if (failed(created))
      return failure();
    function = functions[key.getText()] = *created;
  }
  e.setLocation(op.getLoc());
  SmallVector<Value> arguments = e.getArguments();
  for (const Numbered &operand : key.getNumbered())
    arguments.push_back(e.number(operand.owner, operand.layersAhead));
  e.builder().create<LLVM::CallOp>(op.getLoc(), function, arguments);
  return success();
}
