// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All MLIR code for importers: each operation gets the current location and its
// inferred type, and dialect diagnostics become errors.
#include "compiler/import/Emitter.h"
#include "dialects/common/FirstError.h"
#include "mlir/IR/Verifier.h"
#include "runtime/base/Checked.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace transom;

namespace {

DictionaryAttr inputAttributes(OpBuilder &builder, const EntryInput &input) {
  SmallVector<NamedAttribute> attributes;
  auto set = [&](StringRef name, Attribute value) {
    attributes.push_back(builder.getNamedAttr(name, value));
  };
  set("attn.name", builder.getStringAttr(input.name));
  set("attn.role", builder.getStringAttr(input.role));
  if (input.bound)
    set("attn.bound", builder.getI64IntegerAttr(*input.bound));
  if (input.defaultValue)
    set("attn.default", builder.getI64IntegerAttr(*input.defaultValue));
  if (!input.maskOf.empty())
    set("attn.mask_of", builder.getStringAttr(input.maskOf));
  DType inside = isFloat(input.dtype)         ? DType::F32
                 : input.dtype == DType::Bool ? DType::Bool
                                              : DType::I64;
  if (inside != input.dtype)
    set("attn.dtype", builder.getStringAttr(StringRef(dtypeName(input.dtype))));
  return builder.getDictionaryAttr(attributes);
}

} // namespace

Type transom::getElementType(MLIRContext *context, DType dtype) {
  if (isFloat(dtype))
    return Float32Type::get(context);
  return IntegerType::get(context, dtype == DType::Bool ? 1 : 64);
}

Result<std::vector<int64_t>>
AssumedTensors::shape(const std::string &name) const {
  auto found = shapes.find(name);
  if (found == shapes.end())
    return internalError("tensor '" + name + "' was not assumed");
  return found->second;
}

Result<void> AssumedTensors::read(const std::string &name,
                                  const std::vector<int64_t> &,
                                  const std::vector<int64_t> &, float *) const {
  return unavailable("tensor '" + name + "' has a shape but no data");
}

Emitter::Emitter(MLIRContext &context, const ModelFiles &files,
                 std::string baseFile)
    : files(files), baseFile(std::move(baseFile)), builder(&context),
      loc(makeLocation(&context, "model", this->baseFile, "")) {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
}

Emitter::~Emitter() = default;

void Emitter::at(const std::string &modulePath,
                 const std::string &jsonPointer) {
  path = modulePath;
  pointer = jsonPointer.empty() ? jsonPointer : pointerStart + jsonPointer;
  loc = makeLocation(builder.getContext(), path, baseFile, pointer);
}

void Emitter::assumeTensors(std::string dtype) {
  assumed.emplace();
  assumedDtype = std::move(dtype);
}

const TensorSource &Emitter::tensors() const {
  if (assumed)
    return *assumed;
  return files;
}

Value Emitter::fail(Error error) {
  if (failure)
    return {};
  // An operation outside layers only has its JSON pointer.
  if (StringRef(path).contains('.') &&
      !StringRef(error.message).contains(path)) {
    const size_t suggestion = error.message.find("; did you mean");
    error.message.insert(std::min(suggestion, error.message.size()),
                         "; in '" + path + "'");
  }
  failure = std::move(error);
  return {};
}

SmallVector<Value> Emitter::beginEntry(const std::string &name,
                                       ArrayRef<EntryInput> inputs) {
  reserveEntry(name);
  SmallVector<Type> types;
  for (const EntryInput &input : inputs)
    types.push_back(attn::getTensorType(
        input.shape, getElementType(builder.getContext(), input.dtype)));
  entry = builder.create<func::FuncOp>(
      loc, name, FunctionType::get(builder.getContext(), types, {}));
  SmallVector<Location> locations;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    entry.setArgAttrs(i, inputAttributes(builder, input));
    locations.push_back(
        makeLocation(builder.getContext(), input.name, baseFile,
                     input.pointer.empty() ? pointer : input.pointer));
  }
  Block *body = builder.createBlock(&entry.getBody(), {}, types, locations);
  return SmallVector<Value>(body->getArguments());
}

void Emitter::boundInput(Value argument, int64_t rows) {
  unsigned number = llvm::cast<BlockArgument>(argument).getArgNumber();
  if (auto known = entry.getArgAttrOfType<IntegerAttr>(number, "attn.bound"))
    rows = std::min(rows, known.getInt());
  entry.setArgAttr(number, "attn.bound", builder.getI64IntegerAttr(rows));
  entry.setArgAttr(number, "attn.role", builder.getStringAttr("ids"));
}

std::optional<int64_t> Emitter::getBound(unsigned argument) {
  auto bound = entry.getArgAttrOfType<IntegerAttr>(argument, "attn.bound");
  return bound ? std::optional<int64_t>(bound.getInt()) : std::nullopt;
}

void Emitter::endEntry(ArrayRef<EntryOutput> outputs) {
  if (failed())
    return;
  SmallVector<Value> values;
  SmallVector<Attribute> names;
  for (const EntryOutput &output : outputs) {
    values.push_back(output.value);
    names.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("attn.name", builder.getStringAttr(output.name))));
  }
  builder.create<func::ReturnOp>(loc, values);
  entry.setType(FunctionType::get(builder.getContext(),
                                  entry.getFunctionType().getInputs(),
                                  ValueRange(values).getTypes()));
  entry.setAllResultAttrs(names);
  builder.setInsertionPointToEnd(module->getBody());
}

void Emitter::annotateEntry(StringRef name, Attribute value) {
  if (!failed())
    entry->setAttr(name, value);
}

Value Emitter::infer(Operation *op) {
  FailureOr<SmallVector<Type>> types = mlir::failure();
  std::string text;
  {
    FirstError error(*builder.getContext());
    types = llvm::cast<attn::ShapeInferable>(op).inferShapes(
        [&] { return op->emitOpError(); });
    text = error.text;
  }
  if (mlir::failed(types)) {
    op->erase();
    // The constraint number refers to the operation description.
    text = llvm::Regex(" op \\([0-9]+\\) ").sub(" op ", text);
    return fail(rejected(errorPrefix + text));
  }
  op->getResult(0).setType(types->front());
  return op->getResult(0);
}

void Emitter::toNextSymbol() {
  if (lastSymbol)
    builder.setInsertionPointAfter(lastSymbol);
  else
    builder.setInsertionPointToStart(module->getBody());
}

Value Emitter::getWeight(const std::string &symbol, ArrayRef<int64_t> shape,
                         const WeightExpr &named) {
  const WeightExpr expr = files.resolve(named);
  // A name used by another expression (or an entry) gets underscores.
  std::string text = expr.str(), name = symbol;
  while ((weights.count(name) && weights[name].first != text) ||
         caches.count(name) || entryNames.count(name))
    name += "_";
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  if (!weights.count(name)) {
    OpBuilder::InsertionGuard guard(builder);
    toNextSymbol();
    lastSymbol = builder.create<attn::WeightOp>(loc, name, type, expr);
    weights[name] = {text, shape.vec()};
  }
  return builder.create<attn::GetWeightOp>(
      loc, type, FlatSymbolRefAttr::get(builder.getContext(), name));
}

bool Emitter::checkTensor(const std::string &file,
                          const std::optional<std::vector<int64_t>> &shape,
                          const std::string &sizes) {
  if (failed())
    return false;
  if (assumed && shape) {
    assumed->shapes[file] = *shape;
    return true;
  }
  // Check existence and shape.
  const SafetensorsTensor *tensor = files.find(file);
  auto reject = [&](Error error) {
    fail(std::move(error));
    return false;
  };
  if (!tensor)
    return reject(getMissing(file, shape, sizes));
  if (shape && tensor->shape != *shape)
    return reject(getMisshapen(file, tensor->shape, *shape, sizes));
  // Check the stored dtype and sizes.
  const std::string where = errorPrefix + files.getFile(file) + ": tensor '" +
                            files.getStoredName(file) + "'";
  if (!isFloat(tensor->dtype))
    return reject(unsupported(where + " has dtype " +
                              std::string(safetensorsName(tensor->dtype)) +
                              "; supported: F32, F16, BF16, F64"));
  for (int64_t size : tensor->shape)
    if (size == 0 || size > INT32_MAX)
      return reject(rejected(where + " has shape " + shapeText(tensor->shape) +
                             "; sizes are from 1 to 2147483647"));
  return true;
}

Value Emitter::fileWeight(const std::string &symbol, const std::string &file,
                          std::optional<std::vector<int64_t>> shape,
                          const std::string &sizes) {
  if (!checkTensor(file, shape, sizes))
    return {};
  return getWeight(symbol, shape ? *shape : files.find(file)->shape,
                   WeightExpr::file(file));
}

Value Emitter::weight(const std::string &symbol, const WeightExpr &expr) {
  if (failed())
    return {};
  Result<std::vector<int64_t>> shape = expr.shape(tensors());
  if (!shape)
    return fail(shape.takeError());
  return getWeight(symbol, *shape, expr);
}

std::optional<WeightExpr> Emitter::getWeightExpr(Value value) const {
  auto get = value.getDefiningOp<attn::GetWeightOp>();
  if (!get)
    return std::nullopt;
  auto found = weights.find(get.getWeight().str());
  Result<WeightExpr> expr = WeightExpr::parse(found->second.first);
  return expr ? std::optional<WeightExpr>(*expr) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value Emitter::constant(ArrayRef<int64_t> shape, ArrayRef<double> numbers) {
  if (failed())
    return {};
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  const SmallVector<float> elements(numbers.begin(), numbers.end());
  return builder.create<attn::ConstantOp>(
      loc, type,
      llvm::cast<ElementsAttr>(
          DenseElementsAttr::get(type, ArrayRef<float>(elements))));
}

Value Emitter::asWeight(Value value) {
  auto constant = value ? value.getDefiningOp<attn::ConstantOp>() : nullptr;
  if (!constant || failed())
    return value;
  auto elements = llvm::cast<DenseElementsAttr>(constant.getValue());
  const std::vector<double> numbers(elements.getValues<float>().begin(),
                                    elements.getValues<float>().end());
  return weight(
      getModulePath(constant.getLoc()),
      WeightExpr::values(elements.getType().getShape().vec(), numbers));
}

Value Emitter::linear(Value input, Value weight, Value bias) {
  return make<attn::LinearOp>(input, weight, bias);
}

Value Emitter::add(Value a, Value b) { return make<attn::AddOp>(a, b); }

Value Emitter::scale(Value input, double factor, double offset) {
  return make<attn::ScaleOp>(input, builder.getF64FloatAttr(factor),
                             builder.getF64FloatAttr(offset));
}

Value Emitter::activation(Value input, Activation kind) {
  return make<attn::ActivationOp>(input, kind);
}

Value Emitter::reshape(Value input, const Dims &shape) {
  return make<attn::ReshapeOp>(
      input, attn::ShapeAttr::get(builder.getContext(), shape));
}

Value Emitter::transpose(Value input, ArrayRef<int64_t> permutation) {
  return make<attn::TransposeOp>(input,
                                 builder.getDenseI64ArrayAttr(permutation));
}

Value Emitter::matmul(Value a, Value b, bool transposeA, bool transposeB) {
  auto flag = [&](bool on) { return on ? builder.getUnitAttr() : UnitAttr(); };
  return make<attn::MatmulOp>(a, b, flag(transposeA), flag(transposeB));
}

Value Emitter::mask(Value scores, Value mask, double value) {
  return make<attn::MaskOp>(scores, mask, builder.getF64FloatAttr(value));
}

Value Emitter::softmax(Value input) { return make<attn::SoftmaxOp>(input); }

Value Emitter::cast(Value input, DType to) {
  return make<attn::CastOp>(
      input, TypeAttr::get(getElementType(builder.getContext(), to)));
}

Value Emitter::layerNorm(Value input, Value gamma, Value beta, double eps) {
  return make<attn::LayerNormOp>(input, gamma, beta,
                                 builder.getF64FloatAttr(eps));
}

Value Emitter::rmsNorm(Value input, Value gamma, double eps) {
  return make<attn::RmsNormOp>(input, gamma, builder.getF64FloatAttr(eps));
}

Value Emitter::embedding(Value ids, Value table, double scale) {
  return make<attn::EmbeddingOp>(ids, table, builder.getF64FloatAttr(scale));
}

Value Emitter::sequences() {
  if (failed())
    return {};
  return builder.create<attn::DecodeBatchOp>(
      loc,
      attn::RaggedType::get(builder.getContext(), builder.getStringAttr("rows"),
                            builder.getStringAttr("keys")));
}

Value Emitter::raggedBatch(Value mask, StringRef rows, StringRef keys) {
  if (failed())
    return {};
  auto type =
      attn::RaggedType::get(builder.getContext(), builder.getStringAttr(rows),
                            builder.getStringAttr(keys));
  return builder.create<attn::RaggedBatchOp>(loc, type, mask,
                                             /*keep_first=*/false);
}

Value Emitter::gatherBefore(Value from, Value indices,
                            ArrayRef<Operation *> users) {
  OpBuilder::InsertionGuard guard(builder);
  if (!users.empty())
    builder.setInsertionPoint(users.back());
  Value rows = make<attn::GatherOp>(from, indices);
  for (Operation *op : llvm::reverse(users)) {
    if (!rows)
      return {};
    op->setOperand(0, rows);
    rows = infer(op);
  }
  return rows;
}

std::string Emitter::declareCache(const std::string &symbol,
                                  attn::CacheType type) {
  if (failed())
    return symbol;
  std::string name = symbol;
  while (weights.count(name) || entryNames.count(name) ||
         !caches.insert(name).second)
    name += "_";
  OpBuilder::InsertionGuard guard(builder);
  toNextSymbol();
  lastSymbol = builder.create<attn::CacheOp>(loc, builder.getStringAttr(name),
                                             TypeAttr::get(type));
  return name;
}

Value Emitter::getCache(const std::string &symbol, attn::CacheType type) {
  if (failed())
    return {};
  return builder.create<attn::GetCacheOp>(
      loc, type, FlatSymbolRefAttr::get(builder.getContext(), symbol));
}

Dims Emitter::getShape(Value value) const {
  return value ? attn::getSymbolicShape(value.getType()) : Dims();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Removes weights and constants that a builder created and replaced.
void Emitter::dropUnusedWeights() {
  std::set<StringRef> used;
  module->walk([&](attn::ConstantOp constant) {
    if (constant->use_empty())
      constant->erase();
  });
  module->walk([&](attn::GetWeightOp get) {
    if (get->use_empty())
      get->erase();
    else
      used.insert(get.getWeight());
  });
  for (auto weight :
       llvm::make_early_inc_range(module->getOps<attn::WeightOp>()))
    if (!used.count(weight.getSymName()))
      weight->erase();
}

void Emitter::countTensors(ImportInfo &info) {
  std::set<std::string> used;
  for (auto weight : module->getOps<attn::WeightOp>())
    for (const std::string &file : weight.getExpr().getExpr().files())
      used.insert(file);
  CheckedSize parameters;
  auto count = [&](const std::string &name, const std::string &dtype,
                   const std::vector<int64_t> &shape) {
    ++info.dtypes[dtype];
    info.tensorShapes[name] = shape;
    parameters +=
        CheckedSize::fromSigned(elementCount(shape).value_or(int64_t(0)));
  };
  for (const std::string &name : files.names()) {
    const SafetensorsTensor *tensor = files.find(name);
    if (used.count(name))
      count(name, tensor->getTypeName(), tensor->shape);
    else if (!usedTensors.count(name))
      info.unusedTensors.push_back(name);
  }
  if (assumed)
    for (const auto &[name, shape] : assumed->shapes)
      if (used.count(name))
        count(name, assumedDtype, shape);
  info.parameters = parameters.value().value_or(0);
}

void Emitter::finish(
    ImportInfo &info,
    const std::vector<std::pair<std::string, int64_t>> &symbols,
    ArrayRef<NamedAttribute> extraInfo) {
  if (failed())
    return;
  dropUnusedWeights();
  countTensors(info);
  auto named = [&](StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  };
  auto strings = [&](const std::vector<std::string> &texts) {
    SmallVector<StringRef> refs(texts.begin(), texts.end());
    return builder.getStrArrayAttr(refs);
  };
  SmallVector<NamedAttribute> sizes, dtypes;
  for (const auto &[symbol, largest] : symbols)
    sizes.push_back(
        named(symbol, builder.getDictionaryAttr(
                          named("max", builder.getI64IntegerAttr(largest)))));
  for (const auto &[dtype, count] : info.dtypes)
    dtypes.push_back(named(dtype, builder.getI64IntegerAttr(count)));
  // Add the manifest information and set the module attributes.
  SmallVector<NamedAttribute> all(extraInfo);
  all.push_back(named("family", builder.getStringAttr(info.family)));
  all.push_back(
      named("architecture", builder.getStringAttr(info.architecture)));
  all.push_back(named("base", builder.getStringAttr(info.baseFile)));
  all.push_back(
      named("parameters", builder.getI64IntegerAttr(info.parameters)));
  all.push_back(named("dtypes", builder.getDictionaryAttr(dtypes)));
  all.push_back(named("notes", strings(info.notes)));
  all.push_back(named("unused", strings(info.unusedTensors)));
  ModuleOp op = *module;
  op->setAttr("attn.name", builder.getStringAttr(info.name));
  op->setAttr("attn.symbols", builder.getDictionaryAttr(sizes));
  op->setAttr("attn.info", builder.getDictionaryAttr(all));
}

Result<OwningOpRef<ModuleOp>> Emitter::take() {
  if (failed())
    return takeError();
  FirstError error(*builder.getContext());
  if (mlir::failed(verify(*module)))
    return internalError("the imported module is invalid: " + error.text);
  return std::move(module);
}
