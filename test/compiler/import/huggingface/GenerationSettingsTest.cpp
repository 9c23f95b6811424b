// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files with generation settings: merging, checks, notes, and settings stored
// for later use.
#include "compiler/import/huggingface/GenerationSettings.h"
#include "runtime/generate/GenerationOptions.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace transom;

namespace {
class GenerationSettingsTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "generation-config-XXXXXX";
    std::string pattern =
        (std::filesystem::temp_directory_path() / name).string();
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const char *file, const std::string &text) {
    std::ofstream(folder + "/" + file) << text;
  }
  std::string json() {
    Result<GenerationSettings> read = readGenerationSettings(folder);
    EXPECT_TRUE(bool(read)) << read.error().message;
    return read ? read->json : "";
  }
  std::string error(const std::string &text) {
    write("generation_config.json", text);
    Result<GenerationSettings> read = readGenerationSettings(folder);
    EXPECT_FALSE(bool(read)) << text;
    EXPECT_EQ(read.error().status, Status::Rejected);
    return read ? "" : read.error().message.substr(folder.size() + 1);
  }

  std::string folder;
};
} // namespace

TEST_F(GenerationSettingsTest, no_files) { EXPECT_EQ(json(), "{}"); }

TEST_F(GenerationSettingsTest, its_own_file_wins) {
  write("config.json", R"({"model_type": "x", "eos_token_id": 7, "top_k": 5,
                           "pad_token_id": null, "bos_token_id": 1})");
  write("generation_config.json",
        R"({"eos_token_id": [2, 3], "pad_token_id": null, "do_sample": true,
            "temperature": 1, "transformers_version": "4.40",
            "bos_token_id": 4, "own_key": null})");
  EXPECT_EQ(json(), R"({"do_sample":true,"temperature":1.0,)"
                    R"("eos_token_id":[2,3],"bos_token_id":4})");
}

TEST_F(GenerationSettingsTest, config_json_counts_alone_only) {
  // All kinds of settings; flag values are not neutral.
  const std::string settings =
      R"("num_beams": 4, "no_repeat_ngram_size": 3, "repetition_penalty": 1.5,
         "forced_bos_token_id": 5, "forced_eos_token_id": 2, "min_length": 2,
         "max_length": 9, "bad_words_ids": [[3]], "suppress_tokens": [8],
         "do_sample": true, "temperature": 0.5, "pad_token_id": 7,
         "penalty_alpha": 0.6, "decoder_start_token_id": 6,
         "bos_token_id": 5)";
  write("config.json", "{" + settings + "}");
  EXPECT_NE(json().find(R"("num_beams":4)"), std::string::npos);
  EXPECT_NE(json().find("penalty_alpha"), std::string::npos);
  write("generation_config.json", R"({"decoder_start_token_id": 1})");
  EXPECT_EQ(json(), R"({"decoder_start_token_id":1})");
  Result<GenerationSettings> read =
      readGenerationSettings(folder, false, {}, {9, true});
  ASSERT_TRUE(bool(read)) << read.error().message;
  EXPECT_TRUE(read->notes.empty());
  // The begin token in the file has precedence over the start token in
  // config.json.
  write("generation_config.json", R"({"bos_token_id": 3})");
  EXPECT_EQ(json(), R"({"bos_token_id":3})");
}

TEST_F(GenerationSettingsTest, tokens_of_config_json_that_the_file_lacks) {
  write("config.json", R"({"eos_token_id": [2, 4], "bos_token_id": 5,
                           "decoder_start_token_id": 6, "pad_token_id": 7})");
  write("generation_config.json", R"({"max_length": 9})");
  auto read = [&](bool hasSource) {
    Result<GenerationSettings> settings =
        readGenerationSettings(folder, false, {}, {9, hasSource});
    EXPECT_TRUE(bool(settings)) << settings.error().message;
    return settings ? *settings : GenerationSettings();
  };
  const std::string json = R"({"max_length":9,"decoder_start_token_id":6,)"
                           R"("eos_token_id":[2,4],"bos_token_id":5})";
  const std::string end = "config.json: 'eos_token_id' ends texts, since "
                          "generation_config.json has none";
  EXPECT_EQ(read(true).json, json);
  EXPECT_EQ(read(true).notes,
            (std::vector<std::string>{
                end, "config.json: 'decoder_start_token_id' begins targets, "
                     "since generation_config.json has none"}));
  EXPECT_EQ(read(false).json, json);
  EXPECT_EQ(read(false).notes, std::vector<std::string>{end});
  // A null means that there is no value.
  write("generation_config.json",
        R"({"eos_token_id": null, "decoder_start_token_id": null})");
  EXPECT_EQ(read(true).json, "{}");
  EXPECT_TRUE(read(true).notes.empty());
}

TEST_F(GenerationSettingsTest, ids_as_lists_of_one) {
  write("generation_config.json",
        R"({"decoder_start_token_id": [0], "bos_token_id": [1],
            "pad_token_id": [2], "forced_bos_token_id": [3]})");
  EXPECT_EQ(json(), R"({"forced_bos_token_id":3,"decoder_start_token_id":0,)"
                    R"("bos_token_id":1,"pad_token_id":2})");
  EXPECT_EQ(error(R"({"decoder_start_token_id": [0, 1]})"),
            "generation_config.json:1:28: '/decoder_start_token_id': expected "
            "an integer or a list of one, got 2 elements");
  EXPECT_NE(error(R"({"bos_token_id": []})").find("got 0 elements"),
            std::string::npos);
  EXPECT_NE(error(R"({"num_beams": [2]})").find("expected an integer"),
            std::string::npos);
}

TEST_F(GenerationSettingsTest, numbers_that_only_python_reads) {
  write("generation_config.json",
        R"({"seed": 123456789012345678901234, "top_q": NaN, "top_k": 4})");
  EXPECT_EQ(json(), R"({"top_k":4})");
  EXPECT_NE(error(R"({"temperature": Infinity})").find("expected a number in"),
            std::string::npos);
  EXPECT_NE(error(R"({"top_p": NaN})").find("expected a number in"),
            std::string::npos);
}

TEST_F(GenerationSettingsTest, unknown_keys_are_noted) {
  write("generation_config.json", R"({"top_q": 1, "use_cache": true})");
  Result<GenerationSettings> read = readGenerationSettings(folder);
  ASSERT_TRUE(bool(read));
  EXPECT_EQ(read->notes,
            std::vector<std::string>{"generation_config.json: key 'top_q' is "
                                     "not known and has no effect"});
  EXPECT_EQ(read->files, std::vector<std::string>{"generation_config.json"});
}

TEST_F(GenerationSettingsTest, unsupportedOptionsAreKept) {
  write("generation_config.json",
        R"({"num_beams": 4, "penalty_alpha": 0.6, "num_beam_groups": 1,
            "typical_p": 0.5, "eta_cutoff": 0.0, "guidance_scale": 1.0,
            "constraints": [[3]], "dola_layers": ""})");
  EXPECT_EQ(json(),
            R"({"num_beams":4,"unsupported":["'penalty_alpha' 0.6",)"
            R"("'constraints'"],"unsupported_sampling":["'typical_p' 0.5"]})");
}

TEST_F(GenerationSettingsTest, an_option_is_not_listed_as_unsupported) {
  visitGenerationOptions(
      [&](const GenerationOption &option, auto member, auto) {
        EXPECT_TRUE(isGenerationKey(option.key)) << option.key;
        using Type = std::decay_t<decltype(GenerationConfig().*member)>;
        if constexpr (std::is_same_v<Type, double>) {
          const std::string key = option.key;
          write("generation_config.json", "{\"" + key + "\": 0.25}");
          EXPECT_EQ(json(), "{\"" + key + "\":0.25}");
        }
      });
  EXPECT_TRUE(isGenerationKey("typical_p"));
  EXPECT_FALSE(isGenerationKey("hidden_size"));
}

TEST_F(GenerationSettingsTest, options_of_encoder_decoders) {
  write("generation_config.json",
        R"({"early_stopping": "never", "length_penalty": 2,
            "bad_words_ids": [[3], [4, 5]], "forced_bos_token_id": 250,
            "forced_eos_token_id": 2, "renormalize_logits": true,
            "decoder_start_token_id": 7, "encoder_no_repeat_ngram_size": 3})");
  EXPECT_EQ(json(),
            R"({"length_penalty":2.0,"early_stopping":"never",)"
            R"("renormalize_logits":true,"encoder_no_repeat_ngram_size":3,)"
            R"("bad_words_ids":[[3],[4,5]],"forced_bos_token_id":250,)"
            R"("forced_eos_token_id":[2],"decoder_start_token_id":7})");
  Result<GenerationConfig> config = GenerationConfig::parse(json());
  ASSERT_TRUE(bool(config)) << config.error().message;
  EXPECT_EQ(config->earlyStopping, EarlyStopping::Never);
  EXPECT_EQ(config->badWords, (std::vector<std::vector<int64_t>>{{3}, {4, 5}}));
  EXPECT_TRUE(config->renormalizeLogits);
  write("generation_config.json", R"({"early_stopping": true})");
  config = GenerationConfig::parse(json());
  EXPECT_EQ(config->earlyStopping, EarlyStopping::True);
}

TEST_F(GenerationSettingsTest, defaults_of_the_family) {
  const std::vector<GenerationDefault> defaults = {{"forced_eos_token_id", 0},
                                                   {"pad_token_id", 58100}};
  auto read = [&](bool ignoreFile = false) {
    Result<GenerationSettings> settings =
        readGenerationSettings(folder, ignoreFile, defaults);
    EXPECT_TRUE(bool(settings)) << settings.error().message;
    return settings ? settings->json : "";
  };
  EXPECT_EQ(read(), R"({"forced_eos_token_id":[0],"pad_token_id":58100})");
  // A null means that there is no value.
  write("config.json", R"({"forced_eos_token_id": null, "pad_token_id": 3})");
  EXPECT_EQ(read(), R"({"pad_token_id":3})");
  // The class in config.json has no effect together with
  // generation_config.json.
  write("config.json", "{}");
  write("generation_config.json", R"({"top_k": 4})");
  EXPECT_EQ(read(), R"({"top_k":4})");
  EXPECT_EQ(read(/*ignoreFile=*/true),
            R"({"forced_eos_token_id":[0],"pad_token_id":58100})");
}

TEST_F(GenerationSettingsTest, ids_that_generation_needs) {
  // Rejected settings for a model with 9 ids: an encoder-decoder by default.
  auto refusal = [&](const std::string &text, bool hasSource = true) {
    write("generation_config.json", text);
    Result<GenerationSettings> read =
        readGenerationSettings(folder, false, {}, {9, hasSource});
    EXPECT_TRUE(read || read.error().status == Status::Rejected);
    return read ? "" : read.error().message.substr(folder.size() + 1);
  };
  const std::string file = "generation_config.json:1:",
                    nine = "id 9 is not in the vocabulary of 9 tokens";
  EXPECT_EQ(refusal(R"({"forced_bos_token_id": 9})"),
            file + "25: '/forced_bos_token_id': " + nine);
  EXPECT_EQ(refusal(R"({"forced_eos_token_id": [8, 9]})"),
            file + "29: '/forced_eos_token_id/1': " + nine);
  EXPECT_EQ(refusal(R"({"bad_words_ids": [[3], [8, 9]]})"),
            file + "29: '/bad_words_ids/1/1': " + nine);
  EXPECT_EQ(refusal(R"({"decoder_start_token_id": 9})"),
            file + "28: '/decoder_start_token_id': " + nine);
  EXPECT_EQ(refusal(R"({"bos_token_id": 9})"),
            file + "18: '/bos_token_id': " + nine);
  for (const char *key : {"forced_bos_token_id", "forced_eos_token_id",
                          "decoder_start_token_id", "bos_token_id"})
    EXPECT_NE(refusal("{\"" + std::string(key) + "\": -1}").find("id -1 is"),
              std::string::npos)
        << key;
  // The last id, and an id that the model does not start with.
  EXPECT_EQ(refusal(R"({"forced_bos_token_id": 8, "forced_eos_token_id": 8,
                        "bad_words_ids": [[8]], "bos_token_id": 50256,
                        "decoder_start_token_id": 8})"),
            "");
  EXPECT_EQ(refusal(R"({"decoder_start_token_id": 9, "bos_token_id": 9})",
                    /*hasSource=*/false),
            "");
}

TEST_F(GenerationSettingsTest, ids_that_are_never_met) {
  write("config.json", R"({"forced_bos_token_id": 9, "pad_token_id": 9})");
  write("generation_config.json",
        R"({"forced_bos_token_id": null, "eos_token_id": [2, 9, -1],
            "suppress_tokens": [-1, 9], "begin_suppress_tokens": [9],
            "bad_words_ids": [[9]], "bos_token_id": -1,
            "decoder_start_token_id": 2})");
  Result<GenerationSettings> read =
      readGenerationSettings(folder, false, {}, {9, true});
  ASSERT_TRUE(bool(read)) << read.error().message;
  EXPECT_EQ(read->notes,
            std::vector<std::string>{"'eos_token_id': id 9 is not in the "
                                     "vocabulary of 9 tokens, so it ends no "
                                     "text"});
  write("generation_config.json", R"({"eos_token_id": -1, "bos_token_id": 1,
                                      "forced_bos_token_id": 1})");
  read = readGenerationSettings(folder, false, {}, {9, true});
  ASSERT_TRUE(bool(read)) << read.error().message;
  EXPECT_TRUE(read->notes.empty());
}

TEST_F(GenerationSettingsTest, unsupported_keys_are_noted) {
  write("generation_config.json", R"({"penalty_alpha": 0.6, "top_k": 4})");
  write("config.json", R"({"typical_p": 0.5, "penalty_alpha": 0.7})");
  Result<GenerationSettings> read = readGenerationSettings(folder);
  ASSERT_TRUE(bool(read));
  EXPECT_EQ(read->notes,
            (std::vector<std::string>{
                "generation_config.json: 'penalty_alpha' 0.6 is not supported, "
                "and generation fails while it is set; "
                "'--ignore-generation-config' ignores the file"}));
  read = readGenerationSettings(folder, /*ignoreFile=*/true);
  ASSERT_TRUE(bool(read));
  EXPECT_EQ(read->notes,
            (std::vector<std::string>{
                "config.json: 'penalty_alpha' 0.7 is not supported, and "
                "generation fails while it is set",
                "config.json: 'typical_p' 0.5 is not supported, and sampling "
                "fails while it is set"}));
}

TEST_F(GenerationSettingsTest, the_file_can_be_ignored) {
  write("generation_config.json", R"({"penalty_alpha": 0.6, "top_k": 4})");
  write("config.json", R"({"top_k": 7})");
  Result<GenerationSettings> read =
      readGenerationSettings(folder, /*ignoreFile=*/true);
  ASSERT_TRUE(bool(read));
  EXPECT_EQ(read->json, R"({"top_k":7})");
  EXPECT_TRUE(read->files.empty());
  EXPECT_TRUE(read->notes.empty());
}

TEST_F(GenerationSettingsTest, wrong_values) {
  // Wrong values and types, by key.
  EXPECT_EQ(error(R"({"top_p": 1.5})"),
            "generation_config.json:1:11: '/top_p': expected a number in "
            "[0, 1], got 1.5");
  EXPECT_NE(error(R"({"temperature": "hot"})").find("expected a number"),
            std::string::npos);
  EXPECT_NE(error(R"({"eos_token_id": "</s>"})")
                .find("expected an integer or a list of integers"),
            std::string::npos);
  EXPECT_NE(error(R"({"eos_token_id": [1, 2.5]})").find("/eos_token_id/1"),
            std::string::npos);
  EXPECT_NE(error(R"({"num_beams": 0})").find("/num_beams"), std::string::npos);
  EXPECT_NE(error(R"({"max_new_tokens": -1})").find("/max_new_tokens"),
            std::string::npos);
  EXPECT_NE(error(R"({"do_sample": 1})").find("/do_sample"), std::string::npos);
  EXPECT_NE(error(R"({"stop_strings": [""]})").find("stop string is empty"),
            std::string::npos);
  EXPECT_NE(error(R"({"early_stopping": "always"})")
                .find("expected true, false or \"never\""),
            std::string::npos);
  EXPECT_NE(error(R"({"bad_words_ids": [[]]})").find("at least one id"),
            std::string::npos);
  EXPECT_NE(error(R"({"bad_words_ids": [3]})").find("/bad_words_ids/0"),
            std::string::npos);
  EXPECT_NE(error(R"({"bad_words_ids": [[-3]]})").find("/bad_words_ids/0/0"),
            std::string::npos);
  // Not an object, a duplicate key, an overflow, and truncated JSON.
  error("[]");
  error(R"({"top_k": 1, "top_k": 2})");
  error(R"({"top_k": 99999999999999999999})");
  error("{");
}
