// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables are constants of an LLVM module, so that their relocations and
// sections come from the same code generator as the functions they point to.
#include "compiler/artifact/Tables.h"
#include "compiler/codegen/Object.h"
#include "runtime/abi/Abi.h"
#include "runtime/artifact/Digest.h"
#include "runtime/base/CodeSymbols.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Support/Endian.h"
#include "llvm/Target/TargetMachine.h"
#include <cstring>

using namespace transom;

namespace {

/// Builds the globals of one table module.
class TableBuilder {
public:
  explicit TableBuilder(llvm::Module &module)
      : module(module), context(module.getContext()),
        i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)),
        ptr(llvm::PointerType::get(context, 0)) {}

  void build(const ArtifactPlan &plan, const std::vector<std::string> &isas,
             uint64_t manifestBytes);

private:
  llvm::Constant *word(uint64_t value) {
    return llvm::ConstantInt::get(i32, value);
  }
  llvm::Constant *quad(int64_t value) {
    return llvm::ConstantInt::getSigned(i64, value);
  }
  llvm::Constant *record(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(fields);
  }
  llvm::GlobalVariable *global(llvm::Constant *value, const llvm::Twine &name) {
    return new llvm::GlobalVariable(module, value->getType(), true,
                                    llvm::GlobalValue::InternalLinkage, value,
                                    name);
  }
  /// Creates an array of structs with one type; a null pointer if it is empty.
  llvm::Constant *table(llvm::ArrayRef<llvm::Constant *> elements,
                        const llvm::Twine &name) {
    if (elements.empty())
      return llvm::ConstantPointerNull::get(ptr);
    auto *type =
        llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return global(llvm::ConstantArray::get(type, elements), name);
  }
  llvm::Constant *string(llvm::StringRef text) {
    return global(llvm::ConstantDataArray::getString(context, text), "text");
  }
  /// Declares a symbol that another object or the linker script defines.
  llvm::Constant *outside(llvm::Type *type, const llvm::Twine &name) {
    auto *symbol = new llvm::GlobalVariable(
        module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, name);
    symbol->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return symbol;
  }

  llvm::Constant *isaTable(const ArtifactPlan &plan,
                           const std::vector<std::string> &isas);
  llvm::Constant *entryTable(const ArtifactPlan &plan);
  llvm::Constant *rowTable(const ArtifactPlan &plan);
  /// Puts data into a separate section, retained without references.
  llvm::Constant *section(llvm::Constant *data, const llvm::Twine &name,
                          const char *section, uint64_t alignment);
  llvm::Constant *bytes(llvm::StringRef text) {
    return llvm::ConstantDataArray::getString(context, text, /*AddNull=*/false);
  }
  /// Creates the placeholder for the weights.
  llvm::Constant *weightsStub() {
    auto *type =
        llvm::ArrayType::get(llvm::Type::getInt8Ty(context), weightsStubBytes);
    return section(llvm::ConstantAggregateZero::get(type), weightsSymbol,
                   weightsSection, weightsStubBytes);
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::Type *i32, *i64;
  llvm::PointerType *ptr;
};

} // namespace

llvm::Constant *TableBuilder::isaTable(const ArtifactPlan &plan,
                                       const std::vector<std::string> &isas) {
  std::vector<llvm::Constant *> codes;
  for (const std::string &isa : isas) {
    std::vector<llvm::Constant *> functions;
    for (const ArtifactPhase &phase : plan.phases)
      functions.push_back(
          outside(llvm::Type::getInt8Ty(context),
                  getPhaseSymbol(isa, phase.name, phase.location)));
    codes.push_back(
        record({string(isa), table(functions, "transom.phases." + isa)}));
  }
  return table(codes, "transom.isas");
}

llvm::Constant *TableBuilder::entryTable(const ArtifactPlan &plan) {
  std::vector<llvm::Constant *> entries;
  for (const ArtifactEntry &entry : plan.entries) {
    std::vector<llvm::Constant *> steps;
    for (const ArtifactStep &step : entry.steps)
      steps.push_back(record({word(static_cast<uint32_t>(step.phase)),
                              word(static_cast<uint32_t>(step.row)),
                              word(static_cast<uint32_t>(step.headRanges)),
                              word(static_cast<uint32_t>(step.raggedBatch))}));
    entries.push_back(
        record({string(entry.name), table(steps, "transom.steps." + entry.name),
                quad(static_cast<int64_t>(steps.size()))}));
  }
  return table(entries, "transom.entries");
}

llvm::Constant *TableBuilder::rowTable(const ArtifactPlan &plan) {
  if (plan.rows.empty())
    return llvm::ConstantPointerNull::get(ptr);
  std::vector<uint64_t> bits(plan.rows.begin(), plan.rows.end());
  return global(llvm::ConstantDataArray::get(context, bits), "transom.rows");
}

llvm::Constant *TableBuilder::section(llvm::Constant *data,
                                      const llvm::Twine &name,
                                      const char *section, uint64_t alignment) {
  llvm::GlobalVariable *symbol = global(data, name);
  symbol->setSection(section);
  symbol->setAlignment(llvm::Align(alignment));
  symbol->setLinkage(llvm::GlobalValue::ExternalLinkage);
  symbol->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return symbol;
}

/// Encodes a note: sizes, type, owner, descriptor.
static std::string noteBytes(uint32_t type, llvm::StringRef descriptor) {
  std::string bytes(12, '\0');
  llvm::support::endian::write32le(&bytes[0], strlen(noteName) + 1);
  llvm::support::endian::write32le(&bytes[4],
                                   static_cast<uint32_t>(descriptor.size()));
  llvm::support::endian::write32le(&bytes[8], type);
  bytes.append(noteName, strlen(noteName) + 1);
  return bytes + descriptor.str();
}

void TableBuilder::build(const ArtifactPlan &plan,
                         const std::vector<std::string> &isas,
                         uint64_t manifestBytes) {
  llvm::Constant *artifact = record(
      {word(TRANSOM_ABI_VERSION), word(isas.size()), isaTable(plan, isas),
       quad(static_cast<int64_t>(plan.phases.size())),
       word(plan.entries.size()), word(0), entryTable(plan), rowTable(plan),
       weightsStub()});
  llvm::GlobalVariable *exported = global(artifact, artifactSymbol);
  exported->setLinkage(llvm::GlobalValue::ExternalLinkage);
  exported->setAlignment(llvm::Align(8));
  section(bytes(noteBytes(manifestNote, std::string(manifestBytes, ' ')) +
                noteBytes(digestNoteType, std::string(32, '\0'))),
          "transom_manifest", noteSection, 4);
  if (!plan.tokenizer.empty())
    section(bytes(plan.tokenizer), "transom_tokenizer", tokenizerSection, 64);
}

Result<std::string> transom::makeTables(const ArtifactPlan &plan,
                                        const std::vector<std::string> &isas,
                                        uint64_t manifestBytes) {
  IsaModule code;
  TRANSOM_ASSIGN(const InstructionSet *isa, getInstructionSet(isas.front()));
  code.isa = isa;
  TRANSOM_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine,
                 createTargetMachine(*code.isa));
  code.machine = std::move(machine);
  code.context = std::make_unique<llvm::LLVMContext>();
  code.module = std::make_unique<llvm::Module>("tables", *code.context);
  code.module->setTargetTriple(code.machine->getTargetTriple().str());
  code.module->setDataLayout(code.machine->createDataLayout());
  TableBuilder(*code.module).build(plan, isas, manifestBytes);
  return emitCode(code, CodeKind::Object);
}
