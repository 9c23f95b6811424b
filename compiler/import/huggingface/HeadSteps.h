// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shorthands for family heads.
#pragma once
#include "compiler/import/huggingface/ModelFamily.h"

namespace transom::head {

using Kind = HeadStep::Kind;
using Width = HeadStep::Width;
using Bias = HeadStep::Bias;

inline HeadStep linear(const char *module, Width width, Bias bias = Bias::Yes) {
  return {Kind::Linear, module, width, nullptr, bias};
}
inline HeadStep norm(const char *module) { return {Kind::Norm, module}; }
inline HeadStep activation(const char *name = nullptr) {
  return {Kind::Activation, "", Width::Hidden, name};
}
inline HeadStep vocabulary(const char *module,
                           std::vector<const char *> biases) {
  return {Kind::Vocabulary, module,         Width::Hidden,
          nullptr,          Bias::AsConfig, std::move(biases)};
}

inline FamilyHead bare() {
  return {"Model", "none", false, {{"last_hidden_state", {}}}};
}
inline FamilyHead logits(const char *suffix, const char *kind, bool labels,
                         std::vector<HeadStep> steps) {
  return {suffix, kind, labels, {{"logits", std::move(steps)}}};
}
inline FamilyHead maskedLm(std::vector<HeadStep> steps) {
  return logits("ForMaskedLM", "masked_lm", false, std::move(steps));
}
inline FamilyHead sequence(std::vector<HeadStep> steps) {
  return logits("ForSequenceClassification", "sequence_classification", true,
                std::move(steps));
}
inline FamilyHead token(std::vector<HeadStep> steps) {
  return logits("ForTokenClassification", "token_classification", true,
                std::move(steps));
}
/// `ForQuestionAnswering`: a projection from the output of `steps` to two
/// values per token, the logits for an answer's first and last token.
inline FamilyHead questionAnswering(const char *module = "qa_outputs",
                                    std::vector<HeadStep> steps = {}) {
  auto column = [&](const char *name, int64_t number) {
    HeadResult result = {name, steps, /*isNumber=*/true};
    HeadStep last = linear(module, Width::Two);
    last.kind = Kind::Column;
    last.column = number;
    result.steps.push_back(last);
    return result;
  };
  FamilyHead head = {"ForQuestionAnswering",
                     "question_answering",
                     false,
                     {column("start_logits", 0), column("end_logits", 1)}};
  head.fixedLabels = true;
  return head;
}

/// RoBERTa heads.
inline std::vector<FamilyHead> ofRoberta() {
  return {
      bare(),
      maskedLm({linear("lm_head.dense", Width::Hidden), activation("gelu"),
                norm("lm_head.layer_norm"),
                vocabulary("lm_head.decoder",
                           {"lm_head.decoder.bias", "lm_head.bias"})}),
      sequence({{Kind::First},
                linear("classifier.dense", Width::Hidden),
                activation("tanh"),
                linear("classifier.out_proj", Width::Labels)}),
      token({linear("classifier", Width::Labels)}),
      questionAnswering(),
  };
}

/// Decoder heads without label classes. The causal class name ends in `causal`.
inline std::vector<FamilyHead> generator(const char *causal,
                                         Bias bias = Bias::No) {
  HeadStep words = {Kind::Vocabulary, "lm_head", Width::Hidden,
                    nullptr,          bias,      {"lm_head.bias"},
                    {"embed_out"}};
  return {
      logits(causal, "causal_lm", false, {words, {Kind::Scale}, {Kind::Cap}}),
      bare()};
}

/// Decoder heads.
inline std::vector<FamilyHead> decoder(const char *causal,
                                       Bias bias = Bias::No) {
  std::vector<FamilyHead> heads = generator(causal, bias);
  heads.insert(heads.begin() + 1,
               sequence({linear("score", Width::Labels, Bias::No)}));
  return heads;
}

} // namespace transom::head
