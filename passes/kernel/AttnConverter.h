// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the functions of one module from attn to kern: values become
// buffers or weights, operations write buffers.
#pragma once
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <set>

namespace transom {

/// What an entry has collected while it is converted.
struct EntryState {
  mlir::func::FuncOp function; ///< the new function
  std::set<std::string> symbols;
  int64_t raggedBatches = 0; ///< ragged batches made so far
  /// Those of `attn.decode_batch`, whose keys are in caches; null without.
  kern::DecodeBatchOp sequences;
  /// Uniform ragged of the entry by their batch and columns.
  std::map<std::pair<std::string, std::string>, kern::RaggedBatchOp> uniform;
};

/// Converts one function; bodies share the state of their entry.
class AttnConverter {
public:
  using Value = mlir::Value;
  using RegionBody =
      llvm::function_ref<Value(mlir::OpBuilder &, mlir::ValueRange)>;

  AttnConverter(mlir::SymbolTable &symbols, EntryState &entry)
      : symbols(symbols), entry(entry) {}

  /// Converts a public function and its layer bodies to kern.
  mlir::LogicalResult convertEntry(mlir::func::FuncOp source);
  /// Number of operations converted.
  int64_t converted() const { return count; }

private:
  mlir::LogicalResult convertBody(mlir::func::FuncOp source, Value state,
                                  mlir::ValueRange invariants);
  mlir::LogicalResult convertOp(mlir::Operation &op);
  /// The same for what belongs to ragged rows and to sequences.
  mlir::LogicalResult convertRagged(mlir::Operation &op);

  // One member a group of operations; each writes the buffer of its result.
  void convertEmbedding(attn::EmbeddingOp op);
  mlir::LogicalResult convertNorm(mlir::Operation &op);
  void convertLinear(attn::LinearOp op);
  void convertMatmul(attn::MatmulOp op);
  void convertElementwise(mlir::Operation &op);
  void convertConcat(attn::ConcatOp op);
  void convertSlice(attn::SliceOp op);
  void convertPosition(attn::PositionOp op);
  void convertPool(attn::PoolOp op);
  /// What an attention works in, and how.
  struct AttentionMemory {
    mlir::Value scratch, partials, counters; ///< the last two may be null
    kern::AttentionSchedule schedule;
  };
  AttentionMemory attentionMemory(mlir::Location loc, attn::SdpaOp op,
                                  bool ownKeys, int64_t valueSize);
  mlir::LogicalResult convertSdpa(attn::SdpaOp op);
  /// The ragged of queries and of keys, and the mask in four dimensions.
  struct AttentionRows {
    mlir::Value queries, keys, mask; ///< the mask may be null
  };
  AttentionRows attentionRows(attn::SdpaOp op);
  mlir::LogicalResult convertDecodeBatch(attn::DecodeBatchOp op);
  void convertRopeTable(attn::RopeTableOp op);
  void convertConstant(attn::ConstantOp op);
  mlir::LogicalResult convertRaggedBatch(attn::RaggedBatchOp op);
  mlir::LogicalResult convertLayers(attn::LayersOp op);

  kern::BufferType bufferType(mlir::Type tensor);
  /// The kern value of an attn value: a buffer, weight, cache or ragged batch.
  Value getLowered(Value value) { return lowered.lookup(value); }
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
  Value transposeLast(mlir::Location loc, Value buffer);
  /// RaggedBatch in which each of `batch` sequences has `columns` rows.
  Value uniformBatch(mlir::Location loc, const Polynomial &batch,
                     const Polynomial &columns);
  /// Keys as panels, packed from rows.
  Value keyPanels(mlir::Location loc, Value rows, Value ragged);
  void copyInto(mlir::Location loc, Value source, Value out);

  mlir::SymbolTable &symbols;
  EntryState &entry;
  mlir::func::FuncOp function; ///< the new function
  mlir::OpBuilder b{symbols.getOp()->getContext()};
  llvm::DenseMap<Value, Value> lowered; ///< attn value → kern value
  llvm::DenseMap<mlir::Type, Value>
      uniform; ///< ragged that this function defines itself
  llvm::DenseMap<Value, Value> chosen; ///< result → the buffer it is written to
  int64_t count = 0;
};

/// The kern type of a static tensor as a weight, its layout not yet chosen.
kern::WeightType getWeightType(mlir::Type tensor);

/// The kern type of a cache, of f32 until `kern-choose-precision`.
kern::CacheType getCacheType(mlir::Type cache);

/// Emits the scalar form of an elementwise attn operation on its operands.
mlir::Value emitScalarOp(mlir::OpBuilder &b, mlir::Operation &op,
                         mlir::ValueRange operands);

} // namespace transom
