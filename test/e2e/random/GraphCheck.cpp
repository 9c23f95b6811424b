// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a graph with inputs and results after each pass in both stages.
#include "test/e2e/random/GraphCheck.h"
#include "compiler/pipeline/Register.h"
#include "dialects/attn/Attn.h"
#include "passes/Remarks.h"

using namespace mlir;

namespace transom::testing {

/// Graph passes may reorder float64 sums; kern constants are f32.
static constexpr double reordered = 1e-10, inKern = 1e-6;

std::set<std::string> drawDisabledPasses(Random &random) {
  std::set<std::string> disabled;
  for (const transom::PassInfo &pass : getPasses())
    if (!pass.required && random.chance(15))
      disabled.insert(pass.flag.str());
  return random.chance(60) ? std::set<std::string>() : disabled;
}

/// Types that importers leave out.
static void forgetTypes(ModuleOp module) {
  module.walk([](attn::ShapeInferable op) {
    Value result = op->getResult(0);
    if (llvm::any_of(result.getUsers(), [](Operation *user) {
          return user->hasTrait<OpTrait::IsTerminator>();
        }))
      return;
    result.setType(UnrankedTensorType::get(
        cast<TensorType>(result.getType()).getElementType()));
  });
}

static void countRemarks(ModuleOp module, PassCounts &counts) {
  std::set<std::string> passes;
  for (const Remark &remark : Remarks::readFrom(module))
    if (remark.kind == RemarkKind::Passed)
      passes.insert(remark.category);
  for (const std::string &pass : passes)
    ++counts[pass];
}

GraphCheck::GraphCheck(uint64_t seed) : seed(seed), kind(getUsualKind(seed)) {
  Random random(seed ^ 0x5eed);
  forgetsTypes = random.chance(50);
  disabled = drawDisabledPasses(random);
  backend = random.chance(20) ? Backend::OneDnn : Backend::Native;
  isBf16 = backend == Backend::Native && random.chance(30);
  hasAttention = random.chance(20);
}

/// Requests an entry with attention weights, sometimes only for some layers and
/// heads.
static void askForAttention(ModuleOp module, uint64_t seed) {
  Random random(seed ^ 0xa77);
  Builder builder(module.getContext());
  module->setAttr("transom.attention", builder.getUnitAttr());
  for (const char *name :
       {"transom.attention_layers", "transom.attention_heads"})
    if (random.chance(30))
      module->setAttr(name, builder.getDenseI64ArrayAttr(
                                {random.below(2), 2 + random.below(2)}));
}

std::string checkGraph(const GraphCheck &check, PassCounts &counts) {
  // Build the graph.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  registerTransomDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = makeRandomModule(&context);
  RandomWeights weights;
  addRandomGraph(*module, check.seed, weights, check.kind);
  EvaluateOptions options;
  options.source = &weights;
  std::string entry = "g" + std::to_string(check.seed);
  // Evaluate the cases before all passes.
  std::vector<Case> cases;
  for (int i = 0; i < check.numCases; ++i) {
    Case test = {
        entry,
        randomInputs(*module, entry, check.seed * 2 + i, check.lengths),
        {}};
    auto result = evaluate(*module, entry, test.inputs, options);
    if (!result)
      return result.error().message;
    test.outputs = *result;
    cases.push_back(std::move(test));
  }
  // Set module options as the importer and the driver do.
  if (check.forgetsTypes)
    forgetTypes(*module);
  if (check.hasAttention && check.lengths == Lengths::Short)
    askForAttention(*module, check.seed);
  if (check.isBf16)
    (*module)->setAttr("transom.dtype", StringAttr::get(&context, "bf16"));
  // Run both stages and compare after each pass.
  for (Stage stage : {Stage::AttnOpt, Stage::Kern}) {
    double tolerance = stage == Stage::AttnOpt ? reordered : inKern;
    std::string complaint =
        checkPasses(*module, stage, options, cases, tolerance, check.disabled,
                    check.backend, &cases);
    if (!complaint.empty())
      return complaint;
  }
  countRemarks(*module, counts);
  return {};
}

} // namespace transom::testing
