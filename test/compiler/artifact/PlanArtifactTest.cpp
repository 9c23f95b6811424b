// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry in which one phase sorts tokens by group and the next ones multiply
// each group's rows with a separate weight: from kern through the artifact to
// the runtime, compared with the evaluator.
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/codegen/Object.h"
#include "compiler/codegen/TargetMachine.h"
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Register.h"
#include "compiler/safetensors/Safetensors.h"
#include "dialects/kern/Kern.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/kernel/Passes.h"
#include "test/e2e/random/CompiledModel.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace mlir;
using namespace transom;

namespace {

constexpr const char *text = R"mlir(
!groups = !kern.buffer<[rows, 2] x i64>
!scales = !kern.buffer<[rows, 2] x f32>
!tokens = !kern.buffer<[routed] x i64>
!offsets = !kern.buffer<[4] x i64>
!x = !kern.buffer<[rows, 64] x f32>
!packed = !kern.buffer<[routed, 64] x f32>
!product = !kern.buffer<[routed, 6] x f32>
!y = !kern.buffer<[rows, 6] x f32>
!w = !kern.weight<[18, 64] x f32, unset, splits [6, 6, 6]>
!b = !kern.weight<[18] x f32, unset, splits [6, 6, 6]>
module attributes {attn.name = "routed"} {
  kern.weight @w : !w = #weight.expr<concat(0, fill([6, 64], 1.0), fill([6, 64], 2.0), fill([6, 64], 4.0))>
  kern.weight @b : !b = #weight.expr<concat(0, fill([6], 8.0), fill([6], 0.5), fill([6], 0.25))>
  kern.bounded_size @routed bound "2*rows"
  func.func @run(%g: !groups {attn.name = "groups", attn.role = "data"}, %s: !scales {attn.name = "scales", attn.role = "data"},
                 %x: !x {attn.name = "x", attn.role = "data"}, %y: !y {attn.name = "y"})
      attributes {kern.inputs = 3 : i64, kern.symbols = ["routed", "rows"]} {
    %t = kern.alloc : !tokens
    %o = kern.alloc : !offsets
    %p = kern.alloc : !groups
    kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !groups
    %r = kern.alloc : !packed
    kern.gather %x, %t outs(%r) : !x, !tokens, !packed
    %q = kern.alloc : !packed
    kern.elementwise ins(%r) outs(%q) {
    ^bb0(%a: f32):
      %b = kern.apply <relu> %a
      kern.yield %b : f32
    } : (!packed) -> !packed
    %w = kern.get_weight @w : !w
    %b = kern.get_weight @b : !b
    %z = kern.alloc : !product
    kern.group_gemm %q, %w bias %b offsets %o outs(%z) : !packed, !w, !b, !offsets, !product
    kern.combine_groups %z, %p, %s outs(%y) : !product, !groups, !scales, !y
    return
  }
}
)mlir";

/// No weight is read from a file.
struct NoTensors : TensorSource {
  Result<std::vector<int64_t>> shape(const std::string &) const override {
    return internalError("no tensors");
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &,
                    const std::vector<int64_t> &, float *) const override {
    return internalError("no tensors");
  }
};

class PlanArtifact : public ::testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    registerLLVMTranslations(context);
    make(std::nullopt);
  }

  /// Builds the module, with weights in a format.
  void make(std::optional<OperandFormat> format) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    if (format)
      (*module)->setAttr("transom.quantize",
                         kern::OperandFormatAttr::get(&context, *format));
    PassManager manager(&context);
    manager.addPass(createChoosePrecisionPass());
    manager.addPass(createPackWeightsPass());
    manager.addPass(createFormPhasesPass());
    manager.addPass(createPlanMemoryPass());
    ASSERT_TRUE(succeeded(manager.run(*module)));
  }

  int64_t getWeightBytes() {
    return (*module)->getAttrOfType<IntegerAttr>("kern.weight_bytes").getInt();
  }

  /// Writes the artifact; returns the names of its instruction sets.
  std::vector<std::string> write(const std::string &path) {
    Result<ArtifactPlan> plan = planArtifact(*module);
    Result<std::vector<const InstructionSet *>> isas = selectTargets({});
    EXPECT_TRUE(plan && isas);
    std::vector<IsaObject> objects;
    std::vector<std::string> names;
    for (const InstructionSet *isa : *isas) {
      objects.push_back({isa->name, compile(*isa)});
      names.push_back(isa->name);
    }
    plan->manifest.compiler = "test";
    Result<ArtifactReport> written =
        writeArtifact(*plan, objects, NoTensors(), nullptr, path, nullptr);
    EXPECT_TRUE(written) << written.error().message;
    return names;
  }

  /// Compiles the object file for an instruction set.
  std::string compile(const InstructionSet &isa) {
    auto lowered = lowerModule(*module, isa.name);
    EXPECT_TRUE(succeeded(lowered));
    Result<IsaModule> code = translate(**lowered, isa);
    EXPECT_TRUE(code && optimize(*code, 2));
    Result<std::string> object = emitCode(*code, CodeKind::Object);
    EXPECT_TRUE(object) << object.error().message;
    return *object;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Inputs with tokens in both groups, one or none.
std::vector<NamedTensor> makeInputs(int64_t rows) {
  std::vector<int64_t> groups(rows * 2);
  std::vector<double> scales(rows * 2), x(rows * 64);
  for (int64_t i = 0; i < rows * 2; ++i) {
    groups[i] = i * i % 5 - 2; // below 0: none
    scales[i] = double(i % 7 + 1);
  }
  for (int64_t i = 0; i < rows * 64; ++i)
    x[i] = double(i % 11) - 4;
  return {{"groups", Tensor::of({rows, 2}, groups)},
          {"scales", Tensor::of({rows, 2}, scales)},
          {"x", Tensor::of({rows, 64}, x)}};
}

TEST_F(PlanArtifact, namesBoundedSizes) {
  Result<ArtifactPlan> plan = planArtifact(*module);
  ASSERT_TRUE(plan);
  const ManifestEntry &entry = plan->manifest.entries.at(0);
  EXPECT_EQ(entry.symbolOrder, (std::vector<std::string>{"routed", "rows"}));
  ASSERT_EQ(entry.boundedSizes.size(), 1u);
  EXPECT_EQ(entry.boundedSizes[0].name, "routed");
  EXPECT_EQ(entry.boundedSizes[0].bound.str(), "2*rows");
  // Memory and cost of a call depend on values known before it.
  EXPECT_EQ(entry.arenaBytes.symbols(), std::vector<std::string>{"rows"});
  EXPECT_EQ(entry.flops.symbols(), std::vector<std::string>{"rows"});
}

TEST_F(PlanArtifact, runsWithSizesThatPhasesWrite) {
  std::string pattern =
      std::filesystem::temp_directory_path() / "transom-plan-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string path = pattern + "/model.so";
  for (const std::string &isa : write(path))
    for (unsigned threads : {1u, 3u}) {
      if (!transom::testing::CompiledModel::runsHere(isa))
        continue;
      transom::testing::CompiledModel compiled;
      ASSERT_EQ(compiled.load(path, isa, threads), "");
      // A session keeps the symbols from the previous call: more rows, then
      // fewer.
      for (int64_t rows : {3, 40, 1}) {
        SCOPED_TRACE(isa + " rows " + std::to_string(rows));
        std::vector<NamedTensor> inputs = makeInputs(rows);
        auto expected = evaluate(*module, "run", inputs);
        ASSERT_TRUE(expected) << expected.error().message;
        auto got = compiled.run("run", inputs, *expected);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ((*got)[0].tensor.getReals(),
                  (*expected)[0].tensor.getReals());
      }
    }
  std::filesystem::remove_all(pattern);
}

// Quantized experts take fewer bytes, and their results have the same bits on
// each instruction set, with any thread count and row count.
TEST_F(PlanArtifact, runsExpertsInWholeNumbers) {
  std::string pattern =
      std::filesystem::temp_directory_path() / "transom-plan-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string path = pattern + "/model.so";
  const int64_t floatBytes = getWeightBytes(), largest = 40;
  const std::vector<NamedTensor> inputs = makeInputs(largest);
  auto floats = evaluate(*module, "run", inputs);
  ASSERT_TRUE(floats) << floats.error().message;
  make(OperandFormat::getQuantized(StorageType::I8, 32));
  EXPECT_LT(getWeightBytes(), 0.35 * static_cast<double>(floatBytes));
  Result<ArtifactPlan> plan = planArtifact(*module);
  ASSERT_TRUE(plan);
  // Two experts for each row.
  EXPECT_EQ(plan->manifest.entries.at(0).int8Flops.str(), "1536*rows");

  std::vector<double> first;
  for (const std::string &isa : write(path))
    for (unsigned threads : {1u, 3u}) {
      if (!transom::testing::CompiledModel::runsHere(isa))
        continue;
      SCOPED_TRACE(isa);
      transom::testing::CompiledModel compiled;
      ASSERT_EQ(compiled.load(path, isa, threads), "");
      auto all = compiled.run("run", inputs, *floats);
      ASSERT_TRUE(all) << all.error().message;
      const auto got = (*all)[0].tensor.getReals();
      const auto expected = (*floats)[0].tensor.getReals();
      ASSERT_EQ(got.size(), expected.size());
      // A number is off by at most 1 % in both operands.
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], expected[i], 0.02 * std::abs(expected[i])) << i;
      if (first.empty())
        first = got;
      EXPECT_EQ(got, first);
      // The first rows alone.
      auto some = compiled.run("run", makeInputs(3), *floats);
      ASSERT_TRUE(some) << some.error().message;
      const auto few = (*some)[0].tensor.getReals();
      EXPECT_TRUE(std::equal(few.begin(), few.begin() + 3 * 6, got.begin()));
    }
  EXPECT_FALSE(first.empty());
  std::filesystem::remove_all(pattern);
}

constexpr const char *cross = R"mlir(
!x = !kern.buffer<[rows, 4] x f32>
!cache = !kern.cache<heads 1, key 4, value 4, read_only 1500, f32>
module attributes {attn.name = "cross"} {
  kern.cache @own : !kern.cache<heads 1, key 4, value 4, f32>
  kern.cache @cross : !cache
  func.func @step(%q: !x {attn.name = "q", attn.role = "data"}, %y: !x {attn.name = "y"})
      attributes {kern.inputs = 1 : i64, kern.symbols = ["keys", "parts", "rows", "source_keys"]} {
    %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
    %u = kern.cache_batch @cross {keys = "source_keys"} : !kern.ragged<1>
    %c = kern.get_cache @cross : !cache
    %t = kern.alloc : !kern.buffer<[parts, 8640] x f32>
    kern.attention %q ragged %s, %u cache %c scratch %t outs(%y) heads 1 kv_heads 1 scale 0.5 :
        !x, !kern.ragged<0>, !kern.ragged<1>, !cache, !kern.buffer<[parts, 8640] x f32>, !x
    return
  }
}
)mlir";

// The read-only cross attention cache is a separate group, and its keys have
// their own table and symbol.
TEST_F(PlanArtifact, describesReadOnlyCaches) {
  module = parseSourceString<ModuleOp>(cross, &context);
  ASSERT_TRUE(module);
  PassManager manager(&context);
  manager.addPass(createPlanCachesPass());
  manager.addPass(createFormPhasesPass());
  manager.addPass(createPlanMemoryPass());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  Result<ArtifactPlan> plan = planArtifact(*module);
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan->manifest.decoder);
  const std::vector<ManifestCache> &caches = plan->manifest.decoder->caches;
  ASSERT_EQ(caches.size(), 2u);
  EXPECT_FALSE(caches[0].readOnly);
  EXPECT_TRUE(caches[1].readOnly);
  EXPECT_EQ(caches[1].positions, 1500);
  const ManifestEntry &entry = plan->manifest.entries.at(0);
  EXPECT_EQ(entry.kind, EntryKind::Step);
  ASSERT_EQ(entry.ragged.size(), 2u);
  EXPECT_FALSE(entry.ragged[0].cacheGroup);
  EXPECT_EQ(entry.ragged[0].keys, "keys");
  EXPECT_EQ(entry.ragged[1].cacheGroup, 1);
  EXPECT_EQ(entry.ragged[1].keys, "source_keys");
  EXPECT_EQ(entry.ragged[1].rows, "rows");
}

} // namespace
