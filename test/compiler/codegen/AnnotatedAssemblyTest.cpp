// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comments in assembly.
#include "test/compiler/codegen/LinesModule.h"

using namespace transom;
using namespace transom::test;

/// Returns the lines in the optimized assembly except directives.
static std::vector<std::string>
makeAssembly(const char *isa, const std::vector<std::string> &notes) {
  LinesModule module;
  Result<IsaModule> code = module.translate(isa);
  EXPECT_TRUE(code) << code.error().message;
  if (!code || !optimize(*code))
    return {};
  code->lineNotes = notes;
  Result<std::string> text = emitCode(*code, CodeKind::Assembly);
  EXPECT_TRUE(text) << text.error().message;
  std::vector<std::string> lines;
  for (llvm::StringRef line : llvm::split(*text, '\n'))
    if (!line.trim().empty() && !line.starts_with("\t."))
      lines.push_back(line.trim().str());
  return lines;
}

/// The comments among lines.
static std::vector<std::string>
getComments(const std::vector<std::string> &lines, const char *mark) {
  std::vector<std::string> comments;
  for (const std::string &line : lines)
    if (llvm::StringRef(line).starts_with(mark))
      comments.push_back(line);
  return comments;
}

static const std::vector<std::string> notes = {
    "", "", "kern.phase f.0.copy", "kern.gemm inner", "kern.gemm second"};

TEST(AnnotatedAssembly, FunctionsAndBlocksSayWhatTheyCompute) {
  const std::vector<std::string> lines = makeAssembly("avx2", notes);
  EXPECT_EQ(getComments(lines, "#"),
            (std::vector<std::string>{
                "# micro-kernel of 6 rows and 16 columns, which phases share",
                "# kern.phase f.0.copy", "# kern.gemm inner",
                "# kern.gemm second", "# kern.phase f.0.copy"}));
  // The comment comes after the function name.
  auto label =
      llvm::find(lines, "\"" + std::string(LinesModule::phase) + "\":");
  ASSERT_NE(label, lines.end());
  EXPECT_EQ(*std::next(label), "# kern.phase f.0.copy");
}

TEST(AnnotatedAssembly, CommentsAreThoseOfTheMachine) {
  EXPECT_EQ(getComments(makeAssembly("neon", notes), "//").size(), 5u);
}

TEST(AnnotatedAssembly, HasNoDebugInformation) {
  LinesModule module;
  Result<IsaModule> code = module.translate("avx2");
  ASSERT_TRUE(code && optimize(*code));
  code->lineNotes = notes;
  Result<std::string> text = emitCode(*code, CodeKind::Assembly);
  ASSERT_TRUE(text);
  for (const char *directive : {".loc", ".debug", ".file\t1"})
    EXPECT_EQ(text->find(directive), std::string::npos) << directive;
}
