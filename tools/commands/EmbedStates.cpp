// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text is a call of its own, so that its states need no padding.
#include "tools/commands/EmbedStates.h"
#include "runtime/base/Suggest.h"
#include "runtime/json/Json.h"
#include "tools/commands/Tensors.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

/// The name of the entry that `compile --layers` adds, and what the names of
/// its results begin with.
static const std::string statesEntry = "hidden_states",
                         stateResult = "hidden_state_";

/// The results of the layers of the entry, by their numbers; the last one is
/// that of the model.
static Result<std::string> findLayer(const ManifestEntry &entry,
                                     const std::string &layer) {
  std::vector<std::string> known;
  for (const ManifestTensor &output : entry.outputs) {
    // "hidden_state_4" and, counted from the end, "hidden_state_4_of_6".
    const std::string number = output.name.substr(stateResult.size());
    const size_t mark = number.find("_of_");
    const int64_t from = std::stoll(number.substr(0, mark)),
                  count = std::stoll(number.substr(mark + 4));
    known.push_back(std::to_string(from));
    if (layer == known.back() || layer == std::to_string(from - count))
      return output.name;
  }
  return usageError("'--layers': the model was compiled without layer '" +
                    layer + "'; it has: " + joinNames(known));
}

Result<HiddenStates> HiddenStates::open(const transom_model *model,
                                        const std::string &layers,
                                        std::string prompt) {
  TRANSOM_ASSIGN(const Manifest manifest, getManifest(model));
  HiddenStates states;
  states.model = model;
  states.prompt = std::move(prompt);
  const ManifestEntry *entry = nullptr;
  if (layers.empty()) {
    entry = manifest.findEntry(EntryKind::Encode);
    const char *result = "last_hidden_state";
    if (!entry || std::none_of(entry->outputs.begin(), entry->outputs.end(),
                               [&](const ManifestTensor &output) {
                                 return output.name == result;
                               }))
      return unsupported("the model gives no hidden states; compile it with "
                         "'--layers -1' and use 'embed --layers -1'");
    states.results.push_back({result, ""});
  } else {
    entry = manifest.findEntry(statesEntry);
    if (!entry)
      return unsupported("the model gives no hidden states of layers; compile "
                         "it with '--layers " +
                         layers + "'");
    for (size_t begin = 0; begin <= layers.size();) {
      const size_t end = std::min(layers.find(',', begin), layers.size());
      const std::string layer = layers.substr(begin, end - begin);
      TRANSOM_ASSIGN(std::string name, findLayer(*entry, layer));
      states.results.push_back({std::move(name), layer});
      begin = end + 1;
    }
  }
  states.entry = entry->name;
  for (const ManifestTensor &input : entry->inputs)
    states.inputs.push_back(input.name);
  return states;
}

static transom_tensor makeTensor(const std::string &name,
                                 std::vector<int64_t> &data) {
  transom_tensor tensor = {};
  tensor.name = name.c_str();
  tensor.dtype = TRANSOM_DTYPE_I64;
  tensor.rank = 2;
  tensor.shape[0] = 1;
  tensor.shape[1] = int64_t(data.size());
  tensor.data = data.data();
  tensor.capacity = data.size() * sizeof(int64_t);
  return tensor;
}

static void writeRows(JsonWriter &json, const transom_tensor &tensor,
                      size_t rows) {
  const auto *values = static_cast<const float *>(tensor.data);
  const auto width = size_t(tensor.shape[2]);
  json.beginArray();
  for (size_t row = 0; row != rows; ++row) {
    json.beginArray();
    for (size_t i = 0; i != width; ++i)
      json.value(values[row * width + i]);
    json.endArray();
  }
  json.endArray();
}

Result<std::string> HiddenStates::getLine(transom_session *session,
                                          const std::string &text,
                                          uint32_t &truncated) const {
  TRANSOM_ASSIGN(const std::vector<transom_token> tokens,
                 tokenizeText(model, {prompt + text, std::nullopt},
                              transom_tokenize_options_default(), truncated));
  std::vector<int64_t> ids = getIds(tokens), mask(ids.size(), 1), types;
  for (const transom_token &token : tokens)
    types.push_back(token.type);
  std::vector<transom_tensor> arguments;
  for (const std::string &name : inputs)
    for (auto [known, data] : {std::pair("input_ids", &ids),
                               {"attention_mask", &mask},
                               {"token_type_ids", &types}})
      if (name == known)
        arguments.push_back(makeTensor(name, *data));
  OutputTensors outputs;
  if (!ids.empty()) {
    TRANSOM_TRY(outputs.allocate(model, session, entry, arguments));
    TRANSOM_TRY(check(transom_session_run(
        session, entry.c_str(), arguments.data(), arguments.size(),
        outputs.tensors().data(), outputs.tensors().size())));
  }

  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("ids");
  json.array(ids);
  const bool isByLayer = !results.front().layer.empty();
  if (isByLayer) {
    json.key("layers");
    json.beginObject();
  }
  for (const LayerResult &result : results) {
    json.key(isByLayer ? result.layer.c_str() : "embeddings");
    transom_tensor found = {};
    for (const transom_tensor &output : outputs.tensors())
      if (output.name == result.name)
        found = output;
    writeRows(json, found, ids.size());
  }
  if (isByLayer)
    json.endObject();
  json.endObject();
  return line + "\n";
}
