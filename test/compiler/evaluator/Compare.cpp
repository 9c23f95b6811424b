// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading, comparing, and running passes with a check after each.
#include "test/compiler/evaluator/Compare.h"
#include "compiler/evaluator/ReadTensors.h"
#include "dialects/common/Location.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;

namespace transom::testing {

std::string sourceFolder() {
  const char *folder = std::getenv("TRANSOM_SOURCE_DIR");
  EXPECT_TRUE(folder) << "TRANSOM_SOURCE_DIR is not set; run by ctest";
  return folder ? folder : ".";
}

std::vector<NamedTensor> readTensors(const std::string &path) {
  auto tensors = transom::readTensors(path);
  EXPECT_TRUE(tensors) << (tensors ? "" : tensors.error().message);
  return tensors ? std::move(*tensors) : std::vector<NamedTensor>();
}

/// Returns the worst element in one tensor, or an empty string.
static std::string getDifference(const std::string &name, const Tensor &got,
                                 const Tensor &expected, double tolerance) {
  if (got.sizes != expected.sizes || got.isFloat != expected.isFloat)
    return "'" + name + "' has another type";
  double worst = 0;
  int64_t at = -1;
  for (int64_t i = 0; i < expected.count(); ++i) {
    double reference = expected.getReal(i);
    double off =
        std::abs(got.getReal(i) - reference) / (1 + std::abs(reference));
    if (got.getReal(i) == reference || off <= worst)
      continue;
    at = i;
    worst = std::isnan(off) ? INFINITY : off;
  }
  if (worst <= tolerance)
    return {};
  return "'" + name + "' element " + std::to_string(at) + " is " +
         std::to_string(got.getReal(at)) + ", expected " +
         std::to_string(expected.getReal(at)) + ", off by " +
         llvm::formatv("{0:e}", worst).str();
}

/// Compares each expected tensor with the result that has its name.
static std::string
compareEach(ArrayRef<NamedTensor> got, ArrayRef<NamedTensor> expected,
            llvm::function_ref<std::string(const std::string &, const Tensor &,
                                           const Tensor &)>
                compare) {
  for (const NamedTensor &reference : expected) {
    const NamedTensor *found = llvm::find_if(
        got, [&](const NamedTensor &t) { return t.name == reference.name; });
    if (found == got.end())
      return "'" + reference.name + "' is missing";
    std::string difference =
        compare(reference.name, found->tensor, reference.tensor);
    if (!difference.empty())
      return difference;
  }
  return {};
}

std::string getDifference(ArrayRef<NamedTensor> got,
                          ArrayRef<NamedTensor> expected, double tolerance) {
  return compareEach(
      got, expected,
      [&](const std::string &name, const Tensor &own, const Tensor &reference) {
        return getDifference(name, own, reference, tolerance);
      });
}

/// Returns true for values with the same bits; all NaNs are equal.
static bool isSame(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : Number(a).getBits() == Number(b).getBits();
}

/// The first element with other bits, or empty.
static std::string getBitDifference(const std::string &name, const Tensor &got,
                                    const Tensor &expected) {
  if (got.sizes != expected.sizes)
    return "'" + name + "' has another type";
  int64_t first = -1, count = 0;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (!isSame(got.getReal(i), expected.getReal(i)) && count++ == 0)
      first = i;
  if (count == 0)
    return {};
  char text[100];
  std::snprintf(text, sizeof text, "%a, expected %a", got.getReal(first),
                expected.getReal(first));
  return "'" + name + "' differs in " + std::to_string(count) + " of " +
         std::to_string(expected.count()) +
         " elements: " + std::to_string(first) + " is " + text;
}

std::string getBitDifference(ArrayRef<NamedTensor> got,
                             ArrayRef<NamedTensor> expected) {
  return compareEach(
      got, expected,
      static_cast<std::string (*)(const std::string &, const Tensor &,
                                  const Tensor &)>(getBitDifference));
}

Result<std::vector<NamedTensor>> evaluateCase(ModuleOp module, const Case &test,
                                              const EvaluateOptions &options) {
  EvaluateOptions own = options;
  own.sequences = test.sequences;
  return evaluate(module, test.entry, test.inputs, own);
}

/// Returns the IR errors in the module.
static std::string checkStructure(ModuleOp module) {
  if (failed(verify(module)))
    return "the module is not valid";
  std::string complaint;
  module.walk([&](Operation *op) {
    if (op != module && !hasModulePath(op->getLoc()))
      complaint =
          "'" + op->getName().getStringRef().str() + "' has no location";
  });
  return complaint;
}

/// Returns the first error in float64 results.
static std::string checkResults(ModuleOp module, const EvaluateOptions &options,
                                ArrayRef<Case> cases, double tolerance) {
  for (const Case &test : cases) {
    auto result = evaluateCase(module, test, options);
    std::string complaint =
        result ? getDifference(*result, test.outputs, tolerance)
               : result.error().message;
    if (!complaint.empty())
      return complaint;
  }
  return {};
}

/// Replaces the expected results in cases by the module's results.
static void takeResults(ModuleOp module, const EvaluateOptions &options,
                        std::vector<Case> &cases) {
  for (Case &test : cases)
    if (auto result = evaluateCase(module, test, options))
      test.outputs = *result;
}

VerifyCase toVerifyCase(const Case &test) {
  return {{test.entry, test.inputs, test.sequences}};
}

/// Returns true for a module with rounded values.
static bool rounds(ModuleOp module) {
  return llvm::any_of(ArrayRef({"transom.dtype", "transom.kv_dtype"}),
                      [&](const char *name) {
                        auto type = module->getAttrOfType<StringAttr>(name);
                        return type && type != "f32";
                      });
}

/// Exact checks for a module, one for each treatment of roundings.
static Result<std::vector<std::unique_ptr<PassVerifier>>>
startVerifiers(ModuleOp module, Stage stage, const EvaluateOptions &options,
               ArrayRef<Case> cases) {
  std::vector<VerifyCase> calls;
  for (const Case &test : cases)
    calls.push_back(toVerifyCase(test));
  if (options.caches) { // they are calls one after another
    VerifyCase all;
    for (const VerifyCase &test : calls)
      llvm::append_range(all, test);
    calls = {all};
  }
  std::vector<Rounding> roundings = {Rounding::Erased};
  if (stage == Stage::Kern && rounds(module))
    roundings.push_back(Rounding::Opaque);
  std::vector<std::unique_ptr<PassVerifier>> verifiers;
  for (Rounding rounding : roundings) {
    PassVerifierOptions own = {options.source, "test", 1, rounding};
    verifiers.push_back(std::make_unique<PassVerifier>(own, calls));
    TRANSOM_TRY(verifiers.back()->start(module));
  }
  return verifiers;
}

/// Returns the first query whose weight sum is not 1, or not 0 where it sees no
/// key; else an empty string.
static std::string checkWeights(const NamedTensor &weights) {
  const int64_t keys = weights.tensor.sizes.back();
  for (int64_t start = 0; start < weights.tensor.count(); start += keys) {
    double sum = 0;
    for (int64_t i = start; i < start + keys; ++i)
      sum += weights.tensor.getReal(i);
    if (sum != 0 && !(std::abs(sum - 1) <= 1e-9))
      return "weights of '" + weights.name + "' have the sum " +
             std::to_string(sum);
  }
  return {};
}

/// If a pass has derived an entry with attention weights from the entry of
/// these cases, adds cases for it. Returns the first error in its results.
static std::string addAttentionCases(ModuleOp module,
                                     const EvaluateOptions &options,
                                     std::vector<Case> &cases) {
  for (size_t i = 0, count = cases.size(); i < count; ++i) {
    Case test = cases[i];
    test.entry = "attention";
    auto result = evaluateCase(module, test, options);
    if (!result)
      return result.error().message;
    std::string complaint = getDifference(*result, test.outputs, 1e-10);
    for (const NamedTensor &output : *result)
      if (complaint.empty() && StringRef(output.name).contains("attentions."))
        complaint = checkWeights(output);
    if (!complaint.empty())
      return complaint;
    test.outputs = *result;
    cases.push_back(std::move(test));
  }
  return {};
}

std::string checkPasses(ModuleOp module, Stage stage,
                        const EvaluateOptions &options, ArrayRef<Case> given,
                        double tolerance, const std::set<std::string> &disabled,
                        Backend backend, std::vector<Case> *after) {
  std::vector<Case> cases(given.begin(), given.end());
  std::string complaint = checkStructure(module);
  if (complaint.empty())
    complaint = checkResults(module, options, cases, tolerance);
  if (!complaint.empty())
    return "before all passes: " + complaint;
  auto verifiers = startVerifiers(module, stage, options, cases);
  if (!verifiers)
    return "before all passes: " + verifiers.error().message;
  PipelineOptions passOptions;
  passOptions.disabled = disabled;
  passOptions.backend = backend;
  for (const transom::PassInfo &pass : getPasses()) {
    if (pass.stage != stage || !runsPass(pass, passOptions))
      continue;
    PassManager manager(module.getContext());
    manager.addPass(pass.create(passOptions));
    OperationFingerPrint before(module);
    if (failed(manager.run(module)))
      return "pass '" + pass.flag.str() + "' failed";
    if (before == OperationFingerPrint(module))
      continue;
    if (complaint = checkStructure(module); !complaint.empty())
      return "after '" + pass.flag.str() + "': " + complaint;
    for (const auto &verifier : *verifiers)
      if (auto difference = verifier->check(module, pass.flag))
        return difference->str();
    if (pass.flag == "attn-add-attention-entry" && !options.caches &&
        module.lookupSymbol("attention")) {
      complaint = addAttentionCases(module, options, cases);
      if (complaint.empty())
        verifiers = startVerifiers(module, stage, options, cases);
      if (!verifiers)
        complaint = verifiers.error().message;
      if (!complaint.empty())
        return "the entry of attention: " + complaint;
    }
    // Rounding differences have no bound.
    if (pass.flag == "kern-choose-precision" && rounds(module))
      takeResults(module, options, cases);
  }
  complaint = checkResults(module, options, cases, tolerance);
  if (after)
    *after = cases;
  return complaint.empty() ? "" : "after all passes: " + complaint;
}

} // namespace transom::testing
