// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern dialect: what the machine does. Include this for its types and
// operations.
#pragma once
#include "dialects/common/Activation.h"
#include "dialects/common/PositionBuckets.h"
#include "dialects/kern/AttentionSchedule.h"
#include "dialects/weights/Weights.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/abi/Layout.h"
#include "runtime/base/Polynomial.h"
#include "runtime/weights/OperandFormat.h"
#include "runtime/weights/WeightLayout.h"
#include <optional>

namespace transom {
llvm::hash_code hash_value(const OperandFormat &format);
} // namespace transom

namespace transom::kern {

/// A buffer of f32 rounded: to bf16, or to whole numbers with scales.
struct RoundedBuffer {
  mlir::Value numbers;
  mlir::Value scales = {}; ///< as `kern.quantize` writes them; null: bf16
};
/// What keeps an operation from rounding what it writes.
enum class RoundObstacle {
  NotSupported,   ///< it never rounds, or not so
  ReadInF32,      ///< something else reads the buffer in f32
  AnotherResult,  ///< it can round another buffer that it writes
  LongK,          ///< accumulators of a long sum wait in the buffer
  Summary,        ///< it summarizes its rows in f32
  AttentionInF32, ///< an attention whose operands are f32
  SeveralResults, ///< whole numbers of one of several results
  SplitGroups,    ///< heads of an attention that are no whole groups
};
/// The norm of finished rows in the epilogue of a product.
enum class NormKind { None, LayerNorm, RmsNorm };

/// A trait of operations that define what others use and do no work in a phase.
template <typename ConcreteType>
class IsDefinition
    : public mlir::OpTrait::TraitBase<ConcreteType, IsDefinition> {};

/// The type of numbers in storage, and the storage of a type, if it has one.
mlir::Type getType(mlir::MLIRContext *context, StorageType type);
std::optional<StorageType> findStorageType(mlir::Type type);

/// Longest K that a product of f32 takes in one pass over its tiles; a longer
/// one is cut, and the accumulators wait in the output.
constexpr int64_t kMaxKBlock = 4096;

} // namespace transom::kern

#include "dialects/kern/KernDialect.h.inc"
#include "dialects/kern/KernEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/kern/KernAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/kern/KernTypes.h.inc"
// Interfaces name types.
#include "dialects/kern/KernInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/kern/KernOps.h.inc"

namespace transom::kern {

/// Longest K of a product with this weight: as many bytes of its other operand
/// as `kMaxKBlock` of f32.
int64_t getMaxKBlock(WeightType weight);
/// Whether products with a weight are computed with AMX where there is AMX:
/// bf16 in panels, or whole numbers in groups, and k a multiple of what an
/// instruction multiplies.
bool suitsAmx(WeightType weight);
/// The same of an attention with these queries: bf16 without a cache, and dk a
/// multiple of `amxBf16Depth`. Causal attention is not, so that it has the bits
/// of decoding, whose single rows gain nothing by tiles.
bool suitsAmx(BufferType query, int64_t heads, bool hasCache, bool causal);

/// The type of a value that is a buffer.
inline BufferType getBufferType(mlir::Value buffer) {
  return llvm::cast<BufferType>(buffer.getType());
}

/// True for a buffer of whole numbers that have scales in another buffer.
bool isQuantized(mlir::Value buffer);
/// The numbers of a row of whole numbers that share one of `scales`; nothing
/// where these have the sizes of no group.
std::optional<int64_t> findQuantizedGroup(mlir::Value numbers,
                                          mlir::Value scales);

/// The buffer that views show: the alloc or the argument that owns the memory.
mlir::Value getStorage(mlir::Value buffer);

/// The name in costs for the sum over the sequences of rows times keys, where
/// `rows` names the number of all rows; with a window only keys within it
/// count.
std::string pairsName(llvm::StringRef rows, int64_t window = 0);

/// The name in costs for the sum over the sequences of rows times the positions
/// that read-only caches hold of them.
std::string sourcePairsName(llvm::StringRef rows);

} // namespace transom::kern

namespace transom {
using kern::getBufferType;
} // namespace transom
