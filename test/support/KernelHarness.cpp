// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the product's lowering and code generation; LLVM's JIT then links the
// object files into this process.
#include "test/support/KernelHarness.h"
#include "compiler/codegen/Object.h"
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Register.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "runtime/base/CodeSymbols.h"
#include "test/support/Reference.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace transom;
using namespace transom::test;

static constexpr int64_t kPage = 4096;

struct KernelHarness::Code {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  char *weights = nullptr;
  int64_t weightBytes = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> places; ///< offset, bytes

  ~Code() {
    if (weights)
      munmap(weights, weightBytes);
  }

  /// Allocates separate pages for each weight. The weight ends directly before
  /// an inaccessible page.
  void placeWeights(mlir::ModuleOp module) {
    int64_t next = kPage;
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (auto weight : module.getOps<kern::WeightOp>()) {
      int64_t bytes =
          llvm::cast<kern::WeightType>(weight.getType()).getByteSize();
      int64_t pages = llvm::alignTo(bytes, kPage);
      int64_t offset = next + pages - bytes;
      weight.setOffsetAttr(
          mlir::Builder(module.getContext()).getI64IntegerAttr(offset));
      places[weight.getSymName().str()] = {offset, bytes};
      ranges.push_back({next, pages});
      next += pages + kPage;
    }
    weightBytes = next;
    weights = static_cast<char *>(
        mmap(nullptr, next, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (auto [begin, pages] : ranges)
      mprotect(weights + begin, pages, PROT_READ | PROT_WRITE);
  }
};

static Result<std::string> compile(mlir::ModuleOp module,
                                   const InstructionSet &isa, unsigned level) {
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> lowered =
      lowerModule(module, isa.name);
  if (mlir::failed(lowered))
    return internalError("the module does not lower");
  TRANSOM_ASSIGN(IsaModule translated, translate(**lowered, isa));
  TRANSOM_TRY(optimize(translated, level));
  return emitCode(translated, CodeKind::Object);
}

/// The phases and offsets in a function.
static PlannedFunction readPlan(mlir::func::FuncOp function) {
  PlannedFunction planned;
  auto parse = [](mlir::Attribute text) {
    return *Polynomial::parse(llvm::cast<mlir::StringAttr>(text).str());
  };
  for (auto phase : function.getOps<kern::PhaseOp>())
    planned.phases.push_back(phase.getName().str());
  if (auto slots = function->getAttrOfType<mlir::ArrayAttr>("kern.buffers"))
    for (mlir::Attribute slot : slots)
      planned.offsets.push_back(
          parse(llvm::cast<mlir::DictionaryAttr>(slot).get("offset")));
  if (mlir::Attribute bytes = function->getAttr("kern.arena_bytes"))
    planned.arenaBytes = parse(bytes);
  return planned;
}

KernelHarness::KernelHarness(const std::string &text, const std::string &only,
                             unsigned level)
    : code(std::make_unique<Code>()) {
  mlir::DialectRegistry registry;
  registerTransomDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  registerLLVMTranslations(context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the module does not parse";
    return;
  }
  code->placeWeights(*module);
  module->walk([&](kern::PhaseOp phase) {
    auto function = phase->getParentOfType<mlir::func::FuncOp>();
    for (mlir::Attribute symbol :
         function->getAttrOfType<mlir::ArrayAttr>("kern.symbols"))
      symbolOrder[phase.getName().str()].push_back(
          llvm::cast<mlir::StringAttr>(symbol).getValue().str());
  });
  for (auto function : module->getOps<mlir::func::FuncOp>())
    functions[function.getSymName().str()] = readPlan(function);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) {
    ADD_FAILURE() << llvm::toString(jit.takeError());
    return;
  }
  code->jit = std::move(*jit);
  for (const InstructionSet &isa : getInstructionSets()) {
    // Without a type its instructions make no difference.
    auto has = [&](const char *type) {
      return text.find(type) != std::string::npos;
    };
    bool same = !isa.isFor({has("bf16"), has("i8")});
    bool runs = isa.runsHere();
    if (!runs && llvm::StringRef(isa.name) != "neon")
      std::printf("skipped: this CPU lacks %s\n", isa.name);
    if (only.empty() ? same || !runs : isa.name != only)
      continue;
    Result<std::string> object = compile(*module, isa, level);
    if (!object) {
      ADD_FAILURE() << isa.name << ": " << object.error().message;
      return;
    }
    objects[isa.name] = *object;
    if (!runs)
      continue;
    if (llvm::Error error = code->jit->addObjectFile(
            llvm::MemoryBuffer::getMemBufferCopy(*object))) {
      ADD_FAILURE() << llvm::toString(std::move(error));
      return;
    }
    runnable.push_back(isa.name);
  }
}

KernelHarness::~KernelHarness() = default;

float *KernelHarness::weight(const std::string &name) {
  return reinterpret_cast<float *>(code->weights + code->places.at(name).first);
}

size_t KernelHarness::weightBytes(const std::string &name) {
  return code->places.at(name).second;
}

PreparedPhase KernelHarness::prepare(const std::string &isa,
                                     const std::string &phase,
                                     const PhaseCall &call) {
  PreparedPhase prepared;
  auto address = code->jit->lookup(getPhaseSymbol(isa, phase, ""));
  if (!address) {
    ADD_FAILURE() << llvm::toString(address.takeError());
    return prepared;
  }
  for (const std::string &name : symbolOrder.at(phase)) {
    auto known = call.symbols.find(name);
    prepared.symbols.push_back(name == "parts"               ? call.numWorkers
                               : known == call.symbols.end() ? INT64_MIN
                                                             : known->second);
  }
  prepared.frame.weights = code->weights;
  prepared.frame.symbols = prepared.symbols.data();
  prepared.frame.args = call.args.data();
  prepared.frame.ragged_batches = call.ragged.data();
  prepared.frame.caches = call.caches.data();
  prepared.function = address->toPtr<transom_phase>();
  return prepared;
}

void KernelHarness::run(const std::string &isa, const std::string &phase,
                        const PhaseCall &call, bool backwards) {
  PreparedPhase prepared = prepare(isa, phase, call);
  std::vector<int64_t> counters(productCounters);
  prepared.frame.counters = counters.data();
  for (int64_t i = 0; i < call.numWorkers && prepared.function; ++i)
    prepared.function(&prepared.frame, nullptr,
                      backwards ? call.numWorkers - 1 - i : i, call.numWorkers);
  EXPECT_EQ(counters, std::vector<int64_t>(productCounters));
}

void KernelHarness::runFunction(const std::string &isa,
                                const std::string &function, PhaseCall &call,
                                bool backwards) {
  // Evaluate the offsets; they depend only on values known before the call.
  const PlannedFunction &planned = functions.at(function);
  auto evaluate = [&](const Polynomial &size) {
    return *size.evaluate([&](const std::string &name) {
      return name == "parts" ? call.numWorkers : call.symbols.at(name);
    });
  };
  std::vector<int64_t> offsets;
  for (const Polynomial &offset : planned.offsets)
    offsets.push_back(evaluate(offset));
  Guarded<char> arena(evaluate(planned.arenaBytes));
  std::fill(arena.begin(), arena.end(), char(0xa5));

  // Run the phases; each receives the symbols that its predecessor left.
  for (const std::string &phase : planned.phases) {
    PreparedPhase prepared = prepare(isa, phase, call);
    prepared.frame.arena = arena.data();
    prepared.frame.offsets = offsets.data();
    for (int64_t i = 0; i < call.numWorkers && prepared.function; ++i)
      prepared.function(&prepared.frame, nullptr,
                        backwards ? call.numWorkers - 1 - i : i,
                        call.numWorkers);
    const std::vector<std::string> &order = symbolOrder.at(phase);
    for (size_t i = 0; i < order.size(); ++i)
      call.symbols[order[i]] = prepared.symbols[i];
  }
}

//===----------------------------------------------------------------------===//
// Ragged batches
//===----------------------------------------------------------------------===//

RaggedTable::RaggedTable(const std::vector<std::vector<int>> &mask,
                         bool keepFirst) {
  std::vector<transom_sequence> table;
  std::vector<int32_t> rowSequence, rowColumn;
  std::vector<int64_t> rowKey;
  int64_t columns = mask.empty() ? 0 : mask[0].size(), base = 0;
  for (size_t b = 0; b < mask.size(); ++b) {
    transom_sequence s{};
    s.first_token = rowColumn.size();
    s.key_base = base;
    s.column0_token = -1;
    auto add = [&](int64_t column) {
      if (column == 0)
        s.column0_token = rowColumn.size();
      rowKey.push_back(base + int64_t(rowColumn.size()) - s.first_token);
      rowSequence.push_back(b);
      rowColumn.push_back(column);
    };
    for (int64_t c = 0; c < columns; ++c)
      if (mask[b][c])
        add(c);
    s.num_keys = int64_t(rowColumn.size()) - s.first_token;
    if (keepFirst && columns && !mask[b][0])
      add(0);
    s.num_tokens = int64_t(rowColumn.size()) - s.first_token;
    base += (s.num_tokens + 31) / 32 * 32;
    table.push_back(s);
  }
  sequences.emplace_back(table);
  rowTables.emplace_back(rowSequence);
  rowTables.emplace_back(rowColumn);
  rowKeys.emplace_back(rowKey);
  ragged = {int64_t(mask.size()),      columns,
            int64_t(rowColumn.size()), base,
            sequences[0].data(),       rowTables[0].data(),
            rowTables[1].data(),       rowKeys[0].data()};
}

RaggedTable
RaggedTable::ofSteps(const std::vector<std::pair<int64_t, int64_t>> &steps) {
  std::vector<transom_sequence> table;
  std::vector<int32_t> rowSequence, rowColumn;
  int64_t blocks = 0;
  for (auto [past, rows] : steps) {
    transom_sequence s{};
    s.first_token = rowColumn.size();
    s.column0_token = -1;
    s.past = past;
    s.num_tokens = rows;
    s.num_keys = past + rows;
    s.first_block = blocks;
    blocks += (s.num_keys + TRANSOM_KV_BLOCK_SIZE - 1) / TRANSOM_KV_BLOCK_SIZE;
    for (int64_t i = 0; i < rows; ++i) {
      rowSequence.push_back(table.size());
      rowColumn.push_back(past + i);
    }
    table.push_back(s);
  }
  RaggedTable result;
  result.sequences.emplace_back(table);
  result.rowTables.emplace_back(rowSequence);
  result.rowTables.emplace_back(rowColumn);
  result.ragged.num_sequences = table.size();
  result.ragged.num_tokens = rowColumn.size();
  result.ragged.sequences = result.sequences[0].data();
  result.ragged.token_sequence = result.rowTables[0].data();
  result.ragged.token_column = result.rowTables[1].data();
  return result;
}

RaggedTable RaggedTable::uniform(int64_t batch, int64_t columns) {
  return RaggedTable(
      std::vector<std::vector<int>>(batch, std::vector<int>(columns, 1)));
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

uint64_t Random::next() {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::vector<float> Random::numbers(size_t count, float scale) {
  std::vector<float> values(count);
  for (float &value : values)
    value = number() * scale;
  return values;
}

/// The padded column for each column.
static std::vector<int64_t> paddedColumns(const std::vector<int64_t> &splits,
                                          int64_t &total) {
  std::vector<int64_t> columns;
  total = 0;
  for (int64_t split : splits) {
    for (int64_t i = 0; i < split; ++i)
      columns.push_back(total + i);
    total += (split + 31) / 32 * 32;
  }
  return columns;
}

std::vector<float> test::packPanels(const std::vector<float> &weight, int64_t k,
                                    const std::vector<int64_t> &splits) {
  int64_t total;
  std::vector<int64_t> columns = paddedColumns(splits, total);
  std::vector<float> packed(total * k);
  for (size_t n = 0; n < columns.size(); ++n)
    for (int64_t i = 0; i < k; ++i)
      packed[(columns[n] / 32 * k + i) * 32 + columns[n] % 32] =
          weight[n * k + i];
  return packed;
}

std::vector<uint16_t> test::packBf16Panels(const std::vector<float> &weight,
                                           int64_t k,
                                           const std::vector<int64_t> &splits) {
  int64_t total, depth = (k + 31) / 32 * 32;
  std::vector<int64_t> columns = paddedColumns(splits, total);
  std::vector<uint16_t> packed(total * depth);
  for (size_t n = 0; n < columns.size(); ++n)
    for (int64_t i = 0; i < k; ++i)
      packed[(columns[n] / 32 * depth + i / 2 * 2) * 32 + columns[n] % 32 * 2 +
             i % 2] = roundToBf16(weight[n * k + i]);
  return packed;
}

std::vector<float> test::packPadded(const std::vector<float> &bias,
                                    const std::vector<int64_t> &splits) {
  int64_t total;
  std::vector<int64_t> columns = paddedColumns(splits, total);
  std::vector<float> packed(total);
  for (size_t n = 0; n < columns.size(); ++n)
    packed[columns[n]] = bias[n];
  return packed;
}

std::string test::differentBits(const float *got, const float *expected,
                                size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (std::memcmp(got + i, expected + i, 4))
      return "element " + std::to_string(i) + ": got " +
             std::to_string(got[i]) + ", wanted " + std::to_string(expected[i]);
  return {};
}
