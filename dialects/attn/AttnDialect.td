// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect that says what a Transformer means: its types and attributes.
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
  let summary = "what a Transformer model means";
  let description = [{
    Operations on tensors whose batch and length are symbols. Each one is an
    operation of the model; nothing here says how a machine computes it. Tensors
    are builtin tensors with an `#attn.shape` encoding. The assembly form has a
    tensor as `[batch, seq, 768] f32`, and the types of operands only.
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
    One polynomial for each dimension, as canonical text, so that equal sizes
    are equal attributes. A static dimension of the tensor is the same integer
    here. The verifier rejects a `?` without a symbolic size.

    Example: `tensor<?x?x768xf32, #attn.shape<[batch, seq, 768]>>`,
    `#attn.shape<[batch*seq+31*batch, 32]>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$texts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// An attribute for these sizes.
    static ShapeAttr get(::mlir::MLIRContext *context,
                         ::llvm::ArrayRef<::transom::Polynomial> dims);
    /// The sizes, outermost first.
    ::llvm::SmallVector<::transom::Polynomial> getDims() const;
  }];
}

def Attn_SizeAttr : AttrDef<Attn_Dialect, "Size"> {
  let mnemonic = "size";
  let summary = "a size as a polynomial in symbols";
  let description = [{
    One size, as canonical text, so that equal sizes are equal attributes.

    Example: `#attn.size<batch*seq+1>`
  }];
  let parameters = (ins "::mlir::StringAttr":$text);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "const ::transom::Polynomial &":$size)>];
  let extraClassDeclaration = [{
    /// The size.
    ::transom::Polynomial getPolynomial() const;
    /// The canonical text as a string.
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
    For each sequence: its first token, its number of tokens, how many of them are
    keys, and its past. For each token: its sequence and its column in the
    caller's batch (with a past: its position). `rows` and `keys` name the symbols
    for the number of tokens and of key positions (past and tokens together,
    rounded up to 32 for each sequence).
    Example: `!attn.ragged<rows, keys>`
  }];
  let parameters = (ins "::mlir::StringAttr":$rows, "::mlir::StringAttr":$keys);
  let hasCustomAssemblyFormat = 1;
}

def Attn_CacheType : TypeDef<Attn_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "the keys and values that one layer keeps of each sequence";
  let description = [{
    For each position of a sequence a key `[heads, key]` and a value `[heads,
    value]`, where heads are those of keys and values. With a window w > 0 only
    the last w positions are read. Sequences and their lengths are not part of the
    type: they are state of the session.

    A cache grows with its sequences unless it is `read_only`. A read-only cache is
    filled once for a sequence (`attn.append`) and then only read
    (`attn.cross_sdpa`); `read_only` p holds at most p positions of a sequence.

    Constraints:
    1. Heads, key and value are between 1 and 2^31 - 1.
    2. All heads have at most 2^31 - 1 numbers a position.
    3. The window is between 0 (no window, not printed) and 2^31 - 1.
    4. The positions of a read-only cache are between 0 (it grows, not printed) and
       2^31 - 1, and such a cache has no window.

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
