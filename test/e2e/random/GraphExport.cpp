// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes one graph.json node for each attn operation.
#include "test/e2e/random/GraphExport.h"
#include "compiler/evaluator/Tensor.h"
#include "compiler/safetensors/Safetensors.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/json/Json.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;

namespace transom::testing {

using namespace attn;

namespace {

/// One file in the making.
class Exporter {
public:
  Exporter(ModuleOp module, func::FuncOp function)
      : module(module), function(function), json(text, 1) {}

  bool run(const TensorSource &source, const std::string &folder);

private:
  void writeInputs();
  void writeShape(ArrayRef<Polynomial> dims);
  void writeDims();
  bool writeNode(Operation *op);
  bool writeAttributes(Operation *op);
  void writeConstant(ConstantOp op);
  bool writeSdpa(SdpaOp op);
  void flag(const char *key, bool value);
  void tensor(const char *key, Value weight);
  SmallVector<Value> getOperands(Operation *op);
  bool isEdge(Operation *op);
  void writeWeights(const TensorSource &source, const std::string &folder);

  ModuleOp module;
  func::FuncOp function;
  std::string text;
  JsonWriter json;
  llvm::DenseMap<Value, std::string> names;
  std::set<std::string> weights;
  int next = 0;
};

} // namespace

/// Returns an operation's name in graph.json.
static std::string opName(Operation *op) {
  if (auto activation = dyn_cast<ActivationOp>(op))
    return std::string(getActivationName(activation.getKind()));
  if (isa<SdpaOp>(op))
    return "attention";
  if (isa<GetWeightOp>(op))
    return "weight";
  return op->getName().stripDialect().str();
}

static const char *typeName(Type element) {
  return isa<FloatType>(element) ? "f32"
         : element.isInteger(1)  ? "bool"
                                 : "i64";
}

/// Writes integers as JSON numbers, all other dims as strings.
void Exporter::writeShape(ArrayRef<Polynomial> dims) {
  json.beginArray();
  for (const Polynomial &dim : dims) {
    if (std::optional<int64_t> size = dim.constant())
      json.value(*size);
    else
      json.value(dim.str());
  }
  json.endArray();
}

/// Writes the input symbols; position tables have room for the bound.
void Exporter::writeDims() {
  std::set<std::string> symbols;
  for (Type type : function.getArgumentTypes())
    for (const Polynomial &dim : getSymbolicShape(type))
      for (const std::string &symbol : dim.symbols())
        symbols.insert(symbol);
  json.key("dims");
  json.beginObject();
  for (const std::string &symbol : symbols) {
    json.key(symbol);
    json.beginObject();
    json.member("max", 300);
    json.endObject();
  }
  json.endObject();
}

void Exporter::writeInputs() {
  json.key("inputs");
  json.beginArray();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    auto name = function.getArgAttrOfType<StringAttr>(index, "attn.name");
    names[argument] = name.str();
    json.beginObject();
    json.member("name", name.str());
    json.member("dtype", typeName(type.getElementType()));
    json.key("shape");
    writeShape(getSymbolicShape(type));
    if (auto of =
            function.getArgAttrOfType<StringAttr>(index, "attn.mask_of")) {
      json.member("mask_of", of.str());
    }
    if (auto value =
            function.getArgAttrOfType<IntegerAttr>(index, "attn.default")) {
      json.member("default", value.getInt());
    }
    json.endObject();
  }
  json.endArray();
}

void Exporter::flag(const char *key, bool value) {
  if (!value)
    return;
  json.member(key, true);
}

/// Writes an attribute that names a tensor in the file.
void Exporter::tensor(const char *key, Value weight) {
  if (!weight)
    return;
  std::string symbol = weight.getDefiningOp<GetWeightOp>().getWeight().str();
  weights.insert(symbol);
  json.member(key, symbol);
}

/// Returns the operands that are edges; weights of these operations are
/// attributes.
SmallVector<Value> Exporter::getOperands(Operation *op) {
  if (isa<LinearOp, EmbeddingOp, LayerNormOp, RmsNormOp>(op))
    return {op->getOperand(0)};
  return llvm::to_vector(op->getOperands());
}

/// Writes nested arrays; bool as 0 and 1.
void Exporter::writeConstant(ConstantOp op) {
  auto value = cast<DenseElementsAttr>(op.getValue());
  ArrayRef<int64_t> shape = value.getType().getShape();
  int64_t next = 0;
  std::function<void(size_t)> writeAxis = [&](size_t axis) {
    if (axis < shape.size()) {
      json.beginArray();
      for (int64_t i = 0; i < shape[axis]; ++i)
        writeAxis(axis + 1);
      return json.endArray();
    }
    const int64_t index = next++;
    if (value.getElementType().isInteger(1))
      return json.value(int64_t(value.getValues<bool>()[index]));
    const float number = value.getValues<float>()[index];
    number == -INFINITY ? json.value("-inf") : json.value(double(number));
  };
  json.key("value");
  writeAxis(0);
}

bool Exporter::writeSdpa(SdpaOp op) {
  auto integer = [&](const char *key, int64_t value) {
    json.member(key, value);
  };
  integer("heads", op.getHeads());
  integer("kv_heads", op.getKvHeads());
  json.member("scale", op.getScale().convertToDouble());
  flag("causal", op.getCausal());
  if (op.getWindow() > 0)
    integer("window", op.getWindow());
  if (double cap = op.getSoftCap().convertToDouble(); cap > 0) {
    json.member("soft_cap", cap);
  }
  // Position tables are already grouped by head.
  return !op.getMaskValue() && !op.getPositionBuckets();
}

/// Writes the attributes of an operation; returns false if one cannot be
/// written.
bool Exporter::writeAttributes(Operation *op) {
  bool possible = true;
  auto number = [&](const char *key, const APFloat &value) {
    json.member(key, value.convertToDouble());
  };
  auto integer = [&](const char *key, int64_t value) {
    json.member(key, value);
  };
  // Each operation writes the attributes that its graph.json counterpart has.
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](GetWeightOp op) { tensor("tensor", op.getResult()); })
      .Case([&](ConstantOp op) { writeConstant(op); })
      .Case([&](LinearOp op) {
        tensor("weight", op.getWeight());
        tensor("bias", op.getBias());
      })
      .Case([&](MatmulOp op) {
        flag("transpose_a", op.getTransposeLhs());
        flag("transpose_b", op.getTransposeRhs());
      })
      .Case([&](ScaleOp op) {
        number("factor", op.getFactor());
        number("offset", op.getOffset());
      })
      .Case([&](CastOp op) { json.member("to", typeName(op.getTo())); })
      .Case([&](TransposeOp op) {
        json.key("permutation");
        json.beginArray();
        for (int64_t from : op.getPermutation())
          json.value(from);
        json.endArray();
      })
      .Case([&](ReshapeOp op) {
        json.key("shape");
        writeShape(op.getShape().getDims());
      })
      .Case([&](ConcatOp op) { integer("axis", op.getAxis()); })
      .Case([&](NeighborsOp op) { integer("reach", op.getReach()); })
      .Case([&](SliceOp op) {
        integer("axis", op.getAxis());
        integer("start", op.getStart());
        json.key("size");
        Polynomial size = op.getSize().getPolynomial();
        if (std::optional<int64_t> constant = size.constant())
          json.value(*constant);
        else
          json.value(size.str());
      })
      .Case([&](EmbeddingOp op) {
        tensor("table", op.getTable());
        number("scale", op.getScale());
      })
      .Case([&](PositionOp op) {
        json.member("kind", stringifyPositionKind(op.getKind()).str());
        if (op.getKind() == PositionKind::NonpadRank)
          integer("pad", op.getPad());
      })
      .Case([&](attn::MaskOp op) {
        double value = op.getValue().convertToDouble();
        if (std::isinf(value))
          return;
        json.member("value", value);
      })
      .Case([&](LayerNormOp op) {
        tensor("gamma", op.getGamma());
        tensor("beta", op.getBeta());
        number("eps", op.getEps());
      })
      .Case([&](RmsNormOp op) {
        tensor("gamma", op.getGamma());
        number("eps", op.getEps());
      })
      .Case([&](SdpaOp op) { possible = writeSdpa(op); })
      .Case([&](PoolOp op) {
        json.member("kind", stringifyPoolKind(op.getKind()).str());
      });
  return possible;
}

/// Returns true if another node uses the operation's result as an edge.
bool Exporter::isEdge(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return llvm::is_contained(getOperands(user), op->getResult(0));
  });
}

bool Exporter::writeNode(Operation *op) {
  // Weights that are only attributes have no node.
  if (isa<GetWeightOp>(op) && !isEdge(op))
    return true;
  auto constant = dyn_cast<ConstantOp>(op);
  bool isBool =
      constant && constant.getResult().getType().getElementType().isInteger(1);
  std::string name = "n" + std::to_string(next++);
  // The node itself.
  json.beginObject();
  json.member("name", name);
  json.member("op", opName(op));
  json.key("inputs");
  json.beginArray();
  for (Value operand : getOperands(op))
    json.value(names.at(operand));
  json.endArray();
  json.key("attrs");
  json.beginObject();
  bool possible = writeAttributes(op);
  json.endObject();
  json.endObject();
  names[op->getResult(0)] = name;
  if (!isBool)
    return possible;
  // Constants are written as integers; a second node casts them to bool.
  names[op->getResult(0)] = name + "b";
  json.beginObject();
  json.member("name", name + "b");
  json.member("op", "cast");
  json.key("inputs");
  json.beginArray();
  json.value(name);
  json.endArray();
  json.key("attrs");
  json.beginObject();
  json.member("to", "bool");
  json.endObject();
  json.endObject();
  return possible;
}

/// All weights that nodes name, evaluated.
void Exporter::writeWeights(const TensorSource &source,
                            const std::string &folder) {
  std::vector<std::vector<float>> values;
  std::vector<TensorView> views;
  for (const std::string &symbol : weights) {
    auto op = module.lookupSymbol<WeightOp>(symbol);
    std::vector<int64_t> shape(cast<RankedTensorType>(op.getType()).getShape());
    std::vector<float> &data = values.emplace_back(getNumElements(shape));
    auto done = op.getExpr().getExpr().evaluate(
        source, std::vector<int64_t>(shape.size(), 0), shape, data.data());
    EXPECT_TRUE(done);
    views.push_back({symbol, DType::F32, shape, nullptr});
  }
  for (size_t i = 0; i < views.size(); ++i)
    views[i].data = values[i].data();
  EXPECT_TRUE(writeSafetensors(folder + "/model.safetensors", views));
}

bool Exporter::run(const TensorSource &source, const std::string &folder) {
  // Header, symbols and inputs.
  json.beginObject();
  json.member("transom", int64_t(1));
  json.member("name", "random");
  json.key("weights");
  json.beginArray();
  json.value("model.safetensors");
  json.endArray();
  writeDims();
  writeInputs();
  // Nodes in order; an operation without a counterpart ends the export.
  json.key("nodes");
  json.beginArray();
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!writeNode(&op))
      return false;
  json.endArray();
  // Results by edge.
  json.key("outputs");
  json.beginArray();
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    json.beginObject();
    json.member(
        "name",
        function.getResultAttrOfType<StringAttr>(index, "attn.name").str());
    json.member("edge", names.at(value));
    json.endObject();
  }
  json.endArray();
  json.endObject();
  std::ofstream(folder + "/graph.json") << text;
  writeWeights(source, folder);
  return true;
}

bool exportGraph(ModuleOp module, StringRef entry, const TensorSource &source,
                 const std::string &folder) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  return Exporter(module, function).run(source, folder);
}

} // namespace transom::testing
