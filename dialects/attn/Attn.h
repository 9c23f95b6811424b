// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attn dialect: Transformer semantics. Include this for its types,
// attributes and operations.
#pragma once
#include "dialects/common/Activation.h"
#include "dialects/common/PositionBuckets.h"
#include "dialects/weights/Weights.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/base/Polynomial.h"
#include <optional>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace transom::attn::detail {

/// The arguments used from `InferTypeOpInterface::inferReturnTypes`.
struct UnbuiltOp {
  std::optional<mlir::Location> location;
  llvm::StringRef name;
  mlir::ValueRange operands;
  mlir::DictionaryAttr attributes;
  mlir::OpaqueProperties properties;
};

/// Appends the result types computed by the shape rule for an operation that is
/// about to be built.
mlir::LogicalResult inferReturnTypes(const UnbuiltOp &unbuilt,
                                     llvm::SmallVectorImpl<mlir::Type> &types);

/// Compares an operation's ranked result types with its shape rule.
mlir::LogicalResult verifyInferredShapes(mlir::Operation *op);

/// Names a result after the last component of its module path: `%query`.
void nameResultByLocation(mlir::Operation *op,
                          mlir::OpAsmSetValueNameFn setName);

} // namespace transom::attn::detail

namespace transom::attn {

/// Queries about values when padding is removed. Rows are the tokens in
/// `[batch, seq, ...]` without padding: `[tokens, ...]`.
struct RowQuery {
  /// Each token has its own value.
  llvm::function_ref<bool(mlir::Value)> isRows;
  /// Does not depend on the length, such as a weight.
  llvm::function_ref<bool(mlir::Value)> isFixed;
  /// The type is `[batch, seq, ...]` and the other sizes do not depend on the
  /// length.
  llvm::function_ref<bool(mlir::Value)> hasRowsShape;
};

/// The reason why an operation cannot work on rows.
enum class RowObstacle {
  None,
  MixesPositions,             ///< a matmul sums over positions
  MovesBatchOrLength,         ///< they are not the first two result sizes
  InputHasNoRows,             ///< its input has no row for each token
  JoinsBatchOrLength,         ///< it concatenates along one of them
  JoinsRowsWithOthers,        ///< some concatenated inputs have no rows
  CutsBatchOrLength,          ///< it slices along one of them
  LookupTableDependsOnLength, ///< its table depends on the length
  IndicesHaveNoRows,          ///< its indices have no row for each token
};

} // namespace transom::attn

#include "dialects/attn/AttnDialect.h.inc"
#include "dialects/attn/AttnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/attn/AttnAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/attn/AttnInterfaces.h.inc"
#include "dialects/attn/AttnTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/attn/AttnOps.h.inc"

namespace transom::attn {

/// The symbolic sizes in a ranked tensor with an `#attn.shape` encoding, or in
/// a static tensor without one.
llvm::SmallVector<Polynomial> getSymbolicShape(mlir::Type type);

/// `tensor<...xelement, #attn.shape<dims>>`; without the encoding if all sizes
/// are static.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<Polynomial> dims,
                                     mlir::Type elementType);

/// The NumPy broadcast of two shapes, or nullopt if they are incompatible.
std::optional<llvm::SmallVector<Polynomial>>
broadcastShapes(llvm::ArrayRef<Polynomial> a, llvm::ArrayRef<Polynomial> b);

} // namespace transom::attn
