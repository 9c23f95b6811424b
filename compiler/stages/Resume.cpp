// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a stage's module.
#include "compiler/stages/Resume.h"
#include "compiler/codegen/FatalErrors.h"
#include "compiler/options/ModuleOptions.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/FirstError.h"
#include "dialects/common/Location.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace transom;

/// Formats parser errors as `FILE:LINE:COLUMN: text` and verifier errors as
/// `FILE: PATH: text`.
static std::string formatError(const FirstError &error,
                               const std::string &path) {
  if (!error.location)
    return path + ": not a module";
  std::string place = path;
  if (auto line = dyn_cast<FileLineColLoc>(*error.location))
    place += ":" + std::to_string(line.getLine()) + ":" +
             std::to_string(line.getColumn());
  else if (std::string layer = getModulePath(*error.location); !layer.empty())
    place += ": " + layer;
  return place + ": " + error.text.substr(0, error.text.find('\n'));
}

/// Parses and verifies the module.
static Result<OwningOpRef<ModuleOp>>
parseModuleText(MLIRContext &context, const ResumedStage &resumed) {
  // MLIR bytecode is not read: a stage is text.
  if (resumed.module.find('\0') != std::string::npos ||
      StringRef(resumed.module).starts_with("ML\xefR"))
    return rejected(resumed.path + ": not the text of a module");
  FirstError error(context);
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(resumed.module, resumed.path), {});
  auto module = parseSourceFile<ModuleOp>(manager, &context);
  if (!module)
    return rejected(formatError(error, resumed.path));
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}

/// Checks that a weight's tensors are in the model's files and give its shape.
static Result<void> checkWeight(const std::string &path, StringRef symbol,
                                StringRef expression, ArrayRef<int64_t> shape,
                                const TensorSource &tensors) {
  const std::string where = path + ": weight '" + symbol.str() + "': ";
  Result<WeightExpr> parsed = WeightExpr::parse(expression.str());
  if (!parsed)
    return rejected(where + parsed.error().message);
  Result<std::vector<int64_t>> found = parsed->shape(tensors);
  if (!found)
    return rejected(where + found.error().message);
  auto list = [](ArrayRef<int64_t> sizes) {
    return "[" +
           llvm::join(
               llvm::map_range(
                   sizes, [](int64_t size) { return std::to_string(size); }),
               ", ") +
           "]";
  };
  if (ArrayRef(*found) != shape)
    return rejected(where + "the model's tensors give " + list(*found) +
                    "; expected " + list(shape));
  return {};
}

static Result<void> checkWeights(ModuleOp module, const std::string &path,
                                 const TensorSource &tensors) {
  for (auto weight : module.getOps<attn::WeightOp>())
    TRANSOM_TRY(checkWeight(path, weight.getSymName(), weight.getExpr().str(),
                            cast<RankedTensorType>(weight.getType()).getShape(),
                            tensors));
  for (auto weight : module.getOps<kern::WeightOp>())
    TRANSOM_TRY(checkWeight(path, weight.getSymName(), weight.getExpr().str(),
                            weight.getType().getShape(), tensors));
  return {};
}

/// Checks for the attributes that the kernel passes add to each entry; the
/// verifier checks their values.
static Result<void> checkPlan(ModuleOp module, const std::string &path) {
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!entry.isPublic())
      continue;
    for (StringRef name : {"kern.inputs", "kern.symbols", "kern.buffers",
                           "kern.arena_bytes", "kern.arena_lower_bound"})
      if (!entry->hasAttr(name))
        return rejected(path + ": entry '" + entry.getSymName().str() +
                        "' has no '" + name.str() +
                        "'; expected a module of the stage 'kern'");
  }
  return {};
}

Result<OwningOpRef<ModuleOp>>
transom::readStageModule(MLIRContext &context, const ResumedStage &resumed,
                         const TensorSource &tensors,
                         const CompileOptions &options) {
  TRANSOM_ASSIGN(OwningOpRef<ModuleOp> module,
                 parseModuleText(context, resumed));
  TRANSOM_TRY(
      checkModuleOptions(*module, resumed.stage, options, resumed.path));
  if (resumed.stage == Stage::Obj && resumed.index.optLevel != options.optLevel)
    return usageError(
        "the objects beside '" + resumed.path + "' were compiled with '-O" +
        std::to_string(resumed.index.optLevel) + "', this compile is with '-O" +
        std::to_string(options.optLevel) +
        "'; expected the options of the stage");
  TRANSOM_TRY(checkWeights(*module, resumed.path, tensors));
  if (resumed.stage >= Stage::Kern)
    TRANSOM_TRY(checkPlan(*module, resumed.path));
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}

Result<void> transom::guardCompile(const std::string &path,
                                   llvm::function_ref<Result<void>()> work) {
  std::string reason;
  Result<void> done;
  const bool returned = runGuarded([&] { done = work(); }, reason);
  if (returned && (done || done.error().status != Status::Internal))
    return done;
  // A full disk is not an error in the text.
  if (Error fatal = describeFatalError(reason);
      !returned && fatal.status == Status::Unavailable)
    return fatal;
  Error error = returned
                    ? done.takeError()
                    : internalError("it breaks a rule of the dialects that "
                                    "no check knows");
  error.status = Status::Rejected;
  error.message =
      path + ": does not compile: " + (reason.empty() ? error.message : reason);
  return error;
}
