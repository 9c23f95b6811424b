// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for a decoder's sequences and steps.
#include "runtime/api/ApiPrompts.h"

using namespace transom;
using namespace transom::api;

/// Calls `body` with the session's decoder.
template <typename Body>
static transom_status withDecoder(const transom_session *session, Body body) {
  return onSession(session, [&](const Session &own) -> Result<void> {
    DecodeEngine *decoder = own.decoder();
    if (!decoder)
      return usageError("the model has no decoder");
    return body(*decoder);
  });
}

/// Does the same for calls that return a new sequence.
template <typename Body>
static transom_status makeSequence(const transom_session *session, int32_t *out,
                                   Body body) {
  return withDecoder(session, [&](DecodeEngine &decoder) -> Result<void> {
    if (!out)
      return nullArgument("sequence");
    TRANSOM_ASSIGN(int32_t made, body(decoder));
    *out = made;
    return {};
  });
}

static Result<void> checkExists(const DecodeEngine &decoder, int32_t sequence) {
  if (decoder.exists(sequence))
    return {};
  return usageError("sequence " + std::to_string(sequence) + " does not exist");
}

void transom_decoder_info_init(transom_decoder_info *info, size_t struct_size) {
  initialize(transom_decoder_info(), info, struct_size);
}

transom_status transom_session_get_decoder(const transom_session *session,
                                           transom_decoder_info *info) {
  return withDecoder(session, [&](DecodeEngine &decoder) {
    transom_decoder_info filled = transom_decoder_info_default();
    filled.context = decoder.context().value_or(0);
    filled.vocabulary = decoder.vocabulary();
    filled.width = decoder.width();
    filled.max_sequences = decoder.maxSequences();
    filled.free_sequences = decoder.freeSequences();
    filled.positions = decoder.allPositions();
    filled.free_positions = decoder.freePositions();
    filled.max_source = decoder.longestSource();
    filled.free_source_positions = decoder.freeSourcePositions();
    filled.start_id = -1;
    if (decoder.hasSources()) {
      const GenerationConfig &config = session->session->generation();
      filled.start_id = config.getTargetStart().value_or(-1);
    }
    return writeInfo(filled, info);
  });
}

transom_status transom_sequence_create(transom_session *session,
                                       int32_t *sequence) {
  return makeSequence(session, sequence,
                      [](DecodeEngine &decoder) { return decoder.create(); });
}

transom_status transom_session_add_sources(transom_session *session,
                                           const transom_prompt *sources,
                                           size_t count, int32_t *sequences) {
  return withDecoder(session, [&](DecodeEngine &decoder) -> Result<void> {
    TRANSOM_TRY(checkArray("sources", sources, count));
    TRANSOM_TRY(checkArray("sequences", sequences, count));
    if (!decoder.hasSources())
      return usageError("the model has no encoder, so its sequences have no "
                        "sources");
    if (count > size_t(decoder.maxSequences()))
      return limitError(std::to_string(count) + " sources need as many " +
                        "sequences, more than the session's max_sequences " +
                        std::to_string(decoder.maxSequences()));
    TRANSOM_ASSIGN(const auto ids,
                   getSourceTokens(session->session->model(), sources, count));
    std::vector<SourceInput> inputs;
    for (const std::vector<int64_t> &source : ids)
      inputs.push_back({source.data(), nullptr, int64_t(source.size())});
    std::vector<int32_t> made(count);
    TRANSOM_TRY(decoder.addSources(inputs.data(), count, made.data()));
    std::copy(made.begin(), made.end(), sequences);
    return {};
  });
}

transom_status transom_sequence_free(transom_session *session,
                                     int32_t sequence) {
  return withDecoder(session, [&](DecodeEngine &decoder) -> Result<void> {
    TRANSOM_TRY(checkExists(decoder, sequence));
    decoder.free(sequence);
    return {};
  });
}

transom_status transom_sequence_copy(transom_session *session, int32_t sequence,
                                     int32_t *copy) {
  return makeSequence(session, copy, [&](DecodeEngine &decoder) {
    return decoder.copy(sequence);
  });
}

transom_status transom_sequence_length(const transom_session *session,
                                       int32_t sequence, int64_t *length) {
  return withDecoder(session, [&](DecodeEngine &decoder) -> Result<void> {
    if (!length)
      return nullArgument("length");
    TRANSOM_TRY(checkExists(decoder, sequence));
    *length = decoder.length(sequence);
    return {};
  });
}

transom_status transom_sequence_rewind(transom_session *session,
                                       int32_t sequence, int64_t length) {
  return withDecoder(session, [&](DecodeEngine &decoder) {
    return decoder.rewind(sequence, length);
  });
}

transom_status transom_sequence_save(const transom_session *session,
                                     int32_t sequence, const char *path) {
  return withDecoder(session, [&](DecodeEngine &decoder) -> Result<void> {
    if (!path)
      return nullArgument("path");
    return decoder.save(sequence, path);
  });
}

transom_status transom_sequence_load(transom_session *session, const char *path,
                                     int32_t *sequence) {
  return makeSequence(session, sequence,
                      [&](DecodeEngine &decoder) -> Result<int32_t> {
                        if (!path)
                          return nullArgument("path");
                        return decoder.load(path);
                      });
}

/// Returns a step's logits size in bytes; UINT64_MAX on overflow.
static uint64_t getLogitBytes(const transom_step_input *inputs, size_t count,
                              int64_t width) {
  uint64_t bytes = 0;
  for (size_t i = 0; i != count; ++i) {
    uint64_t more;
    if (inputs[i].num_logits < 0)
      continue; // rejected by the step
    if (__builtin_mul_overflow(uint64_t(inputs[i].num_logits),
                               uint64_t(width) * sizeof(float), &more) ||
        __builtin_add_overflow(bytes, more, &bytes))
      return UINT64_MAX;
  }
  return bytes;
}

transom_status transom_session_step(transom_session *session,
                                    const transom_step_input *inputs,
                                    size_t count, float *logits,
                                    size_t capacity) {
  return withDecoder(session, [&](DecodeEngine &decoder) -> Result<void> {
    TRANSOM_TRY(checkArray("inputs", inputs, count));
    if (count > size_t(decoder.maxSequences()))
      return limitError("a step has " + std::to_string(count) +
                        " inputs; each has a sequence of its own, of which "
                        "the session has " +
                        std::to_string(decoder.maxSequences()));
    uint64_t bytes = getLogitBytes(inputs, count, decoder.width());
    if (bytes && !logits)
      return nullArgument("logits");
    if (capacity < bytes)
      return limitError("the logits need " + std::to_string(bytes) +
                        " bytes, got a capacity of " +
                        std::to_string(capacity));
    return decoder.stepInto(inputs, count, logits);
  });
}
