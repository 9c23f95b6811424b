// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys listed in the table rows, then keys computed from several values: the
// window period, and facts implied by tensors.
#include "compiler/import/gguf/GgufConfig.h"
#include "compiler/import/gguf/GgufConfigMaker.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include <cmath>
#include <cstring>

namespace transom::gguf {

/// Max layer count in models.
static constexpr uint64_t maxLayers = 4096;

Result<ConfigText> ConfigMaker::run() {
  TRANSOM_TRY(readSizes());
  json.beginObject();
  TRANSOM_TRY(writeKind());
  for (const KeyMap &key : row.keys)
    TRANSOM_TRY(writeKey(key));
  for (const auto &[key, value] : row.fixedConfig) {
    json.key(key);
    std::visit([&](auto fixed) { json.value(fixed); }, value);
  }
  TRANSOM_TRY(writeTensorFacts());
  TRANSOM_TRY(writeWindowPeriod());
  TRANSOM_TRY(writeRope());
  writeScalar();
  json.endObject();
  TRANSOM_TRY(readPooling());
  TRANSOM_TRY(checkFixedKeys());
  noteUnknownKeys();
  return std::move(config);
}

std::string ConfigMaker::getKey(const std::string &key) const {
  return row.name + ("." + key);
}

const Value *ConfigMaker::find(const std::string &key) {
  known.insert(getKey(key));
  return file.find(getKey(key));
}

Error ConfigMaker::fail(const std::string &key, const Value &value,
                        const std::string &text, Status status) const {
  return file.error(value.offset(), "'" + getKey(key) + "' " + text, status);
}

Error ConfigMaker::missing(const std::string &key) const {
  return rejected(utf8::printable(file.path(), 400) + ": missing key '" +
                  getKey(key) + "'");
}

Result<int64_t> ConfigMaker::getSize(const std::string &key,
                                     const Value &value) const {
  std::vector<Value> each = {value};
  if (value.isArray()) {
    if (value.count() == 0 || value.count() > maxLayers)
      return fail(key, value,
                  "has " + std::to_string(value.count()) +
                      " elements; expected one for each layer");
    each = value.asArray();
  }
  std::optional<int64_t> size;
  for (const Value &one : each) {
    const std::optional<int64_t> number = one.asInt();
    if (!number || *number < 0 || *number > INT32_MAX)
      return fail(key, one,
                  "is " +
                      (number ? std::to_string(*number)
                              : std::string(describe(one.type()))) +
                      "; expected an integer from 0 to 2147483647");
    if (size && *size != *number)
      return fail(key, one,
                  "differs by layer (" + std::to_string(*size) + ", " +
                      std::to_string(*number) + "), which is not supported",
                  Status::Unsupported);
    size = number;
  }
  return *size;
}

Result<int64_t> ConfigMaker::getSize(const std::string &key, int64_t absent) {
  const Value *value = find(key);
  return value ? getSize(key, *value) : Result<int64_t>(absent);
}

Result<int64_t> ConfigMaker::getPositiveSize(const std::string &key) {
  const Value *value = find(key);
  if (!value)
    return missing(key);
  TRANSOM_ASSIGN(const int64_t size, getSize(key, *value));
  if (size == 0)
    return fail(key, *value, "is 0; expected at least 1");
  return size;
}

Result<double> ConfigMaker::getNumber(const std::string &key,
                                      const Value &value) const {
  const std::optional<double> number = value.asNumber();
  if (!number || !std::isfinite(*number))
    return fail(
        key, value,
        "is " + (number ? "not finite" : std::string(describe(value.type()))) +
            "; expected a finite number");
  return *number;
}

Result<double> ConfigMaker::getNumber(const std::string &key, double absent) {
  const Value *value = find(key);
  return value ? getNumber(key, *value) : Result<double>(absent);
}

void ConfigMaker::setOrigin(const std::string &name,
                            const std::string &origin) {
  config.origins["/" + name] = origin;
}

void ConfigMaker::writeNumber(const std::string &name, const Value &value) {
  json.key(name);
  if (value.type() == ValueType::Float32)
    json.value(static_cast<float>(*value.asNumber()));
  else
    json.value(*value.asNumber());
}

Result<void> ConfigMaker::readSizes() {
  TRANSOM_ASSIGN(config.layers, getPositiveSize("block_count"));
  if (config.layers > static_cast<int64_t>(maxLayers))
    return fail("block_count", *find("block_count"),
                "is " + std::to_string(config.layers) +
                    "; supported: up to 4096");
  TRANSOM_ASSIGN(hidden, getPositiveSize("embedding_length"));
  TRANSOM_ASSIGN(config.heads, getPositiveSize("attention.head_count"));
  TRANSOM_ASSIGN(config.kvHeads,
                 getSize("attention.head_count_kv", config.heads));
  if (config.kvHeads == 0)
    return fail("attention.head_count_kv", *find("attention.head_count_kv"),
                "is 0; expected at least 1");
  TRANSOM_ASSIGN(headSize,
                 getSize("attention.key_length", hidden / config.heads));
  TRANSOM_ASSIGN(const int64_t valueSize,
                 getSize("attention.value_length", headSize));
  if (valueSize != headSize)
    return fail("attention.value_length", *find("attention.value_length"),
                "is " + std::to_string(valueSize) + ", but keys have " +
                    std::to_string(headSize) +
                    "; supported: keys and values of one length",
                Status::Unsupported);
  TRANSOM_ASSIGN(window, getSize("attention.sliding_window", 0));
  return {};
}

Result<void> ConfigMaker::writeKind() {
  const bool windowed = window != 0 && *row.windowed.first != '\0';
  json.member("model_type", windowed ? row.windowed.first : row.modelType);
  json.key("architectures");
  json.array(
      std::vector<std::string>{windowed ? row.windowed.second : row.className});
  setOrigin("model_type", "general.architecture");
  setOrigin("architectures", "general.architecture");
  for (const auto &[name, tensor] : row.biases)
    if (windowed && file.findTensor(tensor))
      return file.error(file.findTensor(tensor)->entry,
                        "tensor '" + std::string(tensor) + "' in a model " +
                            "with a window is not supported",
                        Status::Unsupported);
  return {};
}

Result<void> ConfigMaker::writeKey(const KeyMap &key) {
  const Value *value = find(key.key);
  setOrigin(key.config, getKey(key.key));
  if (!value)
    return writeAbsent(key);
  if (key.type == KeyMap::Type::Number) {
    TRANSOM_TRY(getNumber(key.key, *value));
    writeNumber(key.config, *value);
    return {};
  }
  // Window size 0 means no window.
  TRANSOM_ASSIGN(const int64_t size, getSize(key.key, *value));
  json.key(key.config);
  if (size == 0 && std::strcmp(key.key, "attention.sliding_window") == 0)
    json.null();
  else
    json.value(size);
  return {};
}

Result<void> ConfigMaker::writeAbsent(const KeyMap &key) {
  switch (key.absent) {
  case Absent::Error:
    return missing(key.key);
  case Absent::Omit:
    break;
  case Absent::Heads:
    json.member(key.config, config.heads);
    break;
  case Absent::HeadSize:
    if (hidden % config.heads != 0)
      return fail("embedding_length", *find("embedding_length"),
                  "is " + std::to_string(hidden) +
                      ", which does not divide by the " +
                      std::to_string(config.heads) + " heads of '" +
                      getKey("attention.head_count") + "'");
    json.member(key.config, headSize);
    break;
  case Absent::Theta:
    json.member(key.config, 10000.0);
    break;
  }
  return {};
}

Result<void> ConfigMaker::writeTensorFacts() {
  const Tensor *words = file.findTensor("token_embd.weight");
  if (!words || words->shape.size() != 2 || words->begin == words->end ||
      words->shape[0] > INT32_MAX)
    return rejected(utf8::printable(file.path(), 400) +
                    ": tensor 'token_embd.weight' is " +
                    (words ? "of shape " + shapeText(words->shape) +
                                 "; expected a matrix of up to 2147483647 rows"
                           : "missing"));
  config.vocabulary = words->shape[0];
  json.member("vocab_size", config.vocabulary);
  setOrigin("vocab_size", "token_embd.weight");
  if (!row.isEncoder)
    json.member("tie_word_embeddings", !file.findTensor("output.weight"));
  if (row.tokenTypes) {
    const Tensor *types = file.findTensor("token_types.weight");
    const bool isMatrix = types && types->shape.size() == 2;
    json.member("type_vocab_size", isMatrix ? types->shape[0] : 1);
    setOrigin("type_vocab_size", "token_types.weight");
    known.insert(getKey("token_type_count")); // the row count determines it
  }
  for (const auto &[name, tensor] : row.biases) {
    json.member(name, file.findTensor(tensor) != nullptr);
    setOrigin(name, tensor);
  }
  return {};
}

Result<void> ConfigMaker::writeWindowPeriod() {
  if (*row.periodKey == '\0')
    return {};
  setOrigin(row.periodKey, getKey("attention.sliding_window_pattern"));
  if (window == 0) {
    json.member(row.periodKey, 1);
    return {};
  }
  const Value *value = find("attention.sliding_window_pattern");
  if (!value)
    return {};
  const std::optional<int64_t> period = value->asInt();
  if (!period || *period < 1)
    return fail("attention.sliding_window_pattern", *value,
                "is " +
                    (period ? std::to_string(*period)
                            : std::string(describe(value->type()))) +
                    "; supported: an integer of at least 1",
                Status::Unsupported);
  json.member(row.periodKey, *period);
  return {};
}

/// 0 leaves the choice to the caller, 1 is the mean, 2 the first token.
Result<void> ConfigMaker::readPooling() {
  const char *key = "pooling_type";
  const Value *value = row.isEncoder ? find(key) : nullptr;
  if (!value)
    return {};
  TRANSOM_ASSIGN(const int64_t type, getSize(key, *value));
  if (type > 2)
    return fail(key, *value,
                "is " + std::to_string(type) +
                    "; supported: 0 (none), 1 (mean), 2 (first token)",
                Status::Unsupported);
  config.pooling = type == 2 ? "cls" : "mean";
  return {};
}

void ConfigMaker::writeScalar() {
  if (*row.scalarKey == '\0')
    return;
  const bool wide = config.layers == row.wideScalarLayers;
  json.member(row.scalarKey, wide ? hidden / config.heads : headSize);
  setOrigin(row.scalarKey,
            getKey(wide ? "embedding_length" : "attention.key_length"));
}

Result<void> ConfigMaker::checkFixed(const std::string &key, double neutral) {
  if (known.count(getKey(key)))
    return {};
  const Value *value = find(key);
  if (!value || (value->isArray() && value->count() == 0))
    return {};
  std::optional<double> number = value->asNumber();
  if (std::optional<bool> flag = value->asBool())
    number = *flag;
  if (number && (*number == neutral || *number == 0))
    return {};
  std::string shown(describe(value->type()));
  if (number) {
    shown.clear();
    JsonWriter writer(shown);
    if (std::optional<int64_t> whole = value->asInt())
      writer.value(*whole);
    else
      writer.value(*number);
  }
  return fail(key, *value, "is " + shown + ", which is not supported",
              Status::Unsupported);
}

Result<void> ConfigMaker::checkFixedKeys() {
  for (const FixedKey &key : getFixedKeys())
    TRANSOM_TRY(checkFixed(key.key, key.value));
  for (const auto &[key, neutral] :
       {std::pair("rope.scaling.attn_factor", 1.0),
        std::pair("rope.scaling.yarn_attn_factor", 1.0),
        std::pair("rope.scaling.yarn_ext_factor", 1.0),
        std::pair("rope.scaling.yarn_log_multiplier", 0.0)})
    TRANSOM_TRY(checkFixed(key, neutral));
  const char *causal = "attention.causal";
  if (const Value *value = find(causal);
      value && value->asBool() == row.isEncoder)
    return fail(causal, *value,
                std::string("is ") + (row.isEncoder ? "true" : "false") +
                    "; supported: " + (row.isEncoder ? "false" : "true"),
                Status::Unsupported);
  return {};
}

void ConfigMaker::noteUnknownKeys() {
  for (std::string_view key : getKeysWithoutEffect())
    known.insert(getKey(std::string(key)));
  const std::string prefix = getKey("");
  for (const Entry &entry : file.metadata())
    if (entry.key.substr(0, prefix.size()) == prefix &&
        !known.count(std::string(entry.key)))
      config.notes.push_back(getFileName(file.path()) + ": key '" +
                             utf8::printable(entry.key) +
                             "' is not known and was ignored");
}

Result<const Architecture *> getArchitecture(const File &file) {
  // Reject files that are not one complete model.
  const Value *type = file.find("general.type");
  if (type && type->asString().value_or("") != "model")
    return file.error(type->offset(),
                      "'general.type' is '" +
                          utf8::printable(type->asString().value_or("")) +
                          "'; supported: model",
                      Status::Unsupported);
  if (const Value *parts = file.find("split.count");
      parts && parts->asInt().value_or(0) > 1)
    return file.error(parts->offset(),
                      "the file is one of " + std::to_string(*parts->asInt()) +
                          " parts of a model; merge them to one file",
                      Status::Unsupported);
  // Look up the architecture.
  const Value *name = file.find("general.architecture");
  if (!name || !name->asString())
    return rejected(utf8::printable(file.path(), 400) +
                    (name ? ": 'general.architecture' is no string"
                          : ": missing key 'general.architecture'"));
  const std::string text(*name->asString());
  if (const Architecture *row = findArchitecture(text))
    return row;
  return file.error(name->offset(),
                    "unsupported architecture '" + utf8::printable(text) +
                        "'; supported: " + joinNames(getArchitectureNames()) +
                        suggest(text, getArchitectureNames()),
                    Status::Unsupported);
}

Result<ConfigText> makeConfig(const File &file, const Architecture &row) {
  return ConfigMaker(file, row).run();
}

} // namespace transom::gguf
