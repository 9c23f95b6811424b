// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern dialect, which represents target computations: types and attributes.
#ifndef TRANSOM_DIALECTS_KERN_KERNDIALECT_TD
#define TRANSOM_DIALECTS_KERN_KERNDIALECT_TD

include "dialects/common/Activation.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let cppNamespace = "::transom::kern";
  let summary = "operations on planned buffers";
  let description = [{
    A small set of operations on buffers. Each reads buffers and writes its `outs`
    buffers; there are no results. Phases contain operations that run without a
    barrier between them. Buffers have symbolic sizes; `kern-plan-memory` assigns
    their arena offsets.

    Entry attributes (public functions):
    - `kern.inputs`: the number of arguments that are inputs; results follow.
    - `kern.symbols`: the size names, in frame order.
    - `kern.buffers`: for each slot `offset` and `bytes` (both sizes), `location`,
      and `first` and `last`, the first and the last step that uses it. Buffers with
      a common step share no byte, for all sizes. Buffers marked `kept` are
      persistent across calls: they are at the end of the arena here, and the
      runtime allocates separate memory for them.
    - `kern.memory_steps`: the steps for lifetimes. A step has its phase's name; the
      name is empty before the first phase and at layer begins and ends.
    - `kern.arena_bytes`, `kern.arena_lower_bound`: the arena size, and the minimum
      over all possible plans.

    Module attributes:
    - `kern.weight_bytes`: total size of all weights in bytes. Once it is set, each
      weight has an offset, divisible by 64, and no two share a byte.
    - `kern.cache_groups`: for each cache group `window`, `type`, `layers`, the block
      size `bytes`, and `positions` for read-only caches. Once it is set, each cache
      is in the group for its window, positions and type, and no two share a byte.
  }];
  let dependentDialects = ["::transom::weights::WeightsDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerAliases();
    /// Prints modules in this context with short names for kern types.
    static void useTypeAliases(::mlir::MLIRContext *context, bool use = true);
  }];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Kern_ActivationAttr : Transom_ActivationAttr<Kern_Dialect>;

def Kern_EpilogueAttr : AttrDef<Kern_Dialect, "Epilogue"> {
  let mnemonic = "epilogue";
  let summary = "what a product does with its tiles before it stores them";
  let description = [{
    An activation, `glu` with an activation (activation(g) * u, see `kern.gemm`),
    and a norm over the completed rows, `layer_norm` or `rms_norm` with its epsilon.
    It does not include bias and residual, which are operands.

    Constraints:
    1. It has an activation or a norm.
    2. A norm, and only a norm, has an epsilon, which is finite and not negative.

    Example: `#kern.epilogue<gelu>`, `#kern.epilogue<glu silu>`,
    `#kern.epilogue<relu, layer_norm 1.0e-12>`
  }];
  let parameters = (ins "::transom::kern::ActivationAttr":$activation, "bool":$glu,
                        "::transom::kern::NormKind":$norm, "::mlir::FloatAttr":$eps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    AttrBuilder<(ins "::transom::Activation":$kind, CArg<"bool", "false">:$glu), [{
      return get($_ctxt, ActivationAttr::get($_ctxt, kind), glu, NormKind::None, {});
    }]>
  ];
  let extraClassDeclaration = [{
    /// Returns this epilogue (null: an empty one) with a row norm.
    static EpilogueAttr addNorm(EpilogueAttr epilogue, NormKind norm, ::mlir::FloatAttr eps);
  }];
}

def Kern_OperandFormatAttr : AttrDef<Kern_Dialect, "OperandFormat"> {
  let mnemonic = "format";
  let summary = "how an operand of a product is stored";
  let description = [{
    Elements have type `element`. With `group`, each quantization group of this size
    along K has a scale and optionally an offset (`minimums`): a value is
    element * scale + offset. With `block`, scales and offsets are integers themselves; each
    block of this size along K has one factor for its scales and one for its offsets
    (`block_scales`). In a panel column, `interleave` consecutive elements along K are
    adjacent; K is zero-padded to whole blocks, and to 32 if elements are interleaved.
    The last group may be shorter.

    Panels contain the elements, [k/interleave][32][interleave]. Each group's elements
    are followed by its scales, [32], and its offsets; each block's by its scale and
    offset factors. An i8 element is stored as the byte w + 128.

    Constraints:
    1. The interleave is 1, 2, 4 or 8 and yields whole bytes.
    2. Integer elements, and no others, have a group with scales.
    3. The group size is divisible by 8 and by the interleave.
    4. Minimums require scales.
    5. The block size is divisible by the group size, and a block has scales.
    6. Scales and minimums are floats; with block scales they are integers.
    7. Block scales are floats.

    Example: `#kern.format<f32>`, `#kern.format<bf16, interleave 2>`,
    `#kern.format<i8, group 128, scales f32, interleave 4>`,
    `#kern.format<ui4, group 32, scales f16, minimums f16, interleave 8>`,
    `#kern.format<ui4, group 32, scales ui8, minimums ui8, block 256, block_scales f16, interleave 8>`
  }];
  let parameters = (ins "::transom::OperandFormat":$storage);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the plain f32 or bf16 format.
    static OperandFormatAttr get(::mlir::Type element);
    /// Returns the element type.
    ::mlir::Type getElementType() const;
    /// Returns the type for the other GEMM operand.
    ::mlir::Type getOperandType() const;
  }];
}

def Kern_LayerAttr : AttrDef<Kern_Dialect, "Layer"> {
  let mnemonic = "layer";
  let summary = "one layer of `kern.layers`: a body, and its weights and caches";
  let description = [{
    The parameters are symbols for weights and caches, one for each trailing body
    argument. `kern.layers` prints a layer as `@body(@weight)`.

    Example: `#kern.layer<@body, [@weight, @cache]>`
  }];
  let parameters = (ins
      "::mlir::FlatSymbolRefAttr":$body,
      OptionalArrayRefParameter<"::mlir::FlatSymbolRefAttr">:$parameters);
  let assemblyFormat = "`<` $body (`,` `[` $parameters^ `]`)? `>`";
}

def Kern_ScheduleAttr : AttrDef<Kern_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how the work of an attention is divided";
  let description = [{
    `auto`, `streaming`, `two_pass` or `split_kv`, and optionally the maximum number
    of query rows in a work item; see `kern.attention`.

    Constraints:
    1. A work item has 1 to 24 rows.

    Example: `#kern.schedule<streaming>`, `#kern.schedule<two_pass, rows 8>`
  }];
  let parameters = (ins "::transom::kern::AttentionSchedule":$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let returnType = "::transom::kern::AttentionSchedule";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::transom::kern::ScheduleAttr::get($_builder.getContext(), $0)";
}

def Kern_PoolKind : I32EnumAttr<"PoolKind", "how the rows of a sequence are pooled", [
    I32EnumAttrCase<"First", 0, "first">,
    I32EnumAttrCase<"Last", 1, "last">,
    I32EnumAttrCase<"Mean", 2, "mean">,
    I32EnumAttrCase<"Sum", 3, "sum">,
    I32EnumAttrCase<"Max", 4, "max">,
    I32EnumAttrCase<"MeanSqrt", 5, "mean_sqrt">,
    I32EnumAttrCase<"WeightedMean", 6, "weighted_mean">,
    I32EnumAttrCase<"FirstKey", 7, "first_key">]> {
  let cppNamespace = "::transom::kern";
  let genSpecializedAttr = 0;
}
def Kern_PoolKindAttr : EnumAttr<Kern_Dialect, Kern_PoolKind, "pool_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Kern_OneDnnPrimitive : I32EnumAttr<"OneDnnPrimitive", "a primitive of oneDNN", [
    I32EnumAttrCase<"Matmul", 0, "matmul">,
    I32EnumAttrCase<"BatchMatmul", 1, "batch_matmul">,
    I32EnumAttrCase<"Softmax", 2, "softmax">,
    I32EnumAttrCase<"LayerNorm", 3, "layer_norm">]> {
  let cppNamespace = "::transom::kern";
  let genSpecializedAttr = 0;
}
def Kern_OneDnnPrimitiveAttr : EnumAttr<Kern_Dialect, Kern_OneDnnPrimitive, "primitive"> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Kern_BufferType : TypeDef<Kern_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "memory of symbolic size with a layout";
  let description = [{
    `dims` are polynomials in the entry's symbols. Layout `rows` is row-major with the
    last dimension padded to `stride` elements (0 = dense). Layout `key_panels`
    contains attention keys: [positions/32][columns][32] for the dims [positions,
    columns]; in bf16 [positions/32][columns/2][32][2], where two columns of a key are
    adjacent.

    Constraints:
    1. Elements are i1 (stored as a byte), or integers or floats of whole bytes.
    2. A stride is at least the last size, which must be a constant then.
    3. Key panels are f32 or bf16, with rank 2 and without a stride.
    4. bf16 key panels have an even, constant column count.

    Example: `!kern.buffer<[rows, 768] x f32>`,
    `!kern.buffer<[rows, 3072] x f32, stride 3088>`,
    `!kern.buffer<[keys, 768] x bf16, key_panels>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dimTexts,
                        "::mlir::Type":$elementType, "int64_t":$stride,
                        "bool":$keyPanels);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static BufferType get(::mlir::MLIRContext *context,
                          ::llvm::ArrayRef<::transom::Polynomial> dims,
                          ::mlir::Type elementType, int64_t stride = 0,
                          bool keyPanels = false);
    /// Returns the sizes, outermost first.
    ::llvm::SmallVector<::transom::Polynomial> getDims() const;
    int64_t getRank() const { return getDimTexts().size(); }
    /// Returns the distance between rows along the last dimension, in elements.
    ::transom::Polynomial getRowStride() const;
    /// Returns the product of all dimensions except the last.
    ::transom::Polynomial getRowCount() const;
    /// Returns the size in the arena in bytes.
    ::transom::Polynomial getByteSize() const;
    /// Returns the element size in bytes.
    int64_t getElementBytes() const;
    bool isF32() const { return getElementType().isF32(); }
    bool isBf16() const { return getElementType().isBF16(); }
    /// Returns the storage format of a float buffer: rows, or key panels.
    ::transom::OperandFormat getFormat() const;
  }];
}

def Kern_WeightType : TypeDef<Kern_Dialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "a weight in the artifact, in a layout";
  let description = [{
    Layout `rows` is row-major; `panels32` is [n/32][k][32] for a weight [n, k], where
    each of its `splits` along n starts at a panel boundary; `padded32` is a vector
    whose splits start at multiples of 32. `unset` before `kern-pack-weights`. The
    format (`#kern.format`) specifies element storage in panels; f32 stands for
    `#kern.format<f32>`, bf16 for `#kern.format<bf16, interleave 2>`.

    Constraints:
    1. Layouts other than `panels32` and `unset` contain f32 or bf16.
    2. Sizes are not negative.
    3. Splits are positive.
    4. Splits add up to the first size.
    5. `panels32` has rank 2, `padded32` rank 1.
    6. `padded32` contains f32.

    Example: `!kern.weight<[768, 768] x f32, panels32>`,
    `!kern.weight<[768, 768] x bf16, panels32>`,
    `!kern.weight<[768, 768] x #kern.format<i8, group 32, scales f16>, panels32>`,
    `!kern.weight<[2304, 768] x f32, panels32, splits [768, 768, 768]>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::transom::kern::OperandFormatAttr":$format,
                        "::transom::WeightLayout":$layout,
                        ArrayRefParameter<"int64_t">:$splits);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns a weight type in the plain f32 or bf16 format.
    static WeightType get(::mlir::MLIRContext *context, ::llvm::ArrayRef<int64_t> shape,
                          ::mlir::Type element, ::transom::WeightLayout layout,
                          ::llvm::ArrayRef<int64_t> splits);
    /// Returns the size in the artifact in bytes.
    int64_t getByteSize() const;
    /// Returns the `panels32` panel size in bytes.
    int64_t getPanelBytes() const;
    /// Returns the element type.
    ::mlir::Type getElementType() const { return getFormat().getElementType(); }
    bool isBf16() const { return getElementType().isBF16(); }
    /// Returns true for integers in groups with scales.
    bool isGrouped() const { return getFormat().getStorage().isGrouped(); }
    /// Returns k for `panels32`, including padding.
    int64_t getPaddedDepth() const;
    /// Returns the first padded column of each split, then the padded size.
    ::llvm::SmallVector<int64_t> getPaddedStarts() const;
  }];
}

def Kern_RaggedType : TypeDef<Kern_Dialect, "Ragged"> {
  let mnemonic = "ragged";
  let summary = "the rows of a ragged buffer";
  let description = [{
    `index` is the table index in the frame.

    Example: `!kern.ragged<0>`
  }];
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Kern_CacheType : TypeDef<Kern_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "keys and values of a layer, in blocks of positions";
  let description = [{
    `heads` heads with `key` elements per key and `value` elements per value; with a
    window w only the last w positions are stored. A block contains 256 positions for
    all layers in a group. At the layer's offset it contains the keys, head by head, as
    panels [256/32][key][32], then the values, head by head, as rows [256][value]. In
    bf16, keys are paired along the key, [256/32][depth/2][32][2], and values along
    positions, [128][value][2]. In int8 an element is a byte times the scale for its
    position and head; key scales, f32 [heads][256], follow the keys, and value scales
    follow the values.

    With `read_only` p the cache does not grow with its sequences: it holds at most p
    positions per sequence, filled once, for cross attention.

    Constraints:
    1. Heads, key and value are positive, with at most 2^31 - 1 elements per
       position.
    2. The window is not negative.
    3. The element type is a `--kv-dtype` value.
    4. A read-only cache's position count is not negative (0: the cache grows), and
       a read-only cache has no window.

    Example: `!kern.cache<heads 4, key 64, value 64, f32>`,
    `!kern.cache<heads 4, key 64, value 64, window 4096, bf16>`,
    `!kern.cache<heads 8, key 64, value 64, read_only 1500, f32>`
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$key, "int64_t":$value,
                        "int64_t":$window, "int64_t":$positions, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the storage format for keys and values.
    ::transom::OperandFormat getFormat() const;
    int64_t getElementBytes() const { return getFormat().getElementBytes(); }
    /// True if it is filled once and does not grow with its sequences.
    bool isReadOnly() const { return getPositions() > 0; }
    /// Returns the element type for queries that read it: f32 or bf16.
    ::mlir::Type getQueryType() const;
    /// Returns the key size with padding: in bf16 rounded up to even.
    int64_t getDepth() const;
    /// Returns the size of all keys or values in a block, for all heads, including
    /// scales, in bytes; a multiple of 64.
    int64_t getKeyBytes() const;
    int64_t getValueBytes() const;
    /// Returns the offset of the key or value scales from the layer's start.
    int64_t getKeyScales() const;
    int64_t getValueScales() const;
    /// Returns a layer's size in a block in bytes.
    int64_t getByteSize() const;
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNDIALECT_TD
