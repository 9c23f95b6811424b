// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-pair model files: merges and options.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerBpeImport, AMergeThatComesTwiceHasItsLastRank) {
  std::string json = replaceOnce(smallBpeJson(), R"(["a", "bc"], )",
                                 R"(["a", "bc"], "b c", )");
  EXPECT_EQ(load(json)->encode("abc")->ids, (std::vector<int64_t>{7, 2}));
}

TEST(TokenizerBpeImport, MergesOfMissingTokens) {
  expectBpeError(R"("b c")", R"("b d")", Status::Rejected,
                 "14:13: '/model/merges/0': token 'd' of a merge is not in the "
                 "vocabulary");
  expectBpeError(R"(["a", "b"])", R"(["x", "b"])", Status::Rejected,
                 "14:20: '/model/merges/1': token 'x' of a merge is not in the "
                 "vocabulary");
  expectBpeError(
      R"("b c")", R"("c b")", Status::Rejected,
      "14:13: '/model/merges/0': token 'cb' of a merge is not in the "
      "vocabulary");
}

TEST(TokenizerBpeImport, MalformedMerges) {
  expectBpeError(
      R"("b c")", R"("bc")", Status::Rejected,
      "14:13: '/model/merges/0': expected a merge of two tokens with a "
      "space between them, got 'bc'");
  expectBpeError(
      R"("b c")", R"("b c ")", Status::Rejected,
      "14:13: '/model/merges/0': expected a merge of two tokens with a "
      "space between them, got 'b c '");
  expectBpeError(
      R"(["a", "b"])", R"(["a"])", Status::Rejected,
      "14:20: '/model/merges/1': expected a merge of two tokens, got "
      "1");
  expectBpeError(
      R"(["a", "b"])", R"(["a", 7])", Status::Rejected,
      "14:26: '/model/merges/1/1': expected a string, got an integer");
  expectBpeError(R"("b c")", "7", Status::Rejected,
                 "14:13: '/model/merges/0': expected a string, got an integer");
  expectBpeError("\"merges\": [", "\"merges\": {}, \"x\": [", Status::Rejected,
                 "14:12: '/model/merges': expected an array, got an object");
  expectBpeError("\"merges\"", "\"x\"", Status::Rejected,
                 "11:10: '/model': missing key 'merges'");
}

TEST(TokenizerBpeImport, Options) {
  expectBpeError(
      R"("unk_token": null)", R"("unk_token": "<unk>")", Status::Rejected,
      "11:56: '/model/unk_token': unknown token '<unk>' is not in the "
      "vocabulary");
  expectBpeError(R"("dropout": null)", R"("dropout": 0.1)", Status::Unsupported,
                 "11:37: '/model/dropout': unsupported dropout of merges; "
                 "supported: null, 0");
  expectBpeError(
      R"("fuse_unk": false)", R"("fuse_unk": 1)", Status::Rejected,
      "12:42: '/model/fuse_unk': expected a boolean, got an integer");
  expectBpeError(R"("a": 0)", R"("a": 1)", Status::Rejected,
                 "13:25: '/model/vocab/b': id 1 is that of token 'a' too");
  expectBpeError(R"("a": 0)", R"("a": -1)", Status::Rejected,
                 "13:17: '/model/vocab/a': expected an integer from 0 to "
                 "2147483647, got -1");
}

TEST(TokenizerBpeImport, ChangedCharactersNeverCrash) {
  expectChangesNeverCrash(smallBpeJson(), "0\"}x (",
                          "ab abc\n e\u0301x<|end|>");
}

} // namespace
} // namespace transom::test
