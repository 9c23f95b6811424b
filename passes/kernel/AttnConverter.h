// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the functions in one module from attn to kern: values become buffers
// or weights, and operations write buffers. Each operation has its own
// conversion function, which its source file adds to a table.
#pragma once
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Remarks.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <set>

namespace transom {

/// State collected while an entry is converted.
struct EntryState {
  explicit EntryState(Remarks &remarks) : remarks(remarks) {}

  Remarks &remarks;
  mlir::func::FuncOp function; ///< the new function
  std::set<std::string> symbols;
  int64_t raggedBatches = 0; ///< ragged batches created so far
  /// The result of `attn.decode_batch`, whose keys are in caches; null if
  /// absent.
  kern::DecodeBatchOp sequences;
  /// Uniform ragged batches in the entry, by their batch and columns.
  std::map<std::pair<std::string, std::string>, kern::RaggedBatchOp> uniform;
  /// Read-only cache contents for `sequences`, by the maximum cache positions:
  /// caches with equal positions share their blocks.
  std::map<int64_t, kern::CacheBatchOp> sources;
};

class AttnConverter;

/// Conversion functions by operation.
class AttnConversions {
public:
  using Function = mlir::LogicalResult (*)(mlir::Operation &, AttnConverter &);

  /// Registers `convert` for an operation type; it writes the result buffer.
  template <typename OpT, mlir::LogicalResult (*convert)(OpT, AttnConverter &)>
  void add() {
    functions[mlir::TypeID::get<OpT>()] = [](mlir::Operation &op,
                                             AttnConverter &c) {
      return convert(mlir::cast<OpT>(op), c);
    };
  }
  /// Null if no function converts the operation.
  Function lookup(mlir::Operation &op) const {
    return functions.lookup(op.getName().getTypeID());
  }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

// One function for each source file with conversions.
void addElementwiseConversions(AttnConversions &conversions);
void addShapeConversions(AttnConversions &conversions);
void addProductConversions(AttnConversions &conversions);
void addAttentionConversions(AttnConversions &conversions);
void addRaggedConversions(AttnConversions &conversions);

/// Converts one function; bodies share their entry's state. The public members
/// are for operation conversions.
class AttnConverter {
public:
  using Value = mlir::Value;
  using RegionBody =
      llvm::function_ref<Value(mlir::OpBuilder &, mlir::ValueRange)>;

  AttnConverter(mlir::SymbolTable &symbols, EntryState &entry)
      : b(symbols.getOp()->getContext()), entry(entry), symbols(symbols) {}

  /// Converts a public function and its layer bodies to kern.
  mlir::LogicalResult convertEntry(mlir::func::FuncOp source);
  /// Converts the layers and their bodies.
  mlir::LogicalResult convertLayers(attn::LayersOp op);
  /// Number of operations converted.
  int64_t converted() const { return count; }

  /// The buffer type for a tensor.
  kern::BufferType bufferType(mlir::Type tensor);
  /// The kern value for an attn value: a buffer, weight, cache or ragged batch.
  Value getLowered(Value value) { return lowered.lookup(value); }
  void setLowered(Value value, Value kern) { lowered[value] = kern; }
  /// The kern value as a buffer; a weight is copied into a new one.
  Value buffer(Value value);
  Value alloc(mlir::Location loc, kern::BufferType type);
  /// The buffer to which an attn operation's result is written.
  Value outBuffer(Value result);
  void elementwise(mlir::Location loc, mlir::ValueRange inputs, Value out,
                   RegionBody body);
  /// Adds a weight to the module and returns its value.
  Value makeWeight(mlir::Location loc, llvm::StringRef name,
                   llvm::ArrayRef<int64_t> shape, const WeightExpr &expr);
  /// A ragged batch in which each of `batch` sequences has `columns` rows.
  Value uniformBatch(mlir::Location loc, const Polynomial &batch,
                     const Polynomial &columns);
  /// The keys in a read-only cache of this type for the sequences in
  /// `attn.decode_batch`.
  Value cacheBatch(mlir::Location loc, kern::CacheType type);

  mlir::OpBuilder b;
  EntryState &entry;

private:
  mlir::LogicalResult convertBody(mlir::func::FuncOp source, Value state,
                                  mlir::ValueRange invariants);
  mlir::LogicalResult convertOp(mlir::Operation &op);
  void copyInto(mlir::Location loc, Value source, Value out);
  Value getOwnTable(mlir::Operation *definition);

  mlir::SymbolTable &symbols;
  mlir::func::FuncOp function;          ///< the new function
  llvm::DenseMap<Value, Value> lowered; ///< attn value → kern value
  /// Frame tables that this function defines itself, by their type.
  llvm::DenseMap<mlir::Type, Value> tables;
  llvm::DenseMap<Value, Value> chosen; ///< result → its destination buffer
  int64_t count = 0;
};

/// True if the lowered value is stored in the artifact.
inline bool isWeight(mlir::Value lowered) {
  return mlir::isa<kern::WeightType>(lowered.getType());
}

/// The kern type for a static tensor as a weight; the layout is not yet chosen.
kern::WeightType getWeightType(mlir::Type tensor);

/// The kern type for a cache, f32 until `kern-choose-precision`.
kern::CacheType getCacheType(mlir::Type cache);

} // namespace transom
