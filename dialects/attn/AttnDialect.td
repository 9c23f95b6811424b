// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attn dialect, which represents Transformer models: types and attributes.
#ifndef TRANSOM_DIALECTS_ATTN_ATTNDIALECT_TD
#define TRANSOM_DIALECTS_ATTN_ATTNDIALECT_TD

include "dialects/common/Activation.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::transom::attn";
  let summary = "Transformer model operations";
  let description = [{
    Operations on tensors with symbolic batch and length dimensions. Each one is a
    model operation; nothing in the dialect depends on the target. Tensors are
    builtin tensors with an `#attn.shape` encoding. The assembly format prints a
    tensor type as `[batch, seq, 768] f32` and contains operand types only.
  }];
  let dependentDialects = ["::transom::weights::WeightsDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 0;
}

def Attn_ShapeAttr : AttrDef<Attn_Dialect, "Shape", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "shape";
  let summary = "the dimensions of a tensor as polynomials in symbols";
  let description = [{
    One polynomial for each dimension, as a canonical string, so that equal sizes
    are equal attributes. A static tensor dimension is the same integer here. The
    verifier rejects a `?` without a symbolic size.

    Example: `tensor<?x?x768xf32, #attn.shape<[batch, seq, 768]>>`,
    `#attn.shape<[batch*seq+31*batch, 32]>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$texts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns an attribute for these sizes.
    static ShapeAttr get(::mlir::MLIRContext *context,
                         ::llvm::ArrayRef<::transom::Polynomial> dims);
    /// Returns the sizes, outermost first.
    ::llvm::SmallVector<::transom::Polynomial> getDims() const;
  }];
}

def Attn_SizeAttr : AttrDef<Attn_Dialect, "Size"> {
  let mnemonic = "size";
  let summary = "a size as a polynomial in symbols";
  let description = [{
    One size, as a canonical string, so that equal sizes are equal attributes.

    Example: `#attn.size<batch*seq+1>`
  }];
  let parameters = (ins "::mlir::StringAttr":$text);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "const ::transom::Polynomial &":$size)>];
  let extraClassDeclaration = [{
    /// Returns the size.
    ::transom::Polynomial getPolynomial() const;
    /// Returns the canonical string.
    std::string str() const { return getText().str(); }
  }];
}

def Attn_LayerAttr : AttrDef<Attn_Dialect, "Layer"> {
  let mnemonic = "layer";
  let summary = "one layer of `attn.layers`: a body, and its weights and caches";
  let parameters = (ins
      "::mlir::FlatSymbolRefAttr":$body,
      OptionalArrayRefParameter<"::mlir::FlatSymbolRefAttr">:$parameters);
  let assemblyFormat = "`<` $body (`,` `[` $parameters^ `]`)? `>`";
}

def Attn_RaggedType : TypeDef<Attn_Dialect, "Ragged"> {
  let mnemonic = "ragged";
  let summary = "which tokens of a ragged tensor belong to which sequence";
  let description = [{
    For each sequence: its first token, the token count, the key count, and its
    past. For each token: its sequence and its column in the caller's batch (with a
    past: its position). `rows` and `keys` name the symbols for the total number of
    tokens and of key positions (past and tokens together, rounded up to 32 for each
    sequence).
    Example: `!attn.ragged<rows, keys>`
  }];
  let parameters = (ins "::mlir::StringAttr":$rows, "::mlir::StringAttr":$keys);
  let hasCustomAssemblyFormat = 1;
}

def Attn_CacheType : TypeDef<Attn_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "the keys and values that one layer keeps of each sequence";
  let description = [{
    For each position in a sequence, one key `[heads, key]` and one value `[heads,
    value]`, where `heads` counts key-value heads. With a window w > 0 only the last w
    positions are read. Sequences and their lengths are session state and not part of
    the type.

    A cache grows with its sequences unless it is `read_only`. A read-only cache is
    filled once per sequence (`attn.append`) and then only read (`attn.cross_sdpa`);
    `read_only` p holds at most p positions per sequence.

    Constraints:
    1. Heads, key and value are between 1 and 2^31 - 1.
    2. All heads together have at most 2^31 - 1 elements per position.
    3. The window is between 0 (no window, not printed) and 2^31 - 1.
    4. The read-only position count is between 0 (the cache grows, not printed) and
       2^31 - 1, and a read-only cache has no window.

    Example: `!attn.cache<heads 4, key 64, value 64>`,
    `!attn.cache<heads 1, key 16, value 32, window 4096>`,
    `!attn.cache<heads 4, key 64, value 64, read_only 512>`
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$key, "int64_t":$value,
                        "int64_t":$window, "int64_t":$positions);
  let builders = [TypeBuilder<(ins "int64_t":$heads, "int64_t":$key,
                                   "int64_t":$value, "int64_t":$window), [{
    return $_get($_ctxt, heads, key, value, window, /*positions=*/0);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// True if it is filled once and does not grow with its sequences.
    bool isReadOnly() const { return getPositions() > 0; }
  }];
}

def Attn_ActivationAttr : Transom_ActivationAttr<Attn_Dialect>;

def Attn_MaskKind : I32EnumAttr<"MaskKind", "how `attn.sdpa` reads its mask operand", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Keys", 1, "keys">,
    I32EnumAttrCase<"Additive", 2, "additive">,
    I32EnumAttrCase<"Select", 3, "select">,
    I32EnumAttrCase<"Ragged", 4, "ragged">]> {
  let cppNamespace = "::transom::attn";
  let genSpecializedAttr = 0;
}
def Attn_MaskKindAttr : EnumAttr<Attn_Dialect, Attn_MaskKind, "mask_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_PositionKind : I32EnumAttr<"PositionKind", "how positions are counted", [
    I32EnumAttrCase<"Column", 0, "column">,
    I32EnumAttrCase<"NonpadRank", 1, "nonpad_rank">]> {
  let cppNamespace = "::transom::attn";
  let genSpecializedAttr = 0;
}
def Attn_PositionKindAttr : EnumAttr<Attn_Dialect, Attn_PositionKind, "position_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_PoolKind : I32EnumAttr<"PoolKind", "how the rows of a sequence are pooled", [
    I32EnumAttrCase<"First", 0, "first">,
    I32EnumAttrCase<"Last", 1, "last">,
    I32EnumAttrCase<"Mean", 2, "mean">,
    I32EnumAttrCase<"Sum", 3, "sum">,
    I32EnumAttrCase<"Max", 4, "max">,
    I32EnumAttrCase<"MeanSqrt", 5, "mean_sqrt">,
    I32EnumAttrCase<"WeightedMean", 6, "weighted_mean">,
    I32EnumAttrCase<"FirstKey", 7, "first_key">]> {
  let cppNamespace = "::transom::attn";
  let genSpecializedAttr = 0;
}
def Attn_PoolKindAttr : EnumAttr<Attn_Dialect, Attn_PoolKind, "pool_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // TRANSOM_DIALECTS_ATTN_ATTNDIALECT_TD
