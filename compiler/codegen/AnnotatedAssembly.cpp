// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a compile unit in the module LLVM writes no debug information, but
// its instructions still have lines. LLVM's printer is made here and not by
// addPassesToEmitFile(), to give it a handler of instructions.
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

  /// The printer knows its functions by now, and not when it is made.
  void beginModule(llvm::Module *) override { MMI = Asm->MMI; }
  void beginInstruction(const llvm::MachineInstr *instruction) override {
    // Scheduling mixes the instructions of operations, so a block is known by
    // its first line.
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
  /// Begins a function; LLVM calls those without debug information so.
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
  if (llvm::NamedMDNode *units = code.module->getNamedMetadata("llvm.dbg.cu"))
    units->eraseFromParent();
  auto &machine = static_cast<llvm::LLVMTargetMachine &>(*code.machine);
  auto *modules = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true); // of the subprograms without a unit
  passes.add(config);
  passes.add(modules);
  if (config->addISelPasses())
    return internalError("LLVM cannot select instructions for '" +
                         std::string(code.isa->target) + "'");
  config->addMachinePasses();
  config->setInitialized();
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
