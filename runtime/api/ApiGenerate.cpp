// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for generation: options that override the settings in the model's
// files, prompts as ids or texts, and results owned by a handle.
#include "runtime/api/ApiPrompts.h"
#include "runtime/base/Utf8.h"
#include "runtime/generate/GenerationOptions.h"
#include "runtime/session/Generate.h"
#include "runtime/text/Text.h"
#include <cstddef>

using namespace transom;
using namespace transom::api;

/// The object that a generation handle points to.
struct transom_generation {
  std::vector<Continuation> continuations;
  std::vector<std::vector<transom_token_logprob>> top; ///< by continuation
  int64_t fill = 0;
};

const char *transom_finish_name(transom_finish finish) {
  return finishName(FinishReason(finish));
}

void transom_generate_options_init(transom_generate_options *options,
                                   size_t struct_size) {
  transom_generate_options defaults = {};
  visitGenerationOptions([&](const GenerationOption &, auto, auto field) {
    if constexpr (!std::is_null_pointer_v<decltype(field)>)
      defaults.*field = TRANSOM_FROM_MODEL;
  });
  defaults.sample = TRANSOM_FROM_MODEL;
  defaults.top_logprobs = -1;
  initialize(defaults, options, struct_size);
}

void transom_continuation_init(transom_continuation *continuation,
                               size_t struct_size) {
  initialize(transom_continuation(), continuation, struct_size);
}

/// Copies the caller's bad words, sequences that are never generated.
static Result<void> takeBadWords(const transom_generate_options &options,
                                 int64_t vocabulary, GenerationConfig &config) {
  if (!options.bad_words)
    return options.num_bad_words ? nullArgument("bad_words") : Result<void>();
  TRANSOM_TRY(checkArray("bad_word_sizes", options.bad_word_sizes,
                         options.num_bad_words));
  config.badWords.clear();
  const int64_t *at = options.bad_words;
  for (size_t i = 0; i != options.num_bad_words; ++i) {
    const size_t size = options.bad_word_sizes[i];
    const std::string name = "bad word " + std::to_string(i);
    if (size == 0)
      return usageError(name + " has no ids");
    TRANSOM_TRY(checkArray("bad_words", at, size));
    TRANSOM_TRY(checkTokens(at, size, vocabulary, name));
    config.badWords.emplace_back(at, at + size);
    at += size;
  }
  return {};
}

/// Returns the settings for a call: the model's, overridden by the caller's.
static Result<GenerationConfig>
configFor(const Model &model, const transom_generate_options &options) {
  Result<GenerationConfig> config = getGenerationConfig(model);
  if (!config)
    return config;
  // Apply numeric options.
  applyOptions(options, *config);
  if (options.context_policy > TRANSOM_CONTEXT_SHIFT)
    return usageError("the context policy is 0, 1 or 2, got " +
                      std::to_string(options.context_policy));
  if (isGiven(options.sample) && (options.sample < 0 || options.sample > 1))
    return usageError("sample is 0, 1 or TRANSOM_FROM_MODEL, got " +
                      std::to_string(options.sample));
  config->contextPolicy = ContextPolicy(options.context_policy);
  // Check arrays, and copy end tokens and biases.
  TRANSOM_TRY(checkArray("biases", options.biases, options.num_biases));
  TRANSOM_TRY(checkArray("stops", options.stops, options.num_stops));
  TRANSOM_TRY(checkArray("end_ids", options.end_ids, options.num_end_ids));
  if (options.end_ids)
    config->endTokens.assign(options.end_ids,
                             options.end_ids + options.num_end_ids);
  const int64_t vocabulary = model.manifest().decoder->vocabulary;
  for (size_t i = 0; i != options.num_biases; ++i)
    if (options.biases[i].id < 0 || options.biases[i].id >= vocabulary)
      return rejected("logit bias: id " + std::to_string(options.biases[i].id) +
                      " lies outside the vocabulary of " +
                      std::to_string(vocabulary));
  for (size_t i = 0; i != options.num_biases; ++i)
    config->logitBias.emplace_back(options.biases[i].id,
                                   options.biases[i].bias);
  // Copy bad words and stop strings.
  TRANSOM_TRY(takeBadWords(options, vocabulary, *config));
  if (options.stops)
    config->stopStrings.clear();
  TRANSOM_TRY(checkTexts("stops", options.stops, options.num_stops));
  for (size_t i = 0; i != options.num_stops; ++i) {
    const transom_text &stop = options.stops[i];
    config->stopStrings.emplace_back(stop.data ? stop.data : "", stop.size);
    if (!utf8::isValid(config->stopStrings.back()))
      return rejected("stop string " + std::to_string(i) + " is not UTF-8");
  }
  TRANSOM_TRY(config->resolve());
  return config;
}

namespace {
/// A caller's options, and the resulting settings.
struct Request {
  transom_generate_options options;
  GenerationConfig config;
};
} // namespace

/// Reads the caller's options, and applies them to the model's settings.
static Result<Request> getRequest(const Model &model,
                                  const transom_generate_options *given) {
  transom_generate_options options = transom_generate_options_default();
  TRANSOM_TRY(readOptions(given, options));
  TRANSOM_ASSIGN(GenerationConfig config, configFor(model, options));
  return Request{options, std::move(config)};
}

/// Returns the tokens for the caller's target prefixes.
static Result<std::vector<std::vector<int64_t>>>
getTargetPrefixes(const Model &model, const transom_generate_options &options) {
  TRANSOM_TRY(checkArray("target_prefixes", options.target_prefixes,
                         options.num_target_prefixes));
  if (!options.num_target_prefixes)
    return std::vector<std::vector<int64_t>>();
  if (model.manifest().decoder->encoder.empty())
    return usageError("'target_prefixes' need an encoder-decoder");
  transom_tokenize_options how = transom_tokenize_options_default();
  how.no_special = how.no_truncation = how.target = 1;
  return getPromptTokens(model, "target prefix", options.target_prefixes,
                         options.num_target_prefixes, how);
}

/// Adds the caller's target prefixes to prompts.
static Result<void> addTargetPrefixes(const Model &model,
                                      const transom_generate_options &options,
                                      GenerationPrompts &prompts) {
  const size_t count = prompts.ids.size();
  if ((options.target_prefixes || options.num_target_prefixes) &&
      options.num_target_prefixes != count)
    return usageError("there are " + std::to_string(count) +
                      " prompts, got a num_target_prefixes of " +
                      std::to_string(options.num_target_prefixes));
  TRANSOM_ASSIGN(prompts.targetPrefixes, getTargetPrefixes(model, options));
  return {};
}

/// Returns the tokenizer if generation from ids needs text: for stop strings or
/// a callback; otherwise NULL.
static const Tokenizer *textsFor(const Model &model,
                                 const GenerationConfig &config,
                                 const transom_generate_options &options) {
  return config.stopStrings.empty() && !options.callback ? nullptr
                                                         : model.tokenizer();
}

/// Generates into a handle, which is also returned if the generation was
/// cancelled. `tokenizer`: NULL for no texts.
static Result<void> generateInto(Session &session,
                                 const GenerationConfig &config,
                                 const transom_generate_options &options,
                                 const Tokenizer *tokenizer,
                                 const GenerationPrompts &prompts,
                                 transom_generation **out) {
  TRANSOM_ASSIGN(DecoderSource source, DecoderSource::create(session));
  GenerationCallback callback;
  if (options.callback)
    callback = [&](const GenerationEvent &event) {
      const transom_generated_token token{
          event.continuation.prompt,
          event.continuation.number,
          event.token,
          {event.text.data(), event.text.size()},
          transom_finish(event.continuation.finish)};
      return callHost([&] {
               return options.callback(options.callback_context, &token);
             }) == 0;
    };
  auto made = std::make_unique<transom_generation>();
  Result<void> done = generate(source, config, tokenizer, prompts, callback,
                               made->continuations);
  // A cancellation after the last step applies to this call, not to the next
  // one.
  if (done)
    done = session.takeCancel();
  if (!done && done.error().status != cancelledStatus)
    return done;
  made->fill = config.fillToken();
  for (const Continuation &continuation : made->continuations) {
    auto &top = made->top.emplace_back();
    for (const TokenLogprob &token : continuation.top)
      top.push_back({token.token, token.logprob});
  }
  *out = made.release();
  return done;
}

transom_status transom_session_options_fit_generate(
    const transom_model *handle, const size_t *promptTokens, size_t count,
    const transom_generate_options *given, transom_session_options *session) {
  return guarded([&]() -> Result<void> {
    if (!handle || !session)
      return nullArgument(handle ? "session" : "model");
    TRANSOM_TRY(checkArray("prompt_tokens", promptTokens, count));
    if (session->struct_size < offsetof(transom_session_options, mem_limit))
      return usageError("the options do not hold max_kv_tokens");
    // Start with the caller's capacity.
    TRANSOM_ASSIGN(Request request, getRequest(*handle->model, given));
    Capacity capacity;
    capacity.maxBatch = session->max_batch;
    capacity.maxTokens =
        int64_t(std::min<uint64_t>(session->max_tokens, INT64_MAX));
    capacity.maxSequences = session->max_sequences;
    capacity.maxKvTokens =
        int64_t(std::min<uint64_t>(session->max_kv_tokens, INT64_MAX));
    if (session->struct_size >
        offsetof(transom_session_options, max_source_tokens))
      capacity.maxSourceTokens =
          int64_t(std::min<uint64_t>(session->max_source_tokens, INT64_MAX));
    // Raise it for the prompts and the longest target prefix.
    TRANSOM_ASSIGN(const auto prefixes,
                   getTargetPrefixes(*handle->model, request.options));
    size_t longestPrefix = 0;
    for (const std::vector<int64_t> &prefix : prefixes)
      longestPrefix = std::max(longestPrefix, prefix.size());
    fitGeneration(*handle->model, request.config,
                  std::vector<size_t>(promptTokens, promptTokens + count),
                  longestPrefix, capacity);
    // Write it back to the fields that exist.
    session->max_batch = uint32_t(capacity.maxBatch);
    session->max_tokens = uint64_t(capacity.maxTokens);
    session->max_sequences = uint32_t(capacity.maxSequences);
    session->max_kv_tokens = uint64_t(capacity.maxKvTokens);
    constexpr size_t end =
        offsetof(transom_session_options, max_source_tokens) +
        sizeof session->max_source_tokens;
    if (session->struct_size >= end)
      session->max_source_tokens = uint64_t(capacity.maxSourceTokens);
    return {};
  });
}

transom_status transom_session_generate(transom_session *handle,
                                        const transom_prompt *prompts,
                                        size_t count,
                                        const transom_generate_options *given,
                                        transom_generation **generation) {
  if (generation)
    *generation = nullptr;
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!generation)
      return nullArgument("generation");
    TRANSOM_TRY(checkArray("prompts", prompts, count));
    const Model &model = session.model();
    TRANSOM_ASSIGN(Request request, getRequest(model, given));
    transom_tokenize_options how = transom_tokenize_options_default();
    how.no_special = request.options.no_special != 0;
    how.no_truncation = 1;
    GenerationPrompts tokens;
    TRANSOM_ASSIGN(tokens.shortlist, getShortlist(model));
    TRANSOM_ASSIGN(tokens.ids,
                   getPromptTokens(model, "prompt", prompts, count, how));
    TRANSOM_TRY(addTargetPrefixes(model, request.options, tokens));
    return generateInto(session, request.config, request.options,
                        model.tokenizer(), tokens, generation);
  });
}

transom_status transom_session_generate_tensors(
    transom_session *handle, const transom_tensor *inputs, size_t inputCount,
    const transom_generate_options *given, transom_generation **generation) {
  if (generation)
    *generation = nullptr;
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!generation)
      return nullArgument("generation");
    TRANSOM_TRY(checkArray("inputs", inputs, inputCount));
    const Model &model = session.model();
    TRANSOM_ASSIGN(Request request, getRequest(model, given));
    TRANSOM_ASSIGN(GenerationPrompts prompts,
                   getPrompts(model, inputs, inputCount));
    TRANSOM_TRY(addTargetPrefixes(model, request.options, prompts));
    return generateInto(session, request.config, request.options,
                        textsFor(model, request.config, request.options),
                        prompts, generation);
  });
}

void transom_generation_free(transom_generation *generation) {
  delete generation;
}

size_t transom_generation_count(const transom_generation *generation) {
  return generation ? generation->continuations.size() : 0;
}

transom_status transom_generation_get(const transom_generation *generation,
                                      size_t index, transom_continuation *out) {
  return guarded([&]() -> Result<void> {
    if (!generation)
      return nullArgument("generation");
    if (index >= generation->continuations.size())
      return usageError(
          "there are " + std::to_string(generation->continuations.size()) +
          " continuations, none of index " + std::to_string(index));
    const Continuation &continuation = generation->continuations[index];
    const auto &top = generation->top[index];
    transom_continuation filled = transom_continuation_default();
    filled.prompt = continuation.prompt;
    filled.number = continuation.number;
    filled.prompt_tokens = continuation.promptTokens;
    filled.ids = continuation.tokens.data();
    filled.num_ids = continuation.tokens.size();
    filled.text = {continuation.text.data(), continuation.text.size()};
    filled.finish = transom_finish(continuation.finish);
    filled.logprobs =
        continuation.logprobs.empty() ? nullptr : continuation.logprobs.data();
    filled.top = top.empty() ? nullptr : top.data();
    filled.num_top = top.empty() ? 0 : top.size() / continuation.tokens.size();
    filled.score = continuation.score;
    return writeInfo(filled, out);
  });
}

transom_status
transom_generation_output_ids(const transom_generation *generation,
                              transom_tensor *result) {
  return guarded([&]() -> Result<void> {
    if (!generation || !result)
      return nullArgument(generation ? "result" : "generation");
    return writeOutputIds(generation->continuations, generation->fill, *result);
  });
}

transom_status transom_generation_scores(const transom_generation *generation,
                                         transom_tensor *result) {
  return guarded([&]() -> Result<void> {
    if (!generation || !result)
      return nullArgument(generation ? "result" : "generation");
    return writeScores(generation->continuations, *result);
  });
}
