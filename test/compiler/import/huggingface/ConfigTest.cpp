// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invalid JSON in config.json, keys out of range, and unused keys.
#include "test/compiler/import/TinyBert.h"

using namespace transom;
using namespace transom::testing;

TEST(Config, malformed) {
  expectTinyBertError("{\"model_type\": }", Status::Rejected, {":1:16"});
  expectTinyBertError("", Status::Rejected, {});
  expectTinyBertError("[1]", Status::Rejected, {"expected an object"});
}

TEST(Config, too_deep) {
  expectTinyBertError("{\"a\": " + std::string(100, '[') +
                          std::string(100, ']') + "}",
                      Status::Rejected, {"64"});
}

TEST(Config, duplicate_key) {
  expectTinyBertError(tinyBertConfig("\"hidden_size\": 8"), Status::Rejected,
                      {"hidden_size"});
}

TEST(Config, numbers_out_of_range) {
  for (const char *bad :
       {"0", "-1", "1e3", "\"8\"", "4294967296", "99999999999999999999"})
    expectTinyBertError(
        tinyBertConfig("", replaced(tinyBertSizes, "\"hidden_size\": 8",
                                    "\"hidden_size\": " + std::string(bad))),
        Status::Rejected, {"'/hidden_size'"});
  expectTinyBertError(tinyBertConfig("", replaced(tinyBertSizes, "layers\": 1",
                                                  "layers\": 4097")),
                      Status::Rejected, {"'/num_hidden_layers'", "4096"});
  expectTinyBertError(tinyBertConfig("\"layer_norm_eps\": -1"),
                      Status::Rejected, {"'/layer_norm_eps'"});
}

TEST(Config, unknown_keys_and_unused_tensors_are_listed) {
  ModelFolder folder;
  Shapes shapes = tinyBert();
  shapes["embeddings.position_ids"] = {1, 6};
  folder.writeTensors(shapes);
  folder.write("config.json",
               tinyBertConfig(R"("wibble": 1, "torch_dtype": "float16", "_x": 2,
                        "wobble": null, "sentence_transformers": {},
                        "seed": 123456789012345678901, "most": Infinity)"));
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(result.info.unusedTensors,
            std::vector<std::string>{"embeddings.position_ids"});
  ASSERT_EQ(result.info.notes.size(), 3u);
  EXPECT_NE(result.info.notes[0].find("'wibble'"), std::string::npos);
}
