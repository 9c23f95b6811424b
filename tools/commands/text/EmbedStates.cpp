// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library may report texts in another order than the input.
#include "tools/commands/text/EmbedStates.h"
#include "runtime/json/Json.h"

using namespace transom;
using namespace transom::tools;

static void writeRows(JsonWriter &json, const float *rows, size_t count,
                      size_t width) {
  json.beginArray();
  for (size_t row = 0; row != count; ++row) {
    json.beginArray();
    for (size_t i = 0; i != width; ++i)
      json.value(rows[row * width + i]);
    json.endArray();
  }
  json.endArray();
}

static std::string getLine(const std::string &text,
                           const std::vector<int64_t> &layers,
                           const transom_token_vectors &found) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  // Text and token ids.
  json.member("text", text);
  json.key("ids");
  json.beginArray();
  for (size_t i = 0; i != found.count; ++i)
    json.value(found.ids[i]);
  json.endArray();
  // Vectors: one list, or one for each layer.
  const float *rows = found.vectors;
  if (layers.empty()) {
    json.key("embeddings");
    writeRows(json, rows, found.count, found.width);
  } else {
    json.key("layers");
    json.beginObject();
    for (const int64_t layer : layers) {
      json.key(std::to_string(layer).c_str());
      writeRows(json, rows, found.count, found.width);
      rows += found.count * found.width;
    }
    json.endObject();
  }
  json.endObject();
  return line + "\n";
}

namespace {
/// Data for building the lines.
struct LineMaker {
  const std::vector<std::string> &texts;
  const std::vector<int64_t> &layers;
  CutTexts &cuts;
  std::vector<std::string> lines;
};
} // namespace

Result<std::vector<std::string>>
tools::getTokenLines(transom_session *session,
                     const std::vector<std::string> &texts,
                     const transom_embed_options &options,
                     const std::vector<int64_t> &layers, CutTexts &cuts) {
  LineMaker maker = {texts, layers, cuts,
                     std::vector<std::string>(texts.size())};
  auto take = [](void *context, const transom_token_vectors *found) {
    auto &own = *static_cast<LineMaker *>(context);
    own.cuts.count += found->truncated;
    own.lines[found->text] =
        getLine(own.texts[found->text], own.layers, *found);
  };
  const std::vector<transom_text> views = getViews(texts);
  TRANSOM_TRY(check(transom_session_embed_tokens_batch(
      session, views.data(), views.size(), &options, layers.data(),
      layers.size(), take, &maker)));
  return std::move(maker.lines);
}
