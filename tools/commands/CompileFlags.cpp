// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defines the compile flags, and rejects unsupported values.
#include "tools/commands/CompileFlags.h"
#include "runtime/base/OperandFormat.h"
#include "tools/commands/NumberList.h"
#include <CLI/Validators.hpp>

using namespace transom;
using namespace transom::tools;

/// Rejects reserved flag values that this version does not support.
static Result<void> checkSupported(const CompileFlags &flags) {
  if (flags.weights != "embed")
    return unsupported("'--weights " + flags.weights +
                       "' is not supported; supported: embed");
  return {};
}

Result<void> tools::finishOptions(CompileFlags &flags) {
  CompileOptions &options = flags.options;
  TRANSOM_TRY(checkSupported(flags));
  if (!options.attention &&
      !(flags.attentionLayers.empty() && flags.attentionHeads.empty()))
    return usageError(
        "'--attention-layers' and '--attention-heads' need '--attention'");
  TRANSOM_ASSIGN(options.attentionLayers,
                 parseNumberList("--attention-layers", flags.attentionLayers));
  TRANSOM_ASSIGN(options.attentionHeads,
                 parseNumberList("--attention-heads", flags.attentionHeads));
  TRANSOM_ASSIGN(options.layers, parseLayerList("--layers", flags.layers));
  if (options.shortlist.file.empty() &&
      (flags.shortlistFirst || flags.shortlistBest))
    return usageError(
        "'--shortlist-first' and '--shortlist-best' need '--shortlist'");
  options.shortlist.first =
      flags.shortlistFirst.value_or(options.shortlist.first);
  options.shortlist.best = flags.shortlistBest.value_or(options.shortlist.best);
  // 'none' re-enables passes that the environment or the first compile
  // disabled.
  if (options.disabledPasses == std::vector<std::string>{"none"})
    options.disabledPasses.clear();
  return {};
}

void tools::addList(CLI::App &app, const std::string &flag,
                    std::vector<std::string> &values, const std::string &help) {
  app.add_option(flag, values, help)
      ->type_name("NAME")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void tools::addTypeFlags(CLI::App &app, CompileOptions &options) {
  // Element types.
  addChoice(app, "--dtype", options.dtype, {"f32", "bf16"},
            "type of weights and activations (default f32)");
  addChoice(app, "--kv-dtype", options.kvDtype, getCacheOptions(),
            "type of a decoder's cached keys and values (default: as --dtype)");
  // Quantization of weights, the head, embeddings and activations.
  addChoice(app, "--quantize", options.quantize, {"int8", "int4", "none"},
            "quantize weights of products, and what they multiply (default: "
            "those that the model has quantized; none: not these either)");
  addChoice(app, "--quantize-head", options.quantizeHead,
            {"int8", "int4", "none"},
            "with --quantize, or for a quantized model: the output head, with "
            "the token embedding that it shares (default: as --quantize; none: "
            "f32)");
  addChoice(app, "--quantize-embeddings", options.quantizeEmbeddings,
            {"int8", "int4", "none"},
            "the same for other tables of embeddings (default: int8 with "
            "--quantize, else as the model has them)");
  addChoice(
      app, "--activations", options.activations, {"int8", "f32"},
      "what products with quantized weights multiply: int8, as they come, "
      "or f32, which is more exact and slower with many tokens (default "
      "int8)");
  app.add_option(
         "--group-size", options.groupSize,
         "with --quantize: weights with one scale; more are less exact, "
         "and faster with many tokens (default: 128 of int8, 32 of "
         "int4)")
      ->type_name("N")
      ->check(CLI::IsMember(std::vector<unsigned>(std::begin(quantizedGroups),
                                                  std::end(quantizedGroups))));
}

/// Adds flags that select element types and precision.
static void addNumberFlags(CLI::App &app, CompileFlags &flags) {
  addTypeFlags(app, flags.options);
  app.add_option("--calibrate", flags.options.calibrate,
                 "with --quantize: texts, one per line, on which the model is "
                 "run; weights that they use most are the most exact")
      ->type_name("FILE");
  // Reserved but not supported, so hidden in the help.
  addChoice(app, "--weights", flags.weights, {"embed", "external"}, "")
      ->group("");
}

/// Adds flags for the entry with attention weights.
static void addAttentionFlags(CLI::App &app, CompileFlags &flags) {
  app.add_flag("--attention", flags.options.attention,
               "add an entry that returns the weights of attention, which "
               "'transom attention' shows");
  app.add_option("--attention-layers", flags.attentionLayers,
                 "with --attention: layers, such as 0,2-5 (default: all)")
      ->type_name("LIST");
  app.add_option("--attention-heads", flags.attentionHeads,
                 "with --attention: heads, such as 0,2-5 (default: all)")
      ->type_name("LIST");
}

/// Adds flags for code generation.
static void addCodeFlags(CLI::App &app, CompileFlags &flags) {
  addList(app, "--target", flags.options.targets,
          "CPUs to generate code for (repeatable): native, x86-64-v3, "
          "x86-64-v4, aarch64 (default: all of x86-64, chosen at load)");
  addChoice(app, "--backend", flags.options.backend, {"native", "onednn"},
            "what computes products, softmax and norms (default native)");
  app.add_option("--attention-schedule", flags.options.attentionSchedule,
                 "how attention divides its work: auto, streaming, two-pass or "
                 "split-kv, optionally with the most query rows of a work item "
                 "('streaming:12'); results are bit-identical (default auto)")
      ->type_name("KIND[:ROWS]");
  app.add_option("-O,--opt-level", flags.options.optLevel,
                 "0: compile in half of the time; the code is slower but "
                 "bit-identical "
                 "(default 2)")
      ->type_name("0|2")
      ->check(CLI::IsMember({0u, 2u}));
  addList(app, "--disable-pass", flags.options.disabledPasses,
          "skip a pass (repeatable), such as attn-fuse-projections; none: skip "
          "no pass, whatever the environment says");
  addList(app, "--load-pass-plugin", flags.options.passPlugins,
          "run the passes of a plug-in at its extension points (repeatable)");
}

void tools::addCompileFlags(CLI::App &command, CompileFlags &flags) {
  addNumberFlags(command, flags);
  // Adapters.
  command
      .add_option("--task", flags.options.task,
                  "merge the adapter of a task, one of 'lora_adaptations' in "
                  "config.json, into the weights (default: none)")
      ->type_name("NAME");
  command
      .add_option("--lora", flags.options.lora,
                  "merge the LoRA adapter of a folder of PEFT into the weights")
      ->type_name("FOLDER");
  // Scoring by a token's logit.
  command
      .add_option(
          "--true-token", flags.options.scoring.trueToken,
          "add an entry that scores documents by the logit of a token, "
          "such as yes, which 'rerank' uses; for causal language models "
          "whose folder has no modules.json")
      ->type_name("TOKEN");
  command
      .add_option("--false-token", flags.options.scoring.falseToken,
                  "with --true-token: the token whose logit is subtracted")
      ->type_name("TOKEN");
  command
      .add_option("--chat-template", flags.options.scoring.chatTemplate,
                  "with --true-token: a template of Jinja for messages of the "
                  "roles system, query and document (default: the folder's)")
      ->type_name("F");
  // Lexical shortlists.
  command
      .add_option("--shortlist", flags.options.shortlist.file,
                  "a lexical shortlist in a format of Marian, lines 'target "
                  "source probability' or binary: translations have only its "
                  "tokens (default: none)")
      ->type_name("FILE");
  command
      .add_option("--shortlist-first", flags.shortlistFirst,
                  "with --shortlist: tokens of the vocabulary, from the first "
                  "on, that are in every list (default 100)")
      ->type_name("N")
      ->check(CLI::Range(int64_t(0), int64_t(INT32_MAX)));
  command
      .add_option("--shortlist-best", flags.shortlistBest,
                  "with --shortlist: the most probable tokens of a source "
                  "token that count (default 100)")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(INT32_MAX)));
  // Hidden states, generation settings, then the other groups.
  command
      .add_option("--layers", flags.layers,
                  "add an entry that returns hidden states, which 'embed "
                  "--layers' prints: 0 is the embedding, -1 the last layer "
                  "(default: none)")
      ->type_name("LIST");
  command.add_flag("--ignore-generation-config",
                   flags.options.ignoreGenerationConfig,
                   "do not read generation_config.json");
  addCodeFlags(command, flags);
  addAttentionFlags(command, flags);
}
