// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rope: the rotated head fraction, and the frequency scaling.
#include "compiler/import/gguf/GgufBytes.h"
#include "compiler/import/gguf/GgufConfigMaker.h"
#include "runtime/base/Utf8.h"
#include <cmath>

namespace transom::gguf {

Result<void> ConfigMaker::writeRope() {
  if (row.rope == RopeShare::None)
    return {};
  TRANSOM_TRY(writeShare());
  TRANSOM_ASSIGN(const std::string type, getScaling());
  if (type.empty())
    return {};
  json.key("rope_scaling");
  setOrigin("rope_scaling", getKey("rope.scaling.type"));
  json.beginObject();
  json.member("rope_type", type);
  if (type == "frequency_factors") {
    config.origins["/rope_scaling"] = "rope_freqs.weight";
    TRANSOM_TRY(writeFactors());
  } else {
    TRANSOM_TRY(writeScaling(type));
  }
  json.endObject();
  return {};
}

Result<void> ConfigMaker::writeShare() {
  const Value *value = find("rope.dimension_count");
  if (!value)
    return {};
  TRANSOM_ASSIGN(const int64_t turned, getSize("rope.dimension_count", *value));
  if (turned == headSize)
    return {};
  if (row.rope == RopeShare::Whole || turned == 0 || turned > headSize)
    return fail("rope.dimension_count", *value,
                "is " + std::to_string(turned) + "; supported: " +
                    (row.rope == RopeShare::Whole
                         ? std::to_string(headSize) + ", the size of a head"
                         : "1 to " + std::to_string(headSize)),
                Status::Unsupported);
  // Its product with the size is truncated to an integer.
  double share = static_cast<double>(turned) / static_cast<double>(headSize);
  if (static_cast<int64_t>(share * static_cast<double>(headSize)) != turned)
    share = (static_cast<double>(turned) + 0.5) / static_cast<double>(headSize);
  json.member("partial_rotary_factor", share);
  setOrigin("partial_rotary_factor", getKey("rope.dimension_count"));
  return {};
}

Result<std::string> ConfigMaker::getScaling() {
  std::string type;
  const Value *value = find("rope.scaling.type");
  const Value *factor = find("rope.scaling.factor");
  const Value *old = find("rope.scale_linear");
  if (value) {
    const std::optional<std::string_view> text = value->asString();
    if (!text)
      return fail("rope.scaling.type", *value,
                  "is " + std::string(describe(value->type())) +
                      "; expected a string");
    if (*text != "none" && *text != "linear" && *text != "yarn")
      return fail("rope.scaling.type", *value,
                  "is '" + utf8::printable(*text) +
                      "'; supported: none, linear, yarn",
                  Status::Unsupported);
    type = *text == "none" ? "" : *text;
  } else if (factor || old) {
    type = "linear"; // older files omit the key
  }
  // Without a factor, or with factor 0, nothing is scaled.
  TRANSOM_ASSIGN(
      const double number,
      getNumber(factor ? "rope.scaling.factor" : "rope.scale_linear", 0.0));
  if (number == 0 || (number == 1 && !value))
    type.clear();
  for (const char *name : {"rope_factors_long", "rope_factors_short"})
    if (const Tensor *tensor = file.findTensor(std::string(name) + ".weight"))
      return file.error(tensor->entry,
                        "tensor '" + std::string(tensor->name) +
                            "': frequencies that depend on how much text "
                            "there is at once are not supported",
                        Status::Unsupported);
  if (const Tensor *factors = file.findTensor("rope_freqs.weight")) {
    if (!type.empty())
      return file.error(factors->entry,
                        "tensor 'rope_freqs.weight' beside '" +
                            getKey("rope.scaling.type") + "' '" + type +
                            "' is not supported",
                        Status::Unsupported);
    type = "frequency_factors";
  }
  return type;
}

Result<void> ConfigMaker::writeScaling(const std::string &type) {
  const char *key =
      find("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  const Value *factor = find(key);
  TRANSOM_TRY(getNumber(key, *factor));
  writeNumber("factor", *factor);
  setOrigin("rope_scaling/factor", getKey(key));
  if (type != "yarn")
    return {};
  if (const Value *value = find("rope.scaling.original_context_length")) {
    TRANSOM_ASSIGN(const int64_t length,
                   getSize("rope.scaling.original_context_length", *value));
    if (length != 0) // otherwise it is the model's context length
      json.member("original_max_position_embeddings", length);
    setOrigin("rope_scaling/original_max_position_embeddings",
              getKey("rope.scaling.original_context_length"));
  }
  for (auto [from, to] :
       {std::pair("rope.scaling.yarn_beta_fast", "beta_fast"),
        std::pair("rope.scaling.yarn_beta_slow", "beta_slow")})
    if (const Value *value = find(from)) {
      TRANSOM_TRY(getNumber(from, *value));
      writeNumber(to, *value);
      setOrigin(std::string("rope_scaling/") + to, getKey(from));
    }
  return {};
}

Result<void> ConfigMaker::writeFactors() {
  const Tensor &tensor = *file.findTensor("rope_freqs.weight");
  const std::vector<int64_t> expected = {headSize / 2};
  if (tensor.type->dtype != DType::F32 || tensor.shape != expected)
    return file.error(tensor.entry,
                      "tensor 'rope_freqs.weight' of type " +
                          std::string(tensor.type->name) + " has shape " +
                          shapeText(tensor.shape) + "; expected F32 " +
                          shapeText(expected));
  json.key("factors");
  json.beginArray();
  std::string_view data = file.getData(tensor);
  for (; !data.empty(); data.remove_prefix(sizeof(float))) {
    const float factor = load<float>(data);
    if (!std::isfinite(factor) || !(factor > 0))
      return file.error(data.data() - file.getBytes().data(),
                        "tensor 'rope_freqs.weight' has the element " +
                            std::to_string(factor) +
                            "; expected a finite number above 0");
    json.value(static_cast<double>(factor));
  }
  json.endArray();
  return {};
}

} // namespace transom::gguf
