// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Node accessors for operations: attributes with located errors, operands with
// the right types, indices within their table.
#include "compiler/import/graphjson/GraphOps.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include <cmath>

using namespace mlir;
using namespace transom;

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

DimTable::DimTable(const std::vector<GraphDim> &list) {
  for (const GraphDim &dim : list)
    dims[dim.name] = dim.largest;
}

/// Returns a bound for a polynomial over dims between 1 and their max values.
std::optional<int64_t> DimTable::bound(const Polynomial &size,
                                       bool upper) const {
  __int128 sum = 0;
  for (const auto &[monomial, coefficient] : size.terms()) {
    __int128 product = coefficient;
    if ((coefficient > 0) == upper)
      for (const std::string &symbol : monomial) {
        auto dim = dims.find(symbol);
        if (dim == dims.end() || dim->second < 0)
          return std::nullopt;
        product *= dim->second;
        if (product > INT64_MAX || product < INT64_MIN)
          return std::nullopt;
      }
    sum += product;
    if (sum > INT64_MAX || sum < INT64_MIN)
      return std::nullopt;
  }
  return static_cast<int64_t>(sum);
}

std::optional<int64_t> DimTable::smallest(const Polynomial &size) const {
  return bound(size, false);
}
std::optional<int64_t> DimTable::largest(const Polynomial &size) const {
  return bound(size, true);
}

Result<Polynomial> DimTable::size(JsonValue value) const {
  if (value.isInteger()) {
    TRANSOM_ASSIGN(int64_t number, value.asInt(1, INT32_MAX));
    return Polynomial(number);
  }
  if (!value.isString())
    return value.typeError("an integer or the name of a dim");
  std::string text(*value.asString());
  if (text.size() > 255)
    return value.error("a size of more than 255 characters");
  Result<Polynomial> size = Polynomial::parse(text);
  if (!size)
    return value.error("bad size '" + text + "': " + size.error().message);

  // Reject undeclared dims, and coefficients that could overflow.
  std::vector<std::string> names;
  for (const auto &[name, largest] : dims)
    names.push_back(name);
  for (const std::string &symbol : size->symbols())
    if (!dims.count(symbol))
      return value.error("unknown dim '" + symbol + "'" +
                         suggest(symbol, names));
  for (const auto &[monomial, coefficient] : size->terms())
    if (coefficient > INT32_MAX || coefficient < -INT32_MAX ||
        monomial.size() > 8)
      return value.error("size '" + text + "' is too large");

  // Reject sizes that could be below 1 in a call.
  std::optional<int64_t> least = smallest(*size);
  if (!least || *least < 1)
    return value.error("size '" + text + "' can be less than 1");
  return *size;
}

Result<Dims> DimTable::shape(JsonValue value) const {
  TRANSOM_TRY(value.expectArray());
  if (value.size() > 8)
    return value.error("a shape of " + std::to_string(value.size()) +
                       " dimensions; supported: up to 8");
  Dims shape;
  for (JsonValue each : value.elements()) {
    TRANSOM_ASSIGN(Polynomial one, size(each));
    shape.push_back(one);
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value OpCall::fail(const std::string &text, Status status) {
  return emit.fail(node.at.error(text, status));
}

static char getLetter(Type type) {
  Type element = cast<TensorType>(type).getElementType();
  return isa<FloatType>(element) ? 'f' : element.isInteger(1) ? 'b' : 'i';
}

static std::string getTypeName(char letter) {
  return letter == 'f' ? "f32" : letter == 'b' ? "bool" : "i64";
}

/// Describes an operand with an unsupported type.
static std::string wrongElements(const GraphOp &op, char letter) {
  std::vector<std::string> names;
  for (char each : StringRef(op.elements))
    names.push_back(getTypeName(each));
  return "op '" + std::string(op.name) + "' of " + getTypeName(letter) +
         " values is not supported; supported: " + joinNames(names) +
         "; the op 'cast' converts";
}

void OpCall::checkAttributeNames() {
  std::vector<std::string> names;
  for (const OpAttr &attr : op.attrs)
    names.push_back(attr.name);
  if (!node.attrs)
    return;
  for (JsonValue::Member member : node.attrs->members()) {
    const std::string name(member.key);
    if (llvm::is_contained(names, name))
      continue;
    const std::string suggestion = suggest(name, names);
    emit.fail(node.attrs->error("unknown attribute '" + utf8::printable(name) +
                                "' of op '" + op.name + "'" +
                                (!suggestion.empty() ? suggestion
                                 : names.empty()
                                     ? "; it has none"
                                     : "; supported: " + joinNames(names))));
  }
}

void OpCall::check() {
  // Check the input count and element types.
  if (inputs.size() < op.minInputs || inputs.size() > op.maxInputs) {
    std::string expected = std::to_string(op.minInputs);
    if (op.maxInputs != op.minInputs)
      expected += op.maxInputs > 64 ? " or more"
                                    : " to " + std::to_string(op.maxInputs);
    fail("op '" + std::string(op.name) + "' expects " + expected +
         " inputs, got " + std::to_string(inputs.size()));
    return;
  }
  for (auto [i, input] : llvm::enumerate(inputs)) {
    char letter = getLetter(input.getType());
    if (!StringRef(op.elements).contains(letter)) {
      emit.fail(node.inputs[i].at.error(wrongElements(op, letter),
                                        Status::Unsupported));
      return;
    }
  }

  // Check for attributes that the op does not have, then for missing ones. A
  // misspelt one is both unknown and missing: the first error is more specific.
  checkAttributeNames();
  for (const OpAttr &attr : op.attrs)
    if (attr.required && !has(attr.name))
      fail("op '" + std::string(op.name) + "' needs the attribute '" +
           attr.name + "'");
}

std::optional<JsonValue> OpCall::find(const char *attr) const {
  return node.attrs ? node.attrs->find(attr) : std::nullopt;
}

int64_t OpCall::integer(const char *attr, int64_t absent, int64_t low,
                        int64_t high) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return absent;
  Result<int64_t> number = value->asInt(low, high);
  if (number)
    return *number;
  emit.fail(number.takeError());
  return low;
}

double OpCall::number(const char *attr, double absent) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return absent;
  Result<double> number = value->asDouble();
  if (number && std::isfinite(*number))
    return *number;
  emit.fail(number ? value->error("expected a finite number")
                   : number.takeError());
  return 0;
}

double OpCall::maskValue(const char *attr) {
  std::optional<JsonValue> value = find(attr);
  if (!value || (value->isString() && *value->asString() == "-inf"))
    return -std::numeric_limits<double>::infinity();
  return number(attr, 0);
}

bool OpCall::flag(const char *attr) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return false;
  Result<bool> set = value->asBool();
  if (set)
    return *set;
  emit.fail(set.takeError());
  return false;
}

std::string OpCall::choice(const char *attr, const std::string &absent) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return absent;
  Result<std::string_view> text = value->asString();
  if (!text) {
    emit.fail(text.takeError());
    return absent;
  }
  std::vector<std::string> names;
  for (const OpAttr &each : op.attrs)
    if (std::string(each.name) == attr)
      names.assign(each.choices.begin(), each.choices.end());
  for (const std::string &name : names)
    if (name == *text)
      return name;
  emit.fail(value->error("unsupported '" + std::string(attr) + "' '" +
                             std::string(*text) +
                             "'; supported: " + joinNames(names),
                         Status::Unsupported));
  return absent;
}

std::vector<int64_t> OpCall::integers(const char *attr, int64_t low,
                                      int64_t high) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return {};
  Result<std::vector<int64_t>> numbers = value->asIntArray(low, high);
  if (numbers)
    return *numbers;
  emit.fail(numbers.takeError());
  return {};
}

std::vector<double> OpCall::numbers(const char *attr) {
  std::optional<JsonValue> value = find(attr);
  std::vector<double> numbers;
  if (!value)
    return numbers;
  if (Result<void> kind = value->expectArray(); !kind) {
    emit.fail(kind.takeError());
    return numbers;
  }
  for (JsonValue each : value->elements()) {
    Result<double> number = each.asDouble();
    if (!number || !std::isfinite(*number)) {
      emit.fail(number ? each.error("expected a finite number")
                       : number.takeError());
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Dims OpCall::shape(const char *attr) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return {};
  Result<Dims> shape = dims.shape(*value);
  if (shape)
    return *shape;
  emit.fail(shape.takeError());
  return {};
}

Polynomial OpCall::size(const char *attr) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return Polynomial(1);
  Result<Polynomial> size = dims.size(*value);
  if (size)
    return *size;
  emit.fail(size.takeError());
  return Polynomial(1);
}

std::string OpCall::tensorName(const char *attr) {
  std::optional<JsonValue> value = find(attr);
  if (!value)
    return "";
  Result<std::string_view> name = value->asString();
  if (name && !name->empty())
    return prefix + std::string(*name);
  emit.fail(name ? value->error("empty name of a tensor") : name.takeError());
  return "";
}

Value OpCall::tensor(const char *attr) {
  std::string name = tensorName(attr);
  if (name.empty())
    return {};
  emit.setErrorPrefix(find(attr)->where() + ": ");
  Value weight = emit.fileWeight(name, name, std::nullopt);
  emit.setErrorPrefix(node.at.where() + ": ");
  return weight;
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

Result<const GraphCache *> CacheScope::take(const std::string &name,
                                            JsonValue at) {
  std::vector<std::string> names;
  for (const GraphCache &cache : caches) {
    names.push_back(cache.name);
    if (cache.name != name)
      continue;
    if (!used.insert(name).second)
      return at.error("cache '" + name + "' is used by two attentions");
    return &cache;
  }
  return at.error("unknown cache '" + name + "': the body declares " +
                  (names.empty() ? "none" : joinNames(names)) +
                  suggest(name, names));
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Checks that positions are within the table: their length must be bounded.
static void boundPositions(OpCall &call, attn::PositionOp position,
                           int64_t rows) {
  if (position.getRagged())
    return call.step.bound(rows);
  Polynomial length = call.emit.getShape(position.getResult()).back();
  bool ranks = position.getKind() == attn::PositionKind::NonpadRank;
  int64_t past = ranks ? int64_t(position.getPad()) + 1 : 0;
  std::optional<int64_t> longest = call.dims.largest(length);
  if (longest && *longest + past <= rows)
    return;
  call.fail("positions of length '" + length.str() + "' " +
            (longest ? "go up to " + std::to_string(*longest + past)
                     : "have no bound (give the dim a 'max')") +
            ", but the table has " + std::to_string(rows) + " rows");
}

void transom::boundIndices(OpCall &call, Value indices, int64_t rows) {
  while (indices && !call.emit.failed()) {
    Operation *op = indices.getDefiningOp();
    if (!op) {
      call.emit.boundInput(indices, rows);
      return;
    }
    if (auto position = dyn_cast<attn::PositionOp>(op))
      return boundPositions(call, position, rows);
    if (!isa<attn::ReshapeOp>(op)) {
      call.fail("indices that come from another op than 'position' or "
                "'reshape' are not supported",
                Status::Unsupported);
      return;
    }
    indices = op->getOperand(0);
  }
}
