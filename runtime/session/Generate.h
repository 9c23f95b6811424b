// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation with a session: its decoder as a logits source, the model's
// settings, and the entry `generate`, which takes prompts from tensors.
#pragma once
#include "runtime/generate/Generator.h"
#include "runtime/session/Session.h"

namespace transom {

/// A session's decoder; the session must outlive it.
class DecoderSource final : public LogitsSource {
public:
  /// `Unsupported` if the model has no entry `generate`.
  static Result<DecoderSource> create(Session &session);

  Result<int32_t> create() override { return decoder->create(); }
  bool hasSources() const override { return decoder->hasSources(); }
  Result<void> addSources(const SourceTokens *sources, size_t count,
                          int32_t *sequences) override;
  int64_t longestSource() const override { return decoder->longestSource(); }
  int64_t sourceVocabulary() const override { return sourceIds; }
  void free(int32_t sequence) override { decoder->free(sequence); }
  Result<int32_t> copy(int32_t sequence) override {
    return decoder->copy(sequence);
  }
  Result<void> rewind(int32_t sequence, int64_t length) override {
    return decoder->rewind(sequence, length);
  }
  Result<const float *> step(const NewTokens *inputs, size_t count) override;
  Result<LogitRows> stepSummarized(const NewTokens *inputs, size_t count,
                                   bool needsSums) override;
  Result<const float *> stepListed(const NewTokens *inputs, size_t count,
                                   const std::vector<int64_t> &tokens) override;
  int64_t maxListed() const override { return decoder->maxListed(); }
  int64_t width() const override { return decoder->width(); }
  std::optional<int64_t> context() const override { return decoder->context(); }
  int64_t vocabulary() const override { return decoder->vocabulary(); }
  int64_t maxLogits() const override { return decoder->maxLogits(); }
  int64_t freePositions() const override { return decoder->freePositions(); }
  int64_t maxSequences() const override { return decoder->maxSequences(); }
  int64_t freeSequences() const override { return decoder->freeSequences(); }
  int64_t longest() const override { return decoder->longest(); }
  Result<void> forEach(size_t count, Body body, void *context) override {
    return executor->forEach(count, body, context);
  }
  unsigned numWorkers() const override { return executor->config().threads; }

private:
  DecoderSource(DecodeEngine &decoder, Executor &executor)
      : decoder(&decoder), executor(&executor),
        sourceIds(decoder.vocabulary()) {}
  void setSteps(const NewTokens *inputs, size_t count);

  DecodeEngine *decoder;
  Executor *executor;
  int64_t sourceIds; ///< limit for source ids
  std::vector<StepInput> steps;
  std::vector<SourceInput> sources;
};

/// Returns the settings in the model's files, unresolved. `Unsupported` if the
/// model does not generate.
Result<GenerationConfig> getGenerationConfig(const Model &model);

/// Returns the prompts in the input rows for the entry `generate`: the unmasked
/// tokens; for an encoder-decoder, whose encoder counts columns, all columns
/// and the mask.
Result<GenerationPrompts>
getPrompts(const Model &model, const transom_tensor *inputs, size_t count);

/// Returns the model's lexical shortlist, if it has one.
Result<std::optional<Shortlist>> getShortlist(const Model &model);

/// Raises a capacity so that a session generates quickly for prompts with these
/// lengths; for an encoder-decoder, with target prefixes up to `longestPrefix`
/// tokens. `config` must be resolved.
void fitGeneration(const Model &model, const GenerationConfig &config,
                   const std::vector<size_t> &promptLengths,
                   size_t longestPrefix, Capacity &capacity);

/// Writes the result `output_ids`: one row per continuation, padded with `fill`
/// to the longest one. `Limit` if it does not fit; then dtype, shape and the
/// needed capacity are set.
Result<void> writeOutputIds(const std::vector<Continuation> &rows, int64_t fill,
                            transom_tensor &out);

/// Writes the beam search result `scores`: f32, one per continuation. `Usage`
/// without beams; `Limit` as in writeOutputIds().
Result<void> writeScores(const std::vector<Continuation> &rows,
                         transom_tensor &out);

/// Runs the entry with the settings in the model's files, as
/// transom_session_run().
Result<void> runGenerate(Session &session, const Entry &entry,
                         const transom_tensor *inputs, size_t inputCount,
                         transom_tensor *outputs, size_t outputCount);
/// Describes the entry's largest result, as transom_session_shape().
Result<void> shapeGenerate(const Session &session, const Entry &entry,
                           const transom_tensor *inputs, size_t inputCount,
                           const char *name, transom_tensor &result);

} // namespace transom
