// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect that says what the machine does: its types and interface.
#ifndef TRANSOM_DIALECTS_KERN_KERNDIALECT_TD
#define TRANSOM_DIALECTS_KERN_KERNDIALECT_TD

include "dialects/common/Activation.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let cppNamespace = "::transom::kern";
  let summary = "what the machine does";
  let description = [{
    Few operations on buffers. Each reads buffers and writes buffers that it
    names as `outs`; nothing is returned. Phases hold operations that run
    without a barrier between them. Buffers have symbolic sizes and get an
    offset in the arena from `kern-plan-memory`.

    Attributes of an entry, a public function:
    - `kern.inputs`: the number of arguments that are inputs; results follow.
    - `kern.symbols`: the names of the sizes, in the order of the frame.
    - `kern.buffers`: for each slot `offset` and `bytes`, both sizes, `location`,
      and `first` and `last`, the first and the last step that uses it. Buffers
      that live in one step share no byte, whatever the sizes are. Those with
      `kept` last from call to call: they are at the end of the arena here, and
      the runtime gives them memory of their own.
    - `kern.memory_steps`: the steps in which lifetimes are counted. Each has the
      name of a phase; the name is empty before the first phase and where layers
      begin and end.
    - `kern.arena_bytes`, `kern.arena_lower_bound`: the size of the arena, and the
      least that any plan needs.

    Attributes of the module:
    - `kern.weight_bytes`: bytes of all weights. Each weight then has an offset,
      a multiple of 64, and no two share a byte.
    - `kern.cache_groups`: for each group of caches `window`, `type`, `layers` and
      `bytes` of a block, and `positions` of a read-only one. Each cache then is
      in the group of its window, positions and type, and no two share a byte.
  }];
  let dependentDialects = ["::transom::weights::WeightsDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerAliases();
    /// Prints modules of this context with short names for kern's types.
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
    An activation, `glu` of an activation (activation(g) * u, see `kern.gemm`),
    and the norm of the finished rows, `layer_norm` or `rms_norm` with its
    epsilon. Bias and residual are not part of it: the operands say that.

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
    /// This epilogue (null: an empty one) with a norm of the rows.
    static EpilogueAttr addNorm(EpilogueAttr epilogue, NormKind norm, ::mlir::FloatAttr eps);
  }];
}

def Kern_OperandFormatAttr : AttrDef<Kern_Dialect, "OperandFormat"> {
  let mnemonic = "format";
  let summary = "how an operand of a product is stored";
  let description = [{
    Numbers of type `element`. With `group` each group of so many numbers along K
    has a scale, and perhaps a minimum: a number is element * scale + minimum.
    With `block` scales and minimums are integers themselves, times one factor
    each (`block_scales`) for so many numbers. In a panel `interleave` numbers
    along K lie side by side in a column; K is zero-padded to whole blocks, and
    to 32 where numbers are interleaved. The last group may be short.

    Panels hold the elements, [k/interleave][32][interleave]. Those of a group are
    followed by its scales, [32], and its minimums; those of a block by the factors
    of either. An element of i8 is stored as the byte w + 128.

    Constraints:
    1. The interleave is 1, 2, 4 or 8 and makes whole bytes.
    2. Integers, and only they, have a group with scales.
    3. The group is a multiple of 8 and of the interleave.
    4. Minimums come with scales only.
    5. The block is a multiple of the group and has scales.
    6. Scales and minimums are floats; below block scales they are integers.
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
    /// The plain format of f32 or bf16.
    static OperandFormatAttr get(::mlir::Type element);
    /// The type of its numbers.
    ::mlir::Type getElementType() const;
    /// The type that the other operand of a product with it has.
    ::mlir::Type getOperandType() const;
  }];
}

def Kern_LayerAttr : AttrDef<Kern_Dialect, "Layer"> {
  let mnemonic = "layer";
  let summary = "one layer of `kern.layers`: a body, and its weights and caches";
  let description = [{
    The parameters are symbols of weights and caches, for the trailing arguments
    of the body. `kern.layers` prints a layer as `@body(@weight)`.

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
    `auto`, `streaming`, `two_pass` or `split_kv`, and perhaps the most query rows
    of a work item; see `kern.attention`.

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
    `dims` are polynomials in the entry's symbols. Layout `rows` is row-major
    with the last dimension padded to `stride` elements (0 = dense). Layout
    `key_panels` holds keys for attention: [positions/32][columns][32] for the
    dims [positions, columns]; in bf16 [positions/32][columns/2][32][2], two
    columns of a key side by side.

    Constraints:
    1. Elements are i1 (stored as a byte), or integers or floats of whole bytes.
    2. A stride is at least the last size, which is a constant then.
    3. Key panels are f32 or bf16, of rank 2 and without a stride.
    4. Key panels of bf16 have an even, constant number of columns.

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
    /// The sizes, outermost first.
    ::llvm::SmallVector<::transom::Polynomial> getDims() const;
    int64_t getRank() const { return getDimTexts().size(); }
    /// Elements from one row of the last dimension to the next.
    ::transom::Polynomial getRowStride() const;
    /// Product of all dimensions but the last.
    ::transom::Polynomial getRowCount() const;
    /// Bytes it takes in the arena.
    ::transom::Polynomial getByteSize() const;
    /// Bytes of one element.
    int64_t getElementBytes() const;
    bool isF32() const { return getElementType().isF32(); }
    bool isBf16() const { return getElementType().isBF16(); }
    /// How a buffer of floats stores them: rows, or key panels.
    ::transom::OperandFormat getFormat() const;
  }];
}

def Kern_WeightType : TypeDef<Kern_Dialect, "Weight"> {
  let mnemonic = "weight";
  let summary = "a weight in the artifact, in a layout";
  let description = [{
    Layout `rows` is row-major; `panels32` [n/32][k][32] of a weight [n, k], each
    of its `splits` along n starting at a panel border; `padded32` a vector whose
    splits start at multiples of 32. `unset` before `kern-pack-weights`. The format
    (`#kern.format`) says how panels hold the numbers; f32 stands for
    `#kern.format<f32>`, bf16 for `#kern.format<bf16, interleave 2>`.

    Constraints:
    1. A layout other than `panels32` and `unset` holds f32 or bf16.
    2. Sizes are not negative.
    3. Splits are positive.
    4. Splits add up to the first size.
    5. `panels32` has rank 2, `padded32` rank 1.
    6. `padded32` holds f32.

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
    /// A weight in the plain format of f32 or bf16.
    static WeightType get(::mlir::MLIRContext *context, ::llvm::ArrayRef<int64_t> shape,
                          ::mlir::Type element, ::transom::WeightLayout layout,
                          ::llvm::ArrayRef<int64_t> splits);
    /// Bytes it takes in the artifact.
    int64_t getByteSize() const;
    /// Bytes of one panel of `panels32`.
    int64_t getPanelBytes() const;
    /// The type of its numbers.
    ::mlir::Type getElementType() const { return getFormat().getElementType(); }
    bool isBf16() const { return getElementType().isBF16(); }
    /// True for whole numbers in groups with scales.
    bool isGrouped() const { return getFormat().getStorage().isGrouped(); }
    /// The k of `panels32` with its padding.
    int64_t getPaddedDepth() const;
    /// First padded column of each split, then the padded size.
    ::llvm::SmallVector<int64_t> getPaddedStarts() const;
  }];
}

def Kern_RaggedType : TypeDef<Kern_Dialect, "Ragged"> {
  let mnemonic = "ragged";
  let summary = "the rows of a ragged buffer";
  let description = [{
    `index` is the place of the table in the frame.

    Example: `!kern.ragged<0>`
  }];
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Kern_CacheType : TypeDef<Kern_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "keys and values of a layer, in blocks of positions";
  let description = [{
    `heads` heads with keys of `key` and values of `value` numbers; with a window w
    only the last w positions are kept. A block holds 256 positions of all layers
    of a group. At the layer's offset are the keys, head by head, as panels
    [256/32][key][32], then the values, head by head, as rows [256][value]. In
    bf16 keys lie in pairs along the key, [256/32][depth/2][32][2], values in
    pairs along positions, [128][value][2]. In int8 a number is a byte times the
    scale of its position and head: the scales of keys, f32 [heads][256], follow
    the keys, those of values the values.

    With `read_only` p the cache does not grow with its sequences: it holds at
    most p positions of each, filled once, as cross attention needs it.

    Constraints:
    1. Heads, key and value are positive, with at most 2^31 - 1 numbers a
       position.
    2. The window is not negative.
    3. Elements are of a type that `--kv-dtype` names.
    4. The positions of a read-only cache are not negative (0: it grows), and
       such a cache has no window.

    Example: `!kern.cache<heads 4, key 64, value 64, f32>`,
    `!kern.cache<heads 4, key 64, value 64, window 4096, bf16>`,
    `!kern.cache<heads 8, key 64, value 64, read_only 1500, f32>`
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$key, "int64_t":$value,
                        "int64_t":$window, "int64_t":$positions, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// How keys and values are stored.
    ::transom::OperandFormat getFormat() const;
    int64_t getElementBytes() const { return getFormat().getElementBytes(); }
    /// True if it is filled once and does not grow with its sequences.
    bool isReadOnly() const { return getPositions() > 0; }
    /// What queries that read it are made of: f32 or bf16.
    ::mlir::Type getQueryType() const;
    /// Numbers of a key with padding: in bf16 rounded up to even.
    int64_t getDepth() const;
    /// Bytes of all heads' keys and values in a block with their scales,
    /// multiples of 64.
    int64_t getKeyBytes() const;
    int64_t getValueBytes() const;
    /// Where the scales of keys and values are, from the start of the layer.
    int64_t getKeyScales() const;
    int64_t getValueScales() const;
    /// Bytes of a layer in a block.
    int64_t getByteSize() const;
  }];
}

#endif // TRANSOM_DIALECTS_KERN_KERNDIALECT_TD
