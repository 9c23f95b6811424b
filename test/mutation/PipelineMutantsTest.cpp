// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools in random pipelines that have another kind after the passes: each kind
// occurs with and without padding, in attn and in kern, and each change is
// found.
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "test/mutation/MutatedModel.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Returns true for rows without padding.
bool isRagged(attn::PoolOp op) { return bool(op.getRagged()); }
bool isRagged(kern::PoolOp op) {
  auto batch = op.getRagged().getDefiningOp<kern::RaggedBatchOp>();
  return batch && batch.getMask();
}

/// `attn.pool mean ragged`.
template <typename PoolT> std::string getLabel(PoolT op) {
  return (op->getName().getStringRef() + " " + stringifyPoolKind(op.getKind()) +
          (isRagged(op) ? " ragged" : " padded"))
      .str();
}

/// Returns true if column 0 is the first key: no token is hidden.
template <typename PoolT> bool isSame(PoolT op, StringRef a, StringRef b) {
  return !isRagged(op) && !op.getMask() &&
         ((a == "first" && b == "first_key") ||
          (a == "first_key" && b == "first"));
}

class PipelineMutants : public ::testing::Test {
protected:
  /// Plants each other kind in each pool of a module.
  template <typename PoolT, typename KindAttrT>
  void changeKinds(MutatedModel &model, unsigned numKinds, uint64_t seed) {
    SmallVector<PoolT> pools;
    model.getModule().walk([&](PoolT pool) { pools.push_back(pool); });
    using Kind = decltype(pools.front().getKind());
    for (size_t i = 0; i != pools.size(); ++i) {
      if (counts[getLabel(pools[i])]++)
        continue;
      for (unsigned other = 0; other != numKinds; ++other) {
        const auto kind = static_cast<Kind>(other);
        if (kind == pools[i].getKind() ||
            isSame(pools[i], stringifyPoolKind(pools[i].getKind()),
                   stringifyPoolKind(kind)))
          continue;
        OwningOpRef<ModuleOp> mutant(model.getModule().clone());
        SmallVector<PoolT> copies;
        mutant->walk([&](PoolT pool) { copies.push_back(pool); });
        copies[i].setKindAttr(KindAttrT::get(mutant->getContext(), kind));
        EXPECT_NE(model.check(*mutant).finder, Finder::Nobody)
            << "seed " << seed << ": " << getLabel(pools[i]) << " is '"
            << stringifyPoolKind(kind).str() << "'";
      }
    }
  }

  std::map<std::string, int> counts; ///< pools by their label
};

TEST_F(PipelineMutants, eachKindOfPoolIsTakenForNoOther) {
  constexpr unsigned attnKinds = attn::getMaxEnumValForPoolKind() + 1,
                     kernKinds = kern::getMaxEnumValForPoolKind() + 1;
  constexpr size_t labels = 2 * (attnKinds + kernKinds);
  // Models are pipelines for these seeds.
  for (uint64_t seed = 3; seed < 1200 && counts.size() < labels; seed += 12) {
    MutatedModel model(seed);
    if (model.hidesBugs())
      continue;
    Result<void> started = model.start();
    ASSERT_TRUE(started) << "seed " << seed << ": " << started.error().message;
    for (Stage stage : {Stage::AttnOpt, Stage::Kern}) {
      for (const transom::PassInfo &pass : getPasses())
        if (pass.stage == stage && runsPass(pass, model.getPasses()))
          ASSERT_TRUE(model.runPass(pass)) << "seed " << seed;
      changeKinds<attn::PoolOp, attn::PoolKindAttr>(model, attnKinds, seed);
      changeKinds<kern::PoolOp, kern::PoolKindAttr>(model, kernKinds, seed);
    }
  }
  std::string found;
  for (const auto &[label, count] : counts)
    found += label + "\n";
  EXPECT_EQ(counts.size(), labels) << found;
}

} // namespace
