// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder attention that reads the encoder states. The node specifies the
// projection of the states, since it runs once for each source and not in each
// step.
#include "compiler/import/Limits.h"
#include "compiler/import/graphjson/GraphOpGroups.h"
#include "compiler/import/graphjson/GraphSource.h"
#include <cmath>

using namespace mlir;
using namespace transom;
using graph::isFloatValue;
using graph::Values;

/// Formats a weight shape.
static std::string getShapeText(const Dims &shape) {
  std::vector<int64_t> sizes;
  for (const Polynomial &size : shape)
    sizes.push_back(*size.constant());
  return shapeText(sizes);
}

/// Reads a projection from states with width `from`: [width, from] and [width].
/// Returns its width, or 0 after an error.
static int64_t readProjection(OpCall &call, const std::string &operand,
                              int64_t from, CrossProjection &into) {
  const std::string weightName = operand + "_weight";
  const std::string biasName = operand + "_bias";
  if (!call.has(weightName.c_str())) {
    call.fail("op 'attention' with 'cross' needs the attribute '" + weightName +
              "'");
    return 0;
  }
  auto fail = [&](const std::string &attr, const std::string &text) {
    call.emit.fail(call.find(attr.c_str())->error(text));
    return 0;
  };

  // Read the weight.
  Value weight = call.tensor(weightName.c_str());
  if (call.emit.failed())
    return 0;
  Dims shape = call.emit.getShape(weight);
  if (shape.size() != 2 || *shape[1].constant() != from)
    return fail(weightName, "tensor '" + call.tensorName(weightName.c_str()) +
                                "' has shape " + getShapeText(shape) +
                                ", expected [width, " + std::to_string(from) +
                                "] for the encoder's states");
  const int64_t width = *shape[0].constant();
  into.weight = call.tensorName(weightName.c_str());
  into.where = call.find(weightName.c_str())->where();

  // Read the bias.
  if (!call.has(biasName.c_str()))
    return width;
  Value bias = call.tensor(biasName.c_str());
  if (call.emit.failed())
    return 0;
  into.bias = call.tensorName(biasName.c_str());
  if (Dims of = call.emit.getShape(bias); of != Dims{Polynomial(width)})
    return fail(biasName, "tensor '" + into.bias + "' has shape " +
                              getShapeText(of) + ", expected [" +
                              std::to_string(width) + "] as '" + weightName +
                              "' has rows");
  return width;
}

/// Rejects attributes that do not apply to keys without positions.
static bool checkAttributes(OpCall &call) {
  for (const char *attr :
       {"causal", "window", "alibi", "symmetric", "relative_bias", "buckets",
        "max_distance", "position_keys", "position_queries", "positions",
        "position_distance", "cache"})
    if (std::optional<JsonValue> value = call.find(attr)) {
      call.emit.fail(
          value->error("'" + std::string(attr) + "' does not go with 'cross'"));
      return false;
    }
  return true;
}

/// Checks that the query is a decoder's rows, and that there is an encoder.
static bool checkOperands(OpCall &call) {
  if (call.inputs.size() != 1)
    call.fail("op 'attention' with 'cross' expects 1 input, the query, got " +
              std::to_string(call.inputs.size()));
  else if (!call.step.source)
    call.emit.fail(call.find("cross")->error(
        "'cross' is for the decoder of a file with 'graphs'"));
  else if (!isFloatValue(call.inputs[0]) ||
           call.emit.getShape(call.inputs[0]).size() != 2)
    call.fail("op 'attention' with 'cross' expects a query f32 [rows, heads * "
              "width]");
  return !call.emit.failed();
}

Values graph::buildCrossAttention(OpCall &call) {
  call.choice("cross", "encoder");
  if (call.emit.failed() || !checkOperands(call) || !checkAttributes(call))
    return {};
  GraphSource &source = *call.step.source;

  // Read and check the sizes.
  const int64_t heads = call.integer("heads", 1, 1, INT32_MAX);
  const int64_t kvHeads = call.integer("kv_heads", heads, 1, INT32_MAX);
  CrossAttention attention{call.caches.place + call.node.name,
                           call.node.at.pointer(),
                           {},
                           {},
                           "",
                           {}};
  const int64_t key =
      readProjection(call, "key", source.width(), attention.key);
  const int64_t value =
      readProjection(call, "value", source.width(), attention.value);
  if (call.emit.failed())
    return {};
  if (heads % kvHeads || key % kvHeads || value % kvHeads)
    return {call.fail("'kv_heads' " + std::to_string(kvHeads) +
                      " must divide 'heads' " + std::to_string(heads) +
                      ", the key's width " + std::to_string(key) +
                      " and the value's width " + std::to_string(value))};
  const int64_t keyWidth = key / kvHeads;
  if (std::max(keyWidth, value / kvHeads) > maxHeadSize)
    return {call.fail("a head of more than " + std::to_string(maxHeadSize) +
                      " numbers; supported: up to that")};
  const double scale =
      call.number("scale", 1 / std::sqrt(static_cast<double>(keyWidth)));
  const double cap = call.number("soft_cap", 0);
  if (cap < 0)
    return {call.fail("'soft_cap' is negative")};

  // Create the operation, and record the projections for the source entry.
  attention.type = attn::CacheType::get(
      call.emit.ops().getContext(), kvHeads, keyWidth, value / kvHeads,
      /*window=*/0, source.longest().value_or(INT32_MAX));
  Value cache = source.addAttention(std::move(attention));
  return {call.emit.make<attn::CrossSdpaOp>(
      call.inputs[0], call.step.ragged, cache, uint64_t(heads),
      llvm::APFloat(scale), llvm::APFloat(cap))};
}
