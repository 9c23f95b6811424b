// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Post-processors: tokens around a text and a pair.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerTemplate, UnsupportedTypesAreNamed) {
  expectError(R"("type": "TemplateProcessing")", R"("type": "Custom")",
              Status::Unsupported,
              "8:19: '/post_processor': unsupported post-processor 'Custom'; "
              "supported: BertProcessing, ByteLevel, RobertaProcessing, "
              "Sequence, TemplateProcessing");
}

TEST(TokenizerTemplate, TemplateRules) {
  expectError(R"("special_tokens": {"[CLS]")", R"("special_tokens": {"[SEP]")",
              Status::Rejected,
              "9:30: '/post_processor/single/0/SpecialToken': special token "
              "'[CLS]' is not among 'special_tokens'");
  expectError(R"({"Sequence": {"id": "A", "type_id": 0}}],
 "pair")",
              R"({"Sequence": {"id": "B", "type_id": 0}}],
 "pair")",
              Status::Rejected,
              "9:75: '/post_processor/single/1/Sequence': sequence 'B' in the "
              "template of a single text");
  EXPECT_EQ(getError(R"({"Sequence": {"id": "B", "type_id": 1}})",
                     R"({"Sequence": {"id": "C", "type_id": 1}})")
                .status,
            Status::Rejected);
  EXPECT_EQ(getError(R"({"Sequence": {"id": "B", "type_id": 1}})", "7").status,
            Status::Rejected);
  EXPECT_EQ(getError(R"("ids": [1])", R"("ids": [-1])").status,
            Status::Rejected);
}

} // namespace
} // namespace transom::test
