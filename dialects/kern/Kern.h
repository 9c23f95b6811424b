// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern dialect: execution on the machine. Include this for its types and
// operations.
#pragma once
#include "dialects/common/Activation.h"
#include "dialects/common/PositionBuckets.h"
#include "dialects/kern/AttentionSchedule.h"
#include "dialects/weights/WeightLayout.h"
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
#include "runtime/base/OperandFormat.h"
#include "runtime/base/Polynomial.h"
#include <optional>

namespace transom {
llvm::hash_code hash_value(const OperandFormat &format);
} // namespace transom

namespace transom::kern {

/// A rounded f32 buffer: in bf16, or quantized with scales.
struct RoundedBuffer {
  mlir::Value numbers;
  mlir::Value scales = {}; ///< as from `kern.quantize`; null: bf16
};
/// The reason why an operation cannot round its output.
enum class RoundObstacle {
  NotSupported,   ///< it never rounds, or not to this type
  ReadInF32,      ///< another operation reads the f32 buffer
  AnotherResult,  ///< it can round another buffer that it writes
  LongK,          ///< the buffer holds accumulators between K blocks
  Summary,        ///< it summarizes its rows in f32
  AttentionInF32, ///< an attention with f32 operands
  SeveralResults, ///< it would quantize only some results
  SplitGroups,    ///< attention heads are not whole groups
};
/// The norm over complete rows in a GEMM epilogue.
enum class NormKind { None, LayerNorm, RmsNorm };

/// Trait for operations that define symbols for others and do no work in a
/// phase.
template <typename ConcreteType>
class IsDefinition
    : public mlir::OpTrait::TraitBase<ConcreteType, IsDefinition> {};

/// The element type for a storage type, and the storage type for an element
/// type, if any.
mlir::Type getType(mlir::MLIRContext *context, StorageType type);
std::optional<StorageType> findStorageType(mlir::Type type);

/// Maximum K that an f32 GEMM processes in one pass over its tiles; a longer K
/// is split, and the accumulators are stored in the output in between.
constexpr int64_t kMaxKBlock = 4096;

} // namespace transom::kern

#include "dialects/kern/KernDialect.h.inc"
#include "dialects/kern/KernEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/kern/KernAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/kern/KernTypes.h.inc"
// Interfaces use types.
#include "dialects/kern/KernInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/kern/KernOps.h.inc"

namespace transom::kern {

/// Maximum K block for a GEMM with this weight: the other operand has as many
/// bytes as `kMaxKBlock` f32 elements.
int64_t getMaxKBlock(WeightType weight);
/// Whether GEMMs with a weight use AMX if available: bf16 in panels, or
/// integers in groups, with k a multiple of an instruction's depth.
bool suitsAmx(WeightType weight);
/// The same for an attention with these queries: bf16 without a cache, and dk a
/// multiple of `amxBf16Depth`. Causal attention does not use AMX, so that its
/// bits equal decoding, whose single rows gain nothing from tiles.
bool suitsAmx(BufferType query, int64_t heads, bool hasCache, bool causal);

/// Returns a buffer value's type.
inline BufferType getBufferType(mlir::Value buffer) {
  return llvm::cast<BufferType>(buffer.getType());
}

/// True for an integer buffer with scales in another buffer.
bool isQuantized(mlir::Value buffer);
/// The quantization group size along a row; nullopt if the shape of `scales`
/// matches no group size.
std::optional<int64_t> findQuantizedGroup(mlir::Value numbers,
                                          mlir::Value scales);

/// The buffer underlying views: the alloc or the argument that owns the memory.
mlir::Value getStorage(mlir::Value buffer);

/// The symbol in costs for the sum over sequences of rows times keys, where
/// `rows` is the symbol for all rows; with a window only keys within it count.
std::string pairsName(llvm::StringRef rows, int64_t window = 0);

/// The symbol in costs for the sum over sequences of rows times their positions
/// in read-only caches.
std::string sourcePairsName(llvm::StringRef rows);

} // namespace transom::kern

namespace transom {
using kern::getBufferType;
} // namespace transom
