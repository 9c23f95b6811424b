// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gliner_config.json keys with the defaults in the package's config class.
#include "compiler/import/huggingface/gliner/GlinerConfig.h"
#include "compiler/import/Limits.h"
#include "compiler/import/huggingface/ModelFamily.h"
#include "runtime/base/Suggest.h"

using namespace transom;

namespace {
struct SpanModeRow {
  const char *name;
  SpanMode mode;
};
const SpanModeRow spanModes[] = {{"token_level", SpanMode::TokenLevel},
                                 {"marker", SpanMode::Marker},
                                 {"markerV0", SpanMode::MarkerV0}};
} // namespace

static SpanMode readSpanMode(Config &config) {
  const std::string name = config.text({"span_mode"}, "markerV0");
  std::vector<std::string> names;
  for (const SpanModeRow &row : spanModes) {
    if (name == row.name)
      return row.mode;
    names.emplace_back(row.name);
  }
  if (!config.failed())
    config.fail(config.find({"span_mode"})
                    ->error("'span_mode' is '" + name + "'; supported: " +
                                joinNames(names) + suggest(name, names),
                            Status::Unsupported));
  return SpanMode::MarkerV0;
}

/// Rejects an LSTM over the words, which is the default if the key is absent.
static void refuseLstm(Config &config) {
  const int64_t layers =
      config.integer({"num_rnn_layers"}, 1, INT32_MIN, INT32_MAX);
  if (layers <= 0 || config.failed())
    return;
  const std::string text =
      "a bidirectional LSTM over the words ('num_rnn_layers' " +
      std::to_string(layers) + ") is not supported; supported: 0";
  if (std::optional<JsonValue> value = config.find({"num_rnn_layers"}))
    config.fail(value->error(text, Status::Unsupported));
  else
    config.fail(
        config.root().error(text + "; absent, it is 1", Status::Unsupported));
}

GlinerConfig transom::readGlinerConfig(Config &config) {
  // Reject the package's other model kinds.
  config.requireAbsent({"labels_encoder"},
                       "an encoder of its own for types is not supported");
  config.requireAbsent({"labels_encoder_config"},
                       "an encoder of its own for types is not supported");
  config.requireAbsent({"labels_decoder"},
                       "labels that a decoder generates are not supported");
  config.requireAbsent({"labels_decoder_config"},
                       "labels that a decoder generates are not supported");
  config.requireAbsent({"decoder_config"},
                       "a decoder as the encoder of texts is not supported");
  config.requireAbsent({"relations_layer"},
                       "relations of entities are not supported");
  config.requireAbsent({"span_encoder_config"},
                       "layers over the words are not supported");
  if (config.text({"model_type"}, "") == "gliner_streaming_span")
    config.requireText({"model_type"}, "gliner");
  refuseLstm(config);
  config.requireFlag({"fuse_layers"}, false);
  config.requireFlag({"precomputed_prompts_mode"}, false);
  config.requireText({"words_splitter_type"}, "whitespace");

  GlinerConfig model;
  model.spanMode = readSpanMode(config);
  model.hidden = config.integer({"hidden_size"}, 512, 1, maxDim);
  model.vocabulary = config.integer({"vocab_size"}, -1, -1, maxDim);
  if (model.isTokenLevel()) // for spans scored by a second head
    config.requireFlag({"represent_spans"}, false);
  model.encoder = config.find({"encoder_config"});
  if (model.encoder && !model.encoder->isObject())
    config.fail(model.encoder->typeError("an object"));
  model.encoderName = config.text({"model_name"}, "microsoft/deberta-v3-small");

  ManifestEntities &entities = model.entities;
  const int64_t width = config.integer({"max_width"}, 12, 1, 4096);
  entities.maxWidth = model.isTokenLevel() ? 0 : width;
  entities.maxWords = config.integer({"max_len"}, 384, 1, INT32_MAX);
  entities.pooling = config.text({"subtoken_pooling"}, "first");
  config.requireText({"subtoken_pooling"}, "first|last|mean|max");
  entities.typeToken = config.text({"ent_token"}, "<<ENT>>");
  entities.separator = config.text({"sep_token"}, "<<SEP>>");
  entities.readsName = !config.flag({"embed_ent_token"}, true);
  entities.typeTokenId =
      config.integer({"class_token_index"}, -1, -1, INT32_MAX);
  // The package finds the token relative to the vocabulary end if it extends
  // the vocabulary itself.
  if (model.vocabulary == -1)
    entities.typeTokenId = -1;
  for (const std::string *token : {&entities.typeToken, &entities.separator})
    if (token->empty() && !config.failed())
      config.fail(config.root().error("'ent_token' and 'sep_token' are not "
                                      "empty in models that are supported",
                                      Status::Unsupported));

  // Ignore keys for training, memory or the package's other models; a fuser
  // only occurs in models with a separate type encoder.
  config.ignore(commonIgnoredKeys());
  config.ignore({"name",
                 "dropout",
                 "fine_tune",
                 "max_types",
                 "max_neg_type_ratio",
                 "represent_spans",
                 "neg_spans_ratio",
                 "token_loss_coef",
                 "span_loss_coef",
                 "post_fusion_schema",
                 "num_post_fusion_layers",
                 "id_to_classes",
                 "decoder_mode",
                 "full_decoder_context",
                 "blank_entity_prob",
                 "decoder_loss_coef",
                 "triples_layer",
                 "embed_rel_token",
                 "rel_token_index",
                 "rel_token",
                 "rel_id_to_classes",
                 "adjacency_loss_coef",
                 "relation_loss_coef",
                 "_attn_implementation"});
  return model;
}
