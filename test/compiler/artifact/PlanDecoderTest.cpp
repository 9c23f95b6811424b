// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest of an encoder-decoder and its cache blocks.
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/pipeline/Register.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/kernel/Passes.h"
#include "runtime/manifest/ManifestFields.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

/// An encoder, the entry that fills its keys and values into two layers of
/// read-only caches, and a step.
constexpr const char *encoderDecoder = R"mlir(
!ids = !kern.buffer<[batch, seq] x i64>
!states = !kern.buffer<[batch, seq, 8] x f32>
!x = !kern.buffer<[rows1, 8] x f32>
!q = !kern.buffer<[rows, 8] x f32>
!own = !kern.cache<heads 2, key 5, value 4, bf16>
!cross = !kern.cache<heads 2, key 4, value 4, read_only 2147483647, i8>
module attributes {attn.name = "cross"} {
  kern.cache @own0 : !own
  kern.cache @cross0 : !cross
  kern.cache @own1 : !own
  kern.cache @cross1 : !cross
  kern.cache @own2 : !kern.cache<heads 1, key 4, value 2, bf16>
  func.func @encode(%ids: !ids {attn.name = "input_ids", attn.role = "ids"},
                    %mask: !ids {attn.name = "attention_mask", attn.role = "mask"},
                    %y: !states {attn.name = "last_hidden_state"})
      attributes {kern.inputs = 2 : i64, kern.symbols = ["batch", "keys1", "rows1", "seq"]} {
    %r = kern.ragged_batch mask %mask : !ids {batch = "", columns = "", rows = "rows1", keys = "keys1"} : !kern.ragged<0>
    return
  }
  func.func @fill(%x: !states {attn.name = "encoder_hidden_states", attn.role = "data"},
                  %mask: !ids {attn.name = "attention_mask", attn.role = "mask"})
      attributes {kern.inputs = 2 : i64, kern.symbols = ["batch", "keys1", "rows1", "seq"],
                  transom.kind = "source", transom.encoder = "encode"} {
    %r = kern.ragged_batch mask %mask : !ids {batch = "", columns = "", rows = "rows1", keys = "keys1"} : !kern.ragged<0>
    %c0 = kern.get_cache @cross0 : !cross
    %c1 = kern.get_cache @cross1 : !cross
    %k = kern.alloc : !x
    kern.append %k, %k ragged %r cache %c0 : !x, !x, !kern.ragged<0>, !cross
    kern.append %k, %k ragged %r cache %c1 : !x, !x, !kern.ragged<0>, !cross
    return
  }
  func.func @step(%q: !q {attn.name = "q", attn.role = "data"}, %y: !q {attn.name = "y"})
      attributes {kern.inputs = 1 : i64, kern.symbols = ["keys1", "rows", "source_keys"],
                  transom.start_rule = "last_label", transom.class_row = "last_end",
                  transom.class_token = 2 : i64} {
    %u = kern.cache_batch @cross0 {keys = "source_keys"} : !kern.ragged<1>
    %s = kern.decode_batch {rows = "rows", keys = "keys1"} : !kern.ragged<0>
    return
  }
}
)mlir";

class PlanDecoder : public ::testing::Test {
protected:
  Result<ArtifactPlan> plan(StringRef text) {
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    manager.addPass(createPlanCachesPass());
    manager.addPass(createFormPhasesPass());
    manager.addPass(createPlanMemoryPass());
    if (!module || failed(manager.run(*module)))
      return internalError("the module is not planned");
    return planArtifact(*module);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(PlanDecoder, describesAnEncoderDecoder) {
  Result<ArtifactPlan> planned = plan(encoderDecoder);
  ASSERT_TRUE(planned) << planned.error().message;
  const Manifest &manifest = planned->manifest;
  ASSERT_TRUE(manifest.decoder);
  EXPECT_EQ(manifest.decoder->encoder, "encode");
  EXPECT_EQ(manifest.decoder->startRule, "last_label");
  EXPECT_EQ(manifest.decoder->classRow, "last_end");
  EXPECT_EQ(manifest.decoder->classToken, 2);
  ASSERT_GE(manifest.entries.size(), 3u);
  EXPECT_EQ(manifest.entries[0].kind, EntryKind::Encode);
  EXPECT_EQ(manifest.entries[1].kind, EntryKind::Source);
  EXPECT_EQ(manifest.entries[1].name, "fill");
  EXPECT_TRUE(manifest.entries[1].outputs.empty());
  ASSERT_EQ(manifest.entries[1].ragged.size(), 1u);
  EXPECT_EQ(manifest.entries[1].ragged[0].mask, "attention_mask");
  // Tables come by their indices, also where entries share a symbol.
  const ManifestEntry &step = manifest.entries[2];
  EXPECT_EQ(step.kind, EntryKind::Step);
  ASSERT_EQ(step.ragged.size(), 2u);
  EXPECT_EQ(step.ragged[0].keys, "keys1");
  EXPECT_EQ(step.ragged[1].keys, "source_keys");
  EXPECT_EQ(step.ragged[1].rows, "rows");
}

std::string getText(const ManifestCacheRegion &region) {
  std::string text;
  for (int64_t number : {region.offset, region.layers, region.layerBytes,
                         region.heads, region.positions, region.bytes})
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

// The regions in a block: as pairs with two layers and one with another size,
// and as bytes with scales.
TEST_F(PlanDecoder, describesTheRegionsOfABlock) {
  Result<ArtifactPlan> planned = plan(encoderDecoder);
  ASSERT_TRUE(planned) << planned.error().message;
  const std::vector<ManifestCache> &caches = planned->manifest.decoder->caches;
  ASSERT_EQ(caches.size(), 2u);
  std::vector<std::string> own, cross;
  for (const ManifestCacheRegion &region : caches[0].regions)
    own.push_back(getText(region));
  for (const ManifestCacheRegion &region : caches[1].regions)
    cross.push_back(getText(region));
  // Offset, layers, bytes per layer, heads, positions and bytes per unit. A key
  // with 5 elements is stored as 6.
  EXPECT_EQ(own, (std::vector<std::string>{
                     "0 2 10240 2 32 384", "6144 2 10240 2 2 16",
                     "20480 1 3072 1 32 256", "22528 1 3072 1 2 8"}));
  EXPECT_EQ(cross, (std::vector<std::string>{
                       "0 2 8192 2 32 128", "4096 2 8192 2 1 4",
                       "2048 2 8192 2 1 4", "6144 2 8192 2 1 4"}));
  EXPECT_EQ(caches[0].blockBytes, 20480 + 3072);
  EXPECT_EQ(caches[1].blockBytes, 2 * 8192);
  EXPECT_TRUE(caches[1].readOnly);
  EXPECT_EQ(caches[1].positions, manifest::maxPositions);
}

TEST_F(PlanDecoder, refusesASourceWithoutEncoder) {
  std::string text = encoderDecoder;
  const std::string encoder = ", transom.encoder = \"encode\"";
  text.erase(text.find(encoder), encoder.size());
  Result<ArtifactPlan> planned = plan(text);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().message,
            "source entry 'fill' has no attribute 'transom.encoder'");
}

} // namespace
