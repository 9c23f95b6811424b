// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder families with Llama's modules and LayerNorm. Names are the checkpoint
// names; defaults are the same as in the config classes of transformers 4 and
// 5.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;

static ModelFamily cohere() {
  ModelFamily family = llamaEntry();
  family.modelType = "cohere";
  family.className = "Cohere";
  family.heads = head::generator("ForCausalLM");
  family.keys.epsilon = {"layer_norm_eps"};
  family.keys.mlpBias = {};
  family.keys.normBias = {false};
  family.keys.headNorms = {false, {"use_qk_norm"}};
  family.keys.logitScale = {"logit_scale"};
  family.keys.parallelResidual = {true};
  family.defaults = {256000, 8192, 40, 64};
  family.defaults.intermediate = 22528;
  family.defaults.positions = 8192;
  family.defaults.epsilon = 1e-5;
  family.defaults.theta = 500000;
  family.defaults.logitScale = 0.0625;
  family.defaults.tied = true;
  family.defaults.parallelNorms = 1;
  family.modules.queryNorm = "self_attn.q_norm";
  family.modules.keyNorm = "self_attn.k_norm";
  family.modules.mlpNorm = "";
  family.normKind = NormKind::Layer;
  family.headNorms = HeadNorms::Own;
  family.interleavedRope = true;
  family.ignoredKeys = {"attention_dropout", "pretraining_tp"};
  return family;
}

static ModelFamily stablelm() {
  ModelFamily family = llamaEntry();
  family.modelType = "stablelm";
  family.className = "StableLm";
  family.keys.headDim = {};
  family.keys.epsilon = {"layer_norm_eps"};
  family.keys.qkvBias = {false, {"use_qkv_bias"}};
  family.keys.outputBias = family.keys.mlpBias = {};
  family.keys.headNorms = {false, {"qk_layernorm"}};
  family.keys.parallelResidual = {false, {"use_parallel_residual"}};
  family.defaults = {50304, 2560, 32, 32};
  family.defaults.kvHeads = 32;
  family.defaults.intermediate = 6912;
  family.defaults.positions = 4096;
  family.defaults.epsilon = 1e-5;
  family.defaults.ropeFraction = 0.25;
  family.defaults.parallelNorms = 1;
  family.modules.queryNorm = "self_attn.q_layernorm.norms.{head}";
  family.modules.keyNorm = "self_attn.k_layernorm.norms.{head}";
  family.normKind = NormKind::Layer;
  family.headNorms = HeadNorms::Own;
  family.partialRope = true;
  family.ignoredKeys = {"attention_dropout", "hidden_dropout"};
  return family;
}

static ModelFamily starcoder2() {
  ModelFamily family = llamaEntry();
  family.modelType = "starcoder2";
  family.className = "Starcoder2";
  family.keys.epsilon = {"norm_epsilon"};
  family.keys.qkvBias = family.keys.outputBias =
      family.keys.mlpBias = {true, {"use_bias"}};
  family.defaults = {49152, 3072, 30, 24};
  family.defaults.kvHeads = 2;
  family.defaults.intermediate = 12288;
  family.defaults.positions = 4096;
  family.defaults.epsilon = 1e-5;
  family.defaults.activation = "gelu_pytorch_tanh";
  family.defaults.tied = true;
  family.modules.gate = "";
  family.modules.up = "mlp.c_fc";
  family.modules.activation = "mlp.act";
  family.modules.down = "mlp.c_proj";
  family.normKind = NormKind::Layer;
  family.mlp = MlpKind::Plain;
  family.windows = WindowLayers::All;
  family.ignoredKeys = {"attention_dropout", "residual_dropout",
                        "embedding_dropout", "attention_softmax_in_fp32",
                        "scale_attention_softmax_in_fp32"};
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::layerNormFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(cohere());
  families.push_back(stablelm());
  families.push_back(starcoder2());
  return families;
}
