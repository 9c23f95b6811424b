// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code in the page: lines with relative numbers, and omitted functions.
#include "tools/commands/explain/PageCode.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

namespace {

TEST(PageCode, numbersOfValuesAreRelative) {
  int64_t largest = 9;
  EXPECT_EQ(encodeValues("%10 = llvm.fadd %9, %3 : f32", largest),
            "%+1 = llvm.fadd %~0, %~6 : f32");
  EXPECT_EQ(largest, 10);
  EXPECT_EQ(encodeValues("^bb1(%11: i64, %12: i64):  // %arg0", largest),
            "^bb1(%+1: i64, %+2: i64):  // %arg0");
  EXPECT_EQ(largest, 12);
  // A quoted string may contain anything.
  EXPECT_EQ(encodeValues("%13 = llvm.asm \"%~1\" %12", largest),
            "%13 = llvm.asm \"%~1\" %12");
  EXPECT_EQ(largest, 13);
}

std::string write(const std::string &text, size_t most) {
  std::string code;
  JsonWriter input(code);
  input.beginArray();
  input.beginObject();
  input.member("isa", "avx2");
  input.member("text", text);
  input.endObject();
  input.endArray();
  Result<JsonDocument> document = parseJson(code, "code");
  PageCode page(most);
  Result<void> added = page.add(document->root());
  EXPECT_TRUE(added);
  std::string written;
  JsonWriter json(written);
  json.beginObject();
  page.write(json);
  json.endObject();
  return written;
}

const char text[] = "module {\n"
                    "  llvm.func @a() {\n"
                    "    %0 = one\n"
                    "    %1 = one\n"
                    "    %2 = two %0\n"
                    "  }\n"
                    "  llvm.func @b() {\n"
                    "    %0 = one\n"
                    "  ^bb1:  // label\n"
                    "    %1 = two %0\n"
                    "    %2 = one\n"
                    "  }\n"
                    "}\n";

TEST(PageCode, equalLinesAreStoredOnce) {
  EXPECT_EQ(
      write(text, 1000),
      R"({"code":[[{"isa":"avx2","items":[[0,2,1,3],)"
      R"([4,1,1,1,5,2,1,1,3,1]],"left_out":[]}]],"code_lines":[)"
      R"("  llvm.func @a() {","    %+1 = one","    %+1 = two %~1",)"
      R"("  }","  llvm.func @b() {","  ^bb1:  // label","    %+1 = two %~0"]})");
}

TEST(PageCode, whatDoesNotFitIsLeftOut) {
  const std::string written = write(text, 150);
  EXPECT_NE(written.find(R"("left_out":["  llvm.func @b() {"])"),
            std::string::npos)
      << written;
  EXPECT_EQ(written.find("@b", written.find("code_lines")), std::string::npos);
}

} // namespace
