// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation with LLVM. An artifact must not call external functions:
// functions carry `no-builtins`, and the passes see an empty library.
#include "compiler/codegen/Object.h"
#include "compiler/codegen/AnnotatedAssembly.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace transom;

namespace {

/// Stores LLVM's errors for the caller instead of printing them and exiting.
class CollectDiagnostics : public llvm::DiagnosticHandler {
public:
  explicit CollectDiagnostics(std::string &errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream stream(errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    if (!errors.empty())
      stream << "; ";
    info.print(printer);
    return true;
  }

private:
  std::string &errors;
};

/// Counts the functions that have passed all previous passes.
class CountFunctions : public llvm::FunctionPass {
public:
  explicit CountFunctions(std::atomic<uint64_t> &count)
      : FunctionPass(ID), count(count) {}
  bool runOnFunction(llvm::Function &) override {
    ++count;
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesAll();
  }

private:
  static char ID;
  std::atomic<uint64_t> &count;
};

char CountFunctions::ID = 0;

} // namespace

void transom::registerLLVMTranslations(mlir::MLIRContext &context) {
  mlir::registerBuiltinDialectTranslation(context);
  mlir::registerLLVMDialectTranslation(context);
}

static void setAttributes(llvm::Module &module, const InstructionSet &isa) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("no-builtins");
    function.addFnAttr("target-cpu", isa.cpu);
    function.addFnAttr("target-features", isa.features);
    function.addFnAttr("frame-pointer", "none");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // Profilers and debuggers unwind from any instruction.
    function.setUWTableKind(llvm::UWTableKind::Async);
  }
}

/// Verifies the module and returns LLVM's message as an internal error.
static Result<void> verify(const llvm::Module &module, const char *when) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(module, &stream))
    return internalError("LLVM IR is invalid " + std::string(when) + ": " +
                         llvm::StringRef(stream.str()).split('\n').first.str());
  return {};
}

Result<IsaModule> transom::translate(mlir::ModuleOp module,
                                     const InstructionSet &isa) {
  IsaModule code;
  code.isa = &isa;
  TRANSOM_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine,
                 createTargetMachine(isa));
  code.machine = std::move(machine);
  code.context = std::make_unique<llvm::LLVMContext>();
  code.module = mlir::translateModuleToLLVMIR(module, *code.context, "transom");
  if (!code.module)
    return internalError("the module does not translate to LLVM IR");
  code.module->setTargetTriple(code.machine->getTargetTriple().str());
  code.module->setDataLayout(code.machine->createDataLayout());
  setAttributes(*code.module, isa);
  TRANSOM_TRY(verify(*code.module, "after translation"));
  return code;
}

Result<void> transom::optimize(IsaModule &code, unsigned level,
                               std::atomic<uint64_t> *numDone) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // This pass runs once for each function, late in its simplification.
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerAfterPassCallback([&](llvm::StringRef pass,
                                          const llvm::Any &,
                                          const llvm::PreservedAnalyses &) {
    if (numDone && pass == "ADCEPass")
      ++*numDone;
  });
  llvm::PassBuilder builder(code.machine.get(), tuning, std::nullopt,
                            &callbacks);
  llvm::TargetLibraryInfoImpl library(code.machine->getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  if (level == 0) {
    code.machine->setOptLevel(llvm::CodeGenOptLevel::None);
    builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0)
        .run(*code.module, modules);
  } else {
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
        .run(*code.module, modules);
  }
  return verify(*code.module, "after optimization");
}

Result<std::string> transom::emitCode(IsaModule &code, CodeKind kind,
                                      std::atomic<uint64_t> *numDone) {
  // Diagnostics become errors instead of messages on stderr.
  std::string errors;
  code.context->setDiagnosticHandler(
      std::make_unique<CollectDiagnostics>(errors));
  llvm::SmallVector<char, 0> bytes;
  // Emit the code, without knowledge of library functions.
  {
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    llvm::TargetLibraryInfoImpl library(code.machine->getTargetTriple());
    library.disableAllFunctions();
    passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
    if (kind == CodeKind::Assembly) {
      TRANSOM_TRY(addAssemblyPasses(code, passes, stream));
    } else if (code.machine->addPassesToEmitFile(
                   passes, stream, nullptr,
                   llvm::CodeGenFileType::ObjectFile)) {
      return internalError("LLVM cannot emit code for '" +
                           std::string(code.isa->target) + "'");
    }
    if (numDone)
      passes.add(new CountFunctions(*numDone));
    passes.run(*code.module);
  }
  if (!errors.empty())
    return internalError("code generation failed: " + errors);
  return std::string(bytes.data(), bytes.size());
}

std::string transom::printLLVM(const IsaModule &code) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  code.module->print(stream, nullptr, /*ShouldPreserveUseListOrder=*/true);
  return stream.str();
}
