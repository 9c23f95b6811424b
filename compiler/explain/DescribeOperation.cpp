// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operation descriptions by kind.
#include "compiler/explain/DescribeOperation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace transom;

/// Vector lanes in generated code.
static constexpr int64_t vectorLanes = 16;

static std::string getLastSize(Value buffer) {
  return cast<kern::BufferType>(buffer.getType()).getDims().back().str();
}

static std::string describeGemm(kern::GemmOp op) {
  kern::WeightType type = op.getWeight().getType();
  std::string text = std::to_string(type.getShape()[1]) + " -> ";
  if (op.getColumns())
    text += "chosen of " + std::to_string(type.getShape()[0]) + " columns";
  else if (type.getSplits().empty())
    text += std::to_string(type.getShape()[0]);
  else
    text += llvm::join(llvm::map_range(type.getSplits(),
                                       [](int64_t columns) {
                                         return std::to_string(columns);
                                       }),
                       " + ");
  // Fused operations.
  if (op.getBias())
    text += ", bias";
  if (op.getActivation())
    text += ", " + getActivationName(op.getActivation());
  if (op.getGlu())
    text += ", gate " + getActivationName(op.getGlu());
  if (op.getResidual())
    text += ", residual";
  if (op.getNormEps())
    text += op.getNormRms() ? ", RMSNorm" : ", LayerNorm";
  if (!op.getSummary().empty())
    text += ", row summary";
  // Quantization.
  if (op.getOutScales())
    text += ", quantized";
  if (!type.getElementType().isF32())
    text += std::string(", weights in ") +
            getStorageName(type.getFormat().getStorage().element);
  return text;
}

static std::string describeAttention(kern::AttentionOp op) {
  const int64_t heads = op.getHeads();
  std::string text = std::to_string(heads) + " heads";
  if (static_cast<int64_t>(op.getKvHeads()) != heads)
    text += " over " + std::to_string(op.getKvHeads()) + " key-value heads";
  auto query = cast<kern::BufferType>(op.getQuery().getType());
  if (std::optional<int64_t> columns = query.getDims().back().constant())
    text += " of " + std::to_string(*columns / heads);
  if (op.getCausal())
    text += ", causal";
  if (op.getWindow())
    text += ", window " + std::to_string(op.getWindow());
  if (op.getMask())
    text += ", mask";
  if (op.getSlopes())
    text += ", ALiBi";
  if (op.getRelativeBias())
    text += ", relative bias";
  if (op.getPositionBuckets())
    text += ", disentangled";
  if (op.getCache())
    text += ", reads the cache";
  return text;
}

std::string transom::describeOperation(kern::BufferOp op) {
  // GEMMs and attention; other operations have sizes only.
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([](kern::GemmOp gemm) { return describeGemm(gemm); })
      .Case([](kern::AttentionOp attention) {
        return describeAttention(attention);
      })
      .Case([](kern::GroupGemmOp gemm) {
        ArrayRef<int64_t> shape =
            cast<kern::WeightType>(gemm.getWeight().getType()).getShape();
        return std::to_string(shape.back()) + " -> " +
               getLastSize(gemm.getOuts());
      })
      .Case([](kern::HeadGemmOp gemm) {
        return std::to_string(gemm.getHeads()) + " heads of " +
               std::to_string(gemm.getWeight().getType().getShape().back()) +
               " -> " + std::to_string(gemm.getHeadColumns());
      })
      .Case([](kern::BatchMatmulOp matmul) {
        return getLastSize(matmul.getLhs()) + " -> " +
               getLastSize(matmul.getOuts());
      })
      .Case([](kern::NormOp norm) {
        return getLastSize(norm.getOuts()) +
               (norm.getScales() ? ", quantized" : "");
      })
      .Case([](kern::OneDnnOp call) {
        return stringifyOneDnnPrimitive(call.getPrimitive()).str() + " -> " +
               getLastSize(call.getOuts());
      })
      .Default([](Operation *) { return std::string(); });
}

/// Returns the result columns of attention, or nullopt if they are not
/// constant.
static std::optional<int64_t> getColumns(kern::AttentionOp op) {
  auto out = cast<kern::BufferType>(op.getOuts().getType());
  return out.getDims().back().constant();
}

std::pair<int64_t, int64_t> transom::getPaddedColumns(kern::BufferOp op) {
  if (auto gemm = dyn_cast<kern::GemmOp>(*op)) {
    if (gemm.getColumns())
      return {};
    kern::WeightType type = gemm.getWeight().getType();
    return {type.getShape()[0], type.getPaddedStarts().back()};
  }
  if (auto attention = dyn_cast<kern::AttentionOp>(*op)) {
    std::optional<int64_t> columns = getColumns(attention);
    if (!columns)
      return {};
    const int64_t heads = attention.getHeads();
    const int64_t vectors = (*columns / heads + vectorLanes - 1) / vectorLanes;
    return {*columns, heads * vectors * vectorLanes};
  }
  return {};
}

std::vector<int64_t> transom::getWidths(kern::BufferOp op) {
  if (auto gemm = dyn_cast<kern::GemmOp>(*op)) {
    if (gemm.getColumns())
      return {};
    kern::WeightType type = gemm.getWeight().getType();
    if (type.getSplits().empty())
      return {type.getShape()[0]};
    return {type.getSplits().begin(), type.getSplits().end()};
  }
  if (auto attention = dyn_cast<kern::AttentionOp>(*op))
    if (std::optional<int64_t> columns = getColumns(attention))
      return {*columns / static_cast<int64_t>(attention.getHeads())};
  return {};
}

std::vector<std::string> transom::getJoinedProjections(StringRef weight) {
  SmallVector<StringRef> words, names;
  weight.split(words, '.');
  for (StringRef word : words)
    if (word.contains('+'))
      word.split(names, '+');
  return {names.begin(), names.end()};
}
