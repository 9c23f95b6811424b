// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the functions of one module from attn to kern: values become
// buffers or weights, operations write buffers. Each operation is converted by
// a function of its own, which its source adds to a table.
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

/// What an entry has collected while it is converted.
struct EntryState {
  explicit EntryState(Remarks &remarks) : remarks(remarks) {}

  Remarks &remarks;
  mlir::func::FuncOp function; ///< the new function
  std::set<std::string> symbols;
  int64_t raggedBatches = 0; ///< ragged batches made so far
  /// Those of `attn.decode_batch`, whose keys are in caches; null without.
  kern::DecodeBatchOp sequences;
  /// Uniform ragged of the entry by their batch and columns.
  std::map<std::pair<std::string, std::string>, kern::RaggedBatchOp> uniform;
  /// What read-only caches hold of `sequences`, by the most positions of the
  /// caches: those of equal positions share their blocks.
  std::map<int64_t, kern::CacheBatchOp> sources;
};

class AttnConverter;

/// The function that converts each operation.
class AttnConversions {
public:
  using Function = mlir::LogicalResult (*)(mlir::Operation &, AttnConverter &);

  /// Operations of this type are converted by `convert`, which writes the
  /// buffer of the result.
  template <typename OpT, mlir::LogicalResult (*convert)(OpT, AttnConverter &)>
  void add() {
    functions[mlir::TypeID::get<OpT>()] = [](mlir::Operation &op,
                                             AttnConverter &c) {
      return convert(mlir::cast<OpT>(op), c);
    };
  }
  /// Null for an operation that no function converts.
  Function lookup(mlir::Operation &op) const {
    return functions.lookup(op.getName().getTypeID());
  }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

// One function for each source of conversions.
void addElementwiseConversions(AttnConversions &conversions);
void addShapeConversions(AttnConversions &conversions);
void addProductConversions(AttnConversions &conversions);
void addAttentionConversions(AttnConversions &conversions);
void addRaggedConversions(AttnConversions &conversions);

/// Converts one function; bodies share the state of their entry. The public
/// members are for conversions of operations.
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

  /// The buffer type of a tensor.
  kern::BufferType bufferType(mlir::Type tensor);
  /// The kern value of an attn value: a buffer, weight, cache or ragged batch.
  Value getLowered(Value value) { return lowered.lookup(value); }
  void setLowered(Value value, Value kern) { lowered[value] = kern; }
  /// The kern value as a buffer; a weight is copied into one.
  Value buffer(Value value);
  Value alloc(mlir::Location loc, kern::BufferType type);
  /// The buffer that the result of an attn operation shall be written to.
  Value outBuffer(Value result);
  void elementwise(mlir::Location loc, mlir::ValueRange inputs, Value out,
                   RegionBody body);
  /// Adds a weight to the module and gives its value.
  Value makeWeight(mlir::Location loc, llvm::StringRef name,
                   llvm::ArrayRef<int64_t> shape, const WeightExpr &expr);
  /// RaggedBatch in which each of `batch` sequences has `columns` rows.
  Value uniformBatch(mlir::Location loc, const Polynomial &batch,
                     const Polynomial &columns);
  /// The keys that a read-only cache of this type holds of the sequences of
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
  /// Tables of the frame that this function defines itself, by their type.
  llvm::DenseMap<mlir::Type, Value> tables;
  llvm::DenseMap<Value, Value> chosen; ///< result → the buffer it is written to
  int64_t count = 0;
};

/// True for a lowered value that is in the artifact.
inline bool isWeight(mlir::Value lowered) {
  return mlir::isa<kern::WeightType>(lowered.getType());
}

/// The kern type of a static tensor as a weight, its layout not yet chosen.
kern::WeightType getWeightType(mlir::Type tensor);

/// The kern type of a cache, of f32 until `kern-choose-precision`.
kern::CacheType getCacheType(mlir::Type cache);

} // namespace transom
