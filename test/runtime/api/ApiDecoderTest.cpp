// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for sequences and steps, over the hand-written decoder in a file.
#include "test/support/fake/FakeDecoder.h"
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

class ApiDecoder : public FakeDecoderFile {
protected:
  void SetUp() override { openFile(fakeDecoderManifest(600), 700); }
  transom_status step(int32_t sequence, const std::vector<int64_t> &tokens,
                      int64_t numLogits) {
    logits.assign(size_t(numLogits) * FAKE_VOCABULARY, -1);
    transom_step_input rows = {sequence, tokens.data(), int64_t(tokens.size()),
                               numLogits};
    return transom_session_step(session, &rows, 1, logits.data(),
                                logits.size() * sizeof(float));
  }
  int64_t length(int32_t sequence) {
    int64_t length = -1;
    EXPECT_EQ(transom_sequence_length(session, sequence, &length),
              TRANSOM_STATUS_OK);
    return length;
  }

  std::vector<float> logits;
};

} // namespace

TEST_F(ApiDecoder, sequences_and_steps) {
  int32_t sequence = -1, copy = -1, loaded = -1;
  ASSERT_EQ(transom_sequence_create(session, &sequence), TRANSOM_STATUS_OK);
  // A step, a copy, and a rewind with another continuation.
  std::vector<int64_t> tokens = randomTokens(30, 1);
  ASSERT_EQ(step(sequence, tokens, 2), TRANSOM_STATUS_OK)
      << transom_last_error();
  expectRow(&logits[FAKE_VOCABULARY], tokens);
  EXPECT_EQ(length(sequence), 30);
  ASSERT_EQ(transom_sequence_copy(session, sequence, &copy), TRANSOM_STATUS_OK);
  EXPECT_EQ(length(copy), 30);
  ASSERT_EQ(transom_sequence_rewind(session, sequence, 12), TRANSOM_STATUS_OK);
  tokens.resize(12);
  tokens.push_back(7);
  ASSERT_EQ(step(sequence, {7}, 1), TRANSOM_STATUS_OK);
  expectRow(logits.data(), tokens);
  // A loaded sequence continues with the saved past.
  std::string path = folder.path("cache");
  ASSERT_EQ(transom_sequence_save(session, sequence, path.c_str()),
            TRANSOM_STATUS_OK);
  ASSERT_EQ(transom_sequence_load(session, path.c_str(), &loaded),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  tokens.push_back(5);
  ASSERT_EQ(step(loaded, {5}, 1), TRANSOM_STATUS_OK);
  expectRow(logits.data(), tokens);
  ASSERT_EQ(step(sequence, {1, 2}, 0), TRANSOM_STATUS_OK);
  // The session reports its capacity, and all of it is free at the end.
  transom_decoder_info info = transom_decoder_info_default();
  ASSERT_EQ(transom_session_get_decoder(session, &info), TRANSOM_STATUS_OK);
  EXPECT_EQ(info.context, 600);
  EXPECT_EQ(info.vocabulary, FAKE_VOCABULARY);
  EXPECT_EQ(info.width, FAKE_VOCABULARY);
  EXPECT_EQ(info.max_sequences, 3);
  EXPECT_EQ(info.free_sequences, 0);
  EXPECT_EQ(info.positions, (700 + 3 * 255) / 256 * 256);
  for (int32_t one : {sequence, copy, loaded})
    EXPECT_EQ(transom_sequence_free(session, one), TRANSOM_STATUS_OK);
  ASSERT_EQ(transom_session_get_decoder(session, &info), TRANSOM_STATUS_OK);
  EXPECT_EQ(info.free_positions, info.positions);
  EXPECT_EQ(info.free_sequences, 3);
}

TEST_F(ApiDecoder, wrong_calls) {
  int32_t sequence = -1;
  int64_t number = 0;
  std::vector<int64_t> tokens = {1, 2};
  EXPECT_EQ(step(0, tokens, 1), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_free(session, 0), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_copy(session, 0, &sequence), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_rewind(session, 0, 0), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_length(session, 0, &number), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_save(session, 0, "x"), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_create(session, nullptr), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_load(session, nullptr, &sequence),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_sequence_load(session, "/nowhere/x", &sequence),
            TRANSOM_STATUS_UNAVAILABLE);
  EXPECT_EQ(transom_sequence_create(nullptr, &sequence), TRANSOM_STATUS_USAGE);
  ASSERT_EQ(transom_sequence_create(session, &sequence), TRANSOM_STATUS_OK);
  transom_step_input rows = {sequence, tokens.data(), 2, 1};
  EXPECT_EQ(transom_session_step(session, &rows, 1, nullptr, 0),
            TRANSOM_STATUS_USAGE);
  float small[FAKE_VOCABULARY];
  EXPECT_EQ(transom_session_step(session, &rows, 1, small, sizeof small - 1),
            TRANSOM_STATUS_LIMIT);
  EXPECT_STREQ(transom_last_error(),
               "the logits need 64 bytes, got a capacity of 63");
  EXPECT_EQ(transom_session_step(session, nullptr, 1, small, sizeof small),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_step(session, &rows, 0, small, sizeof small),
            TRANSOM_STATUS_REJECTED);
  EXPECT_EQ(length(sequence), 0);
  EXPECT_EQ(transom_session_step(session, &rows, 1, small, sizeof small),
            TRANSOM_STATUS_OK);
}

TEST_F(ApiDecoder, sequences_of_sources) {
  openFile(sourceManifest(), 700);
  std::vector<int64_t> first = {60, 70, 80}, second = {99},
                       target = {fakeStartToken, 5, 1, 7};
  const std::vector<transom_prompt> sources = {
      {first.data(), first.size(), {nullptr, 0}},
      {second.data(), second.size(), {nullptr, 0}}};
  int32_t sequences[2] = {-1, -1};
  ASSERT_EQ(transom_session_add_sources(session, sources.data(), 2, sequences),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  transom_decoder_info info = transom_decoder_info_default();
  ASSERT_EQ(transom_session_get_decoder(session, &info), TRANSOM_STATUS_OK);
  EXPECT_EQ(info.free_sequences, 1);
  EXPECT_EQ(info.start_id, fakeStartToken);
  EXPECT_EQ(info.max_source, readOnlyPositions);
  const int64_t free = info.free_source_positions;

  // Token by token, each sequence has the entry's logits.
  std::vector<float> all(4 * FAKE_VOCABULARY);
  for (size_t i : {0, 1}) {
    std::vector<int64_t> &source = i == 0 ? first : second;
    const transom_tensor inputs[] = {
        makeTensor("input_ids", TRANSOM_DTYPE_I64, {1, int64_t(source.size())},
                   source),
        makeTensor("decoder_input_ids", TRANSOM_DTYPE_I64, {1, 4}, target)};
    transom_tensor output = makeTensor("logits", TRANSOM_DTYPE_F32, {}, all);
    ASSERT_EQ(transom_session_run(session, "logits", inputs, 2, &output, 1),
              TRANSOM_STATUS_OK)
        << transom_last_error();
    for (size_t t = 0; t != target.size(); ++t) {
      ASSERT_EQ(step(sequences[i], {target[t]}, 1), TRANSOM_STATUS_OK)
          << transom_last_error();
      EXPECT_EQ(std::memcmp(logits.data(), &all[t * FAKE_VOCABULARY],
                            FAKE_VOCABULARY * sizeof(float)),
                0)
          << i << " " << t;
      EXPECT_EQ(logits.back(),
                expectedSource(source, std::vector<int64_t>(source.size(), 1)));
    }
  }
  for (int32_t sequence : sequences)
    EXPECT_EQ(transom_sequence_free(session, sequence), TRANSOM_STATUS_OK);
  ASSERT_EQ(transom_session_get_decoder(session, &info), TRANSOM_STATUS_OK);
  EXPECT_EQ(info.free_source_positions, free + 2 * 256);
}

TEST_F(ApiDecoder, wrong_sources) {
  std::vector<int64_t> fine = {1}, outside = {100}, longer(601, 1);
  int32_t sequences[4] = {-1, -1, -1, -1};
  auto add = [&](std::vector<transom_prompt> sources) {
    const transom_status status = transom_session_add_sources(
        session, sources.data(), sources.size(), sequences);
    transom_decoder_info info = transom_decoder_info_default();
    EXPECT_EQ(transom_session_get_decoder(session, &info), TRANSOM_STATUS_OK);
    EXPECT_EQ(info.free_sequences, 3);
    return status;
  };
  const transom_prompt good = {fine.data(), 1, {nullptr, 0}};
  EXPECT_EQ(add({good}), TRANSOM_STATUS_USAGE);
  EXPECT_NE(std::strstr(transom_last_error(), "no encoder"), nullptr);
  transom_decoder_info info = transom_decoder_info_default();
  ASSERT_EQ(transom_session_get_decoder(session, &info), TRANSOM_STATUS_OK);
  EXPECT_EQ(info.start_id, -1);
  EXPECT_EQ(info.max_source, 0);
  openFile(sourceManifest(), 700);
  EXPECT_EQ(add({good, {}}), TRANSOM_STATUS_REJECTED);
  EXPECT_NE(std::strstr(transom_last_error(), "source 1 has no tokens"),
            nullptr);
  EXPECT_EQ(add({good, {outside.data(), 1, {nullptr, 0}}}),
            TRANSOM_STATUS_REJECTED);
  EXPECT_EQ(add({good, {longer.data(), 601, {nullptr, 0}}}),
            TRANSOM_STATUS_LIMIT);
  EXPECT_EQ(add({good, good, good, good}), TRANSOM_STATUS_LIMIT);
  EXPECT_EQ(add({{nullptr, 0, {"x", 1}}}), TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(add({{nullptr, 3, {nullptr, 0}}}), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_add_sources(session, &good, 1, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_add_sources(session, nullptr, 1, sequences),
            TRANSOM_STATUS_USAGE);
}

TEST_F(ApiDecoder, entries_are_told_like_any_other) {
  transom_model_info info = transom_model_info_default();
  ASSERT_EQ(transom_model_get_info(model, &info), TRANSOM_STATUS_OK);
  EXPECT_EQ(info.num_entries, 4u);
  transom_entry_info entry = transom_entry_info_default();
  ASSERT_EQ(transom_model_get_entry(model, 1, &entry), TRANSOM_STATUS_OK);
  EXPECT_STREQ(entry.name, "logits");
  EXPECT_EQ(entry.num_inputs, 2u);
  EXPECT_EQ(entry.num_dispatches, 0u);
  transom_argument_info argument = transom_argument_info_default();
  ASSERT_EQ(transom_model_get_argument(model, "score", 2, &argument),
            TRANSOM_STATUS_OK);
  EXPECT_STREQ(argument.name, "logprobs");
  EXPECT_STREQ(argument.dims[1], "seq-1");
  transom_tensor none{};
  EXPECT_EQ(transom_session_run(session, "step", &none, 0, &none, 0),
            TRANSOM_STATUS_USAGE);
  EXPECT_NE(std::strstr(transom_last_error(), "transom_session_step()"),
            nullptr);
}

TEST_F(ApiDecoder, memory_is_told_exactly) {
  transom_session_options options = transom_session_options_default();
  options.threads = 1;
  uint64_t last = 0;
  // The reported size is exactly the lowest memory limit.
  for (uint64_t tokens : {256, 5000, 50000}) {
    options.max_sequences = uint32_t(tokens / 200);
    options.max_kv_tokens = tokens;
    uint64_t bytes = 0;
    ASSERT_EQ(transom_model_memory(model, &options, &bytes), TRANSOM_STATUS_OK);
    EXPECT_GT(bytes, last);
    last = bytes;
    options.mem_limit = bytes;
    transom_session *made = nullptr;
    ASSERT_EQ(transom_session_create(model, &options, &made), TRANSOM_STATUS_OK)
        << transom_last_error();
    transom_session_free(made);
    options.mem_limit = bytes - 1;
    EXPECT_EQ(transom_session_create(model, &options, &made),
              TRANSOM_STATUS_LIMIT);
    options.mem_limit = 0;
  }
  // Sizes that no memory has.
  for (uint64_t tokens : {uint64_t(1) << 41, UINT64_MAX}) {
    options.max_kv_tokens = tokens;
    uint64_t bytes = 0;
    EXPECT_EQ(transom_model_memory(model, &options, &bytes),
              TRANSOM_STATUS_USAGE);
  }
}

TEST_F(ApiDecoder, models_without_a_step_have_no_sequences) {
  writeFile(folder.path("encoder.so"), fakeFile(fakeManifest()));
  transom_model *encoder = nullptr;
  transom_session *other = nullptr;
  ASSERT_EQ(
      transom_model_load(folder.path("encoder.so").c_str(), nullptr, &encoder),
      TRANSOM_STATUS_OK);
  ASSERT_EQ(transom_session_create(encoder, nullptr, &other),
            TRANSOM_STATUS_OK);
  int32_t sequence;
  EXPECT_EQ(transom_sequence_create(other, &sequence), TRANSOM_STATUS_USAGE);
  EXPECT_NE(std::strstr(transom_last_error(), "no decoder"), nullptr);
  transom_session_free(other);
  transom_model_free(encoder);
}
