// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a compile unit in the module LLVM writes no debug information, but
// instructions still have lines. LLVM's printer is created here instead of in
// addPassesToEmitFile(), so that an instruction handler can be added.
#include "compiler/codegen/AnnotatedAssembly.h"
#include "runtime/base/CodeSymbols.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/DebugHandlerBase.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"

using namespace transom;

namespace {

/// Writes comments between instructions.
class LineComments : public llvm::DebugHandlerBase {
public:
  LineComments(llvm::AsmPrinter &printer, const std::vector<std::string> &notes)
      : DebugHandlerBase(&printer), notes(notes) {}

  /// The printer has its functions only now, not when it is created.
  void beginModule(llvm::Module *) override { MMI = Asm->MMI; }
  void beginInstruction(const llvm::MachineInstr *instruction) override {
    // Scheduling mixes instructions from several operations, so a comment is
    // printed only for the first line in a block.
    if (instruction->isMetaInstruction() ||
        instruction->getParent() == lastBlock)
      return;
    const llvm::DebugLoc &location = instruction->getDebugLoc();
    if (!location || location.getLine() == 0)
      return;
    lastBlock = instruction->getParent();
    if (location.getLine() != lastLine)
      comment(location.getLine());
  }
  void endInstruction() override {}
  void endModule() override {}

protected:
  /// Begins a function; LLVM calls this for functions without debug
  /// information.
  void skippedNonDebugFunction() override {
    const llvm::Function &function = Asm->MF->getFunction();
    lastBlock = nullptr;
    lastLine = 0;
    if (const llvm::DISubprogram *phase = function.getSubprogram())
      return comment(phase->getLine());
    const llvm::StringRef name = function.getName();
    if (std::optional<KernelTile> tile =
            parseKernelTile(std::string_view(name)))
      Asm->OutStreamer->emitRawComment(
          " micro-kernel of " + llvm::Twine(tile->rows) + " rows and " +
          llvm::Twine(tile->columns) + " columns, which phases share");
    else if (name.starts_with(llvm::StringRef(sharedSymbolPrefix)))
      Asm->OutStreamer->emitRawComment(" operation that phases share");
  }
  void beginFunctionImpl(const llvm::MachineFunction *) override {}
  void endFunctionImpl(const llvm::MachineFunction *) override {}

private:
  void comment(unsigned line) {
    lastLine = line;
    if (line <= notes.size() && !notes[line - 1].empty())
      Asm->OutStreamer->emitRawComment(" " + notes[line - 1]);
  }

  const std::vector<std::string> &notes;
  const llvm::MachineBasicBlock *lastBlock = nullptr;
  unsigned lastLine = 0;
};

} // namespace

Result<void> transom::addAssemblyPasses(IsaModule &code,
                                        llvm::legacy::PassManager &passes,
                                        llvm::raw_pwrite_stream &stream) {
  // Without compile units LLVM writes no line tables.
  if (llvm::NamedMDNode *units = code.module->getNamedMetadata("llvm.dbg.cu"))
    units->eraseFromParent();
  // Build LLVM's code generation pipeline up to the printer.
  auto &machine = static_cast<llvm::LLVMTargetMachine &>(*code.machine);
  auto *modules = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(
      true); // the verifier rejects subprograms without a unit
  passes.add(config);
  passes.add(modules);
  if (config->addISelPasses())
    return internalError("LLVM cannot select instructions for '" +
                         std::string(code.isa->target) + "'");
  config->addMachinePasses();
  config->setInitialized();
  // Print with a handler that writes the comments.
  llvm::Expected<std::unique_ptr<llvm::MCStreamer>> streamer =
      machine.createMCStreamer(stream, nullptr,
                               llvm::CodeGenFileType::AssemblyFile,
                               modules->getMMI().getContext());
  if (!streamer)
    return internalError("LLVM cannot write assembly: " +
                         llvm::toString(streamer.takeError()));
  llvm::AsmPrinter *printer =
      machine.getTarget().createAsmPrinter(machine, std::move(*streamer));
  if (!printer)
    return internalError("LLVM cannot print assembly for '" +
                         std::string(code.isa->target) + "'");
  printer->addDebugHandler(
      std::make_unique<LineComments>(*printer, code.lineNotes));
  passes.add(printer);
  passes.add(llvm::createFreeMachineFunctionPass());
  return {};
}
