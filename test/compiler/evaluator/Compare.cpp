// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading, comparing, and running passes with a check after each.
#include "test/compiler/evaluator/Compare.h"
#include "dialects/common/Location.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/safetensors/Safetensors.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;

namespace transom::testing {

std::string sourceFolder() {
  const char *folder = std::getenv("TRANSOM_SOURCE_DIR");
  EXPECT_TRUE(folder) << "TRANSOM_SOURCE_DIR is not set; run by ctest";
  return folder ? folder : ".";
}

/// One tensor of a file.
static Tensor toTensor(const SafetensorsFile &file,
                       const SafetensorsTensor &entry) {
  std::string_view bytes = file.data(entry);
  size_t count = static_cast<size_t>(getNumElements(entry.shape));
  if (isFloat(entry.dtype)) {
    std::vector<float> values(count);
    EXPECT_TRUE(convertToF32(entry.dtype, bytes.data(), count, values.data()));
    return Tensor::of(entry.shape,
                      std::vector<double>(values.begin(), values.end()));
  }
  std::vector<int64_t> values(count);
  EXPECT_TRUE(convertToI64(entry.dtype, bytes.data(), count, values.data()));
  return Tensor::of(entry.shape, std::move(values));
}

std::vector<NamedTensor> readTensors(const std::string &path) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  std::vector<NamedTensor> tensors;
  if (file)
    for (const SafetensorsTensor &entry : file->tensors())
      tensors.push_back({entry.name, toTensor(*file, entry)});
  return tensors;
}

/// The worst element of one tensor, or empty.
static std::string getDifference(const std::string &name, const Tensor &got,
                                 const Tensor &expected, double tolerance) {
  if (got.sizes != expected.sizes || got.isFloat != expected.isFloat)
    return "'" + name + "' has another type";
  double worst = 0;
  int64_t at = -1;
  for (int64_t i = 0; i < expected.count(); ++i) {
    double reference = expected.number(i);
    double off =
        std::abs(got.number(i) - reference) / (1 + std::abs(reference));
    if (got.number(i) == reference || off <= worst)
      continue;
    at = i;
    worst = std::isnan(off) ? INFINITY : off;
  }
  if (worst <= tolerance)
    return {};
  return "'" + name + "' element " + std::to_string(at) + " is " +
         std::to_string(got.number(at)) + ", expected " +
         std::to_string(expected.number(at)) + ", off by " +
         llvm::formatv("{0:e}", worst).str();
}

std::string getDifference(ArrayRef<NamedTensor> got,
                          ArrayRef<NamedTensor> expected, double tolerance) {
  for (const NamedTensor &reference : expected) {
    const NamedTensor *found = llvm::find_if(
        got, [&](const NamedTensor &t) { return t.name == reference.name; });
    if (found == got.end())
      return "'" + reference.name + "' is missing";
    std::string difference = getDifference(reference.name, found->tensor,
                                           reference.tensor, tolerance);
    if (!difference.empty())
      return difference;
  }
  return {};
}

Result<std::vector<NamedTensor>> evaluateCase(ModuleOp module, const Case &test,
                                              const EvaluateOptions &options) {
  EvaluateOptions own = options;
  own.sequences = test.sequences;
  return evaluate(module, test.entry, test.inputs, own);
}

/// The first complaint about the module as it is.
static std::string complaintAbout(ModuleOp module,
                                  const EvaluateOptions &options,
                                  ArrayRef<Case> cases, double tolerance) {
  if (failed(verify(module)))
    return "the module is not valid";
  std::string complaint;
  module.walk([&](Operation *op) {
    if (op != module && !hasModulePath(op->getLoc()))
      complaint =
          "'" + op->getName().getStringRef().str() + "' has no location";
  });
  for (const Case &test : cases) {
    if (!complaint.empty())
      break;
    auto result = evaluateCase(module, test, options);
    complaint = result ? getDifference(*result, test.outputs, tolerance)
                       : result.error().message;
  }
  return complaint;
}

/// Replaces what cases must give by what the module gives now.
static void takeResults(ModuleOp module, const EvaluateOptions &options,
                        std::vector<Case> &cases) {
  for (Case &test : cases)
    if (auto result = evaluateCase(module, test, options))
      test.outputs = *result;
}

std::string checkPasses(ModuleOp module, Stage stage,
                        const EvaluateOptions &options, ArrayRef<Case> given,
                        double tolerance, const std::set<std::string> &disabled,
                        double bf16Tolerance, Backend backend) {
  std::vector<Case> cases(given.begin(), given.end());
  std::string complaint = complaintAbout(module, options, cases, tolerance);
  if (!complaint.empty())
    return "before all passes: " + complaint;
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
    bool rounds = pass.flag == "kern-choose-precision";
    complaint = complaintAbout(module, options, cases,
                               rounds ? bf16Tolerance : tolerance);
    if (!complaint.empty())
      return "after '" + pass.flag.str() + "': " + complaint;
    if (rounds)
      takeResults(module, options, cases);
  }
  return {};
}

} // namespace transom::testing
