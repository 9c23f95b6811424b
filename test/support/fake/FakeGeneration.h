// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test that generates with the hand-written decoder through the C API.
#pragma once
#include "test/support/fake/FakeDecoder.h"

namespace transom::test {

class FakeGeneration : public FakeDecoderFile {
protected:
  void SetUp() override { open(R"({"max_new_tokens":9,"bos_token_id":2})"); }
  void open(const std::string &settings, std::optional<int64_t> context = 600) {
    Manifest manifest = fakeDecoderManifest(context);
    manifest.decoder->generation = settings;
    openFile(manifest, 2000);
  }
  static transom_prompt makePrompt(const std::vector<int64_t> &ids) {
    return {ids.data(), ids.size(), {nullptr, 0}};
  }
  transom_status generate(const std::vector<transom_prompt> &prompts) {
    transom_generation_free(generation);
    return transom_session_generate(session, prompts.data(), prompts.size(),
                                    &options, &generation);
  }
  transom_continuation row(size_t index) {
    transom_continuation row = transom_continuation_default();
    EXPECT_EQ(transom_generation_get(generation, index, &row),
              TRANSOM_STATUS_OK)
        << transom_last_error();
    return row;
  }
  std::vector<int64_t> ids(size_t index) {
    transom_continuation one = row(index);
    return {one.ids, one.ids + one.num_ids};
  }
  int64_t freeSequences() {
    transom_decoder_info info = transom_decoder_info_default();
    EXPECT_EQ(transom_session_get_decoder(session, &info), TRANSOM_STATUS_OK);
    return info.free_sequences;
  }

  transom_generation *generation = nullptr;
  transom_generate_options options = transom_generate_options_default();
};

} // namespace transom::test
