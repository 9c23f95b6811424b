// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verdicts and errors are assigned to the passes and operations with their
// names, and to no others.
#include "tools/commands/explain/Verification.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

namespace {

/// An explanation with three passes, the lowering, and one phase.
Explanation makeExplanation() {
  Explanation explanation;
  explanation.model.name = "m";
  for (const auto &[pass, changed] :
       {std::pair("cse", false), std::pair("fuse", true),
        std::pair("cse", true)}) {
    ExplainedPass &explained = explanation.passes.emplace_back();
    explained.stage = "kern";
    explained.pass = pass;
    explained.changed = changed;
  }
  explanation.passes.emplace_back().isa = "avx2";
  ExplainedEntry &entry = explanation.entries.emplace_back();
  entry.name = "encode";
  ExplainedPhase &phase = entry.phases.emplace_back();
  phase.name = "p";
  for (const char *name : {"kern.norm", "kern.gemm"}) {
    phase.operations.emplace_back().name = name;
    phase.operations.back().place.location = "mlp";
  }
  explanation.verification.emplace();
  return explanation;
}

/// The certificate for the same compile, with empty extension points.
Certificate makeCertificate() {
  Certificate certificate;
  certificate.passes = {{"kern", "cse", false},
                        {"kern", "extension-a", false},
                        {"kern", "fuse", true},
                        {"kern", "cse", true},
                        {"kern", "extension-b", false}};
  return certificate;
}

std::vector<std::string> getVerdicts(const Explanation &explanation) {
  std::vector<std::string> verdicts;
  for (const ExplainedPass &pass : explanation.passes)
    verdicts.push_back(pass.verdict);
  return verdicts;
}

using Verdicts = std::vector<std::string>;

CodeVerification makeCode(const std::string &operation, int64_t index) {
  CodeVerification code;
  PhaseAccuracy &phase = code.accuracies.emplace_back();
  phase.isa = "avx2";
  phase.entry = "encode";
  phase.phase = "p";
  OperationAccuracy &one = phase.operations.emplace_back();
  one.index = index;
  one.operation = operation;
  one.location = "mlp";
  one.absolute = 0.5;
  one.relative = 0.25;
  return code;
}

TEST(Verification, EachPassHasItsVerdict) {
  Explanation explanation = makeExplanation();
  ASSERT_TRUE(setVerdicts(makeCertificate(), explanation));
  EXPECT_EQ(getVerdicts(explanation),
            (Verdicts{"unchanged", "equal", "equal", "not run"}));
  EXPECT_EQ(explanation.verification->verdict, "equal");
  EXPECT_TRUE(checkVerification(explanation));
}

TEST(Verification, ADifferenceEndsTheCheck) {
  for (size_t count : {3, 4}) {
    Explanation explanation = makeExplanation();
    Certificate certificate = makeCertificate();
    certificate.passes.resize(count);
    certificate.difference.emplace().pass = certificate.passes.back().pass;
    ASSERT_TRUE(setVerdicts(certificate, explanation));
    EXPECT_EQ(getVerdicts(explanation),
              count == 3
                  ? (Verdicts{"unchanged", "different", "not run", "not run"})
                  : (Verdicts{"unchanged", "equal", "different", "not run"}));
    Result<void> checked = checkVerification(explanation);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().status, Status::CheckFailed);
  }
}

TEST(Verification, AChangeThatTheCheckDoesNotHaveIsNotCompared) {
  Explanation explanation = makeExplanation();
  Certificate certificate = makeCertificate();
  certificate.passes[2].changed = false;
  ASSERT_TRUE(setVerdicts(certificate, explanation));
  EXPECT_EQ(explanation.passes[1].verdict, "not run");
}

TEST(Verification, OtherPassesAreAnError) {
  auto fails = [](const std::function<void(Certificate &)> &change) {
    Explanation explanation = makeExplanation();
    Certificate certificate = makeCertificate();
    change(certificate);
    Result<void> set = setVerdicts(certificate, explanation);
    return set ? std::string() : set.takeError().message;
  };
  EXPECT_EQ(fails([](Certificate &one) { one.passes[2].pass = "pack"; }),
            "the check of passes ran 'pack' in place of 'fuse'");
  EXPECT_EQ(fails([](Certificate &one) { one.passes[0].stage = "attn-opt"; }),
            "the check of passes ran 'cse' in place of 'cse'");
  EXPECT_EQ(fails([](Certificate &one) { one.passes[1].changed = true; }),
            "the check of passes ran 'extension-a' in place of 'fuse'");
  EXPECT_EQ(fails([](Certificate &one) { one.passes.resize(3); }),
            "the check of passes ran 'nothing' in place of 'cse'");
  EXPECT_EQ(fails([](Certificate &one) {
              one.passes.push_back({"kern", "plan", true});
            }),
            "the check of passes ran 'plan', which was not explained");
}

TEST(Verification, AnErrorBelongsToItsOperation) {
  Explanation explanation = makeExplanation();
  ASSERT_TRUE(setErrors(makeCode("kern.gemm", 1), explanation));
  const std::vector<PhaseOperation> &operations =
      explanation.entries[0].phases[0].operations;
  EXPECT_TRUE(operations[0].errors.empty());
  ASSERT_EQ(operations[1].errors.size(), 1u);
  EXPECT_EQ(operations[1].errors[0].absolute, 0.5);
}

TEST(Verification, OtherOperationsAreAnError) {
  for (const CodeVerification &code :
       {makeCode("kern.norm", 1), makeCode("kern.gemm", 2)}) {
    Explanation explanation = makeExplanation();
    Result<void> set = setErrors(code, explanation);
    ASSERT_FALSE(set);
    EXPECT_NE(set.error().message.find("was not explained"), std::string::npos);
  }
}

TEST(Verification, WhatIsNoNumberIsNull) {
  Explanation explanation = makeExplanation();
  CodeVerification code = makeCode("kern.norm", 0);
  code.accuracies[0].operations[0].absolute = HUGE_VAL;
  code.accuracies[0].operations[0].relative = HUGE_VAL;
  ASSERT_TRUE(setErrors(code, explanation));
  const std::vector<PhaseOperation> &operations =
      explanation.entries[0].phases[0].operations;
  EXPECT_FALSE(operations[0].errors[0].absolute);
}

TEST(Verification, OtherBitsAreAnError) {
  Explanation explanation = makeExplanation();
  CodeVerification code;
  code.entries.emplace_back().differences = 1;
  code.differences.emplace_back().phase = "p";
  ASSERT_TRUE(setErrors(code, explanation));
  Result<void> checked = checkVerification(explanation);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().status, Status::CheckFailed);
  EXPECT_NE(checked.error().message.find("phase 'p'"), std::string::npos);
}

} // namespace
