// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All stages must have the same results, equal to the results in the
// certificate.
#include "compiler/verify/CheckStages.h"
#include "compiler/verify/TensorShapes.h"
#include "compiler/verify/VerifyPasses.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/FirstError.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"

using namespace mlir;

namespace transom {

std::string getCheckedStageFile(const std::string &stage) {
  return stage + ".mlir";
}

std::string deriveKey(const std::string &version,
                      const std::vector<std::string> &texts) {
  Sha256 sha;
  sha.update(version);
  for (const std::string &text : texts)
    sha.update(Sha256::getHex(text));
  return sha.hex();
}

namespace {

/// Checks one folder.
class StageChecker {
public:
  explicit StageChecker(const std::string &folder) : folder(folder) {}

  Result<Certificate> run();

private:
  Result<void> readFiles();
  Result<OwningOpRef<ModuleOp>> parse(size_t stage);
  Result<void> compare();

  const std::string folder;
  Certificate certificate;
  std::vector<std::string> texts; ///< by stage
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

} // namespace

/// Reads the certificate and the texts, and compares hashes.
Result<void> StageChecker::readFiles() {
  const std::string path = joinPath(folder, certificateFile);
  TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(path));
  TRANSOM_ASSIGN(certificate, parseCertificate(document));
  if (certificate.transom != TRANSOM_VERSION)
    return rejected(path + ": of version '" + certificate.transom +
                    "'; expected '" TRANSOM_VERSION "'");
  const std::vector<std::string> expected = {"attn", "attn-opt", "kern"};
  std::vector<std::string> found;
  for (const CertifiedStage &stage : certificate.stages)
    found.push_back(stage.stage);
  if (found != expected)
    return rejected(path + ": stages are [" + llvm::join(found, ", ") +
                    "]; expected [attn, attn-opt, kern]");
  for (const CertifiedStage &stage : certificate.stages) {
    const std::string file = joinPath(folder, getCheckedStageFile(stage.stage));
    TRANSOM_ASSIGN(MappedFile mapped, MappedFile::open(file));
    std::string &text = texts.emplace_back(mapped.bytes());
    if (std::string sha256 = Sha256::getHex(text); sha256 != stage.sha256)
      return rejected(file + ": has the sha256 " + sha256 +
                      ", the certificate " + stage.sha256 +
                      "; expected the stages of one compile");
  }
  if (deriveKey(certificate.transom, texts) != certificate.key)
    return rejected(path + ": the key is not that of the stages");
  return {};
}

Result<OwningOpRef<ModuleOp>> StageChecker::parse(size_t stage) {
  FirstError error(context);
  auto module = parseSourceString<ModuleOp>(texts[stage], &context);
  if (!module)
    return rejected(
        joinPath(folder, getCheckedStageFile(certificate.stages[stage].stage)) +
        ": " + error.text.substr(0, error.text.find('\n')));
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}

Result<void> StageChecker::compare() {
  TRANSOM_ASSIGN(OwningOpRef<ModuleOp> module, parse(0));
  const TensorShapes shapes(certificate.tensors);
  PassVerifierOptions options;
  options.source = &shapes;
  options.keyText = certificate.key;
  options.numLanes = static_cast<int>(certificate.lanes);
  for (CallLengths lengths : {CallLengths::Short, CallLengths::Panel}) {
    TRANSOM_ASSIGN(std::vector<VerifyCase> cases, makeCalls(*module, lengths));
    PassVerifier verifier(options, std::move(cases));
    TRANSOM_TRY(verifier.start(*module));
    for (auto [i, stage] : llvm::enumerate(certificate.stages)) {
      if (i > 0) {
        TRANSOM_ASSIGN(OwningOpRef<ModuleOp> next, parse(i));
        certificate.difference = verifier.check(*next, stage.stage);
      }
      if (certificate.difference)
        return {};
      if (lengths == CallLengths::Short &&
          verifier.getDigest() != stage.results)
        return rejected(joinPath(folder, certificateFile) +
                        ": the results of stage '" + stage.stage +
                        "' are not those of its module");
    }
  }
  return {};
}

Result<Certificate> StageChecker::run() {
  TRANSOM_TRY(readFiles());
  context.loadDialect<attn::AttnDialect, kern::KernDialect, func::FuncDialect,
                      arith::ArithDialect, math::MathDialect>();
  TRANSOM_TRY(compare());
  return std::move(certificate);
}

Result<Certificate> checkStages(const std::string &folder) {
  return StageChecker(folder).run();
}

} // namespace transom
