// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code and manifest that contradict each other.
#include "test/support/fake/Fake.h"

using namespace transom;
using namespace transom::test;

TEST(Program, refuses_inconsistent_manifests) {
  auto refused = [](auto change) {
    Manifest manifest = fakeManifest();
    change(manifest);
    Result<std::unique_ptr<Model>> model =
        Model::fromCode(manifest, "", transom_artifact, "", "", "fake");
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().status, Status::Rejected) << model.error().message;
  };
  refused([](Manifest &m) { m.entries[0].name = "decode"; });
  refused([](Manifest &m) { m.entries[0].inputs[1].role = "data"; });
  refused([](Manifest &m) {
    m.entries[0].outputs[0].shape[1] = Polynomial::symbol("rows");
  });
  refused([](Manifest &m) {
    m.entries[0].arenaBytes = Polynomial::symbol("heads");
  });
  refused([](Manifest &m) { m.entries[0].ragged[0].keys = "rows"; });
  refused([](Manifest &m) {
    m.entries[1].symbolOrder.push_back("width");
    m.entries[1].arenaBytes = Polynomial::symbol("width");
  });
}

TEST(Program, refuses_derived_entries_that_the_step_does_not_have) {
  auto load = [](auto change) {
    Manifest manifest = fakeDecoderManifest();
    change(manifest.entries);
    Result<std::unique_ptr<Model>> model =
        Model::fromCode(manifest, "", transom_artifact, "", "", "fake");
    return model ? std::string() : model.error().message;
  };
  using Entries = std::vector<ManifestEntry>;
  EXPECT_EQ(load([](Entries &) {}), "");
  EXPECT_EQ(load([](Entries &entries) { entries.pop_back(); }), "");
  ASSERT_EQ(fakeDecoderManifest().entries[1].name, "logits");
  const std::string differs =
      "fake: entry 'logits' of its manifest differs from the one that is "
      "derived from the step";
  EXPECT_EQ(load([](Entries &e) { e[1].inputs[1].shape.pop_back(); }), differs);
  EXPECT_EQ(load([](Entries &e) { e[1].inputs.pop_back(); }), differs);
  EXPECT_EQ(load([](Entries &e) { e[1].outputs.clear(); }), differs);
  EXPECT_EQ(load([](Entries &e) { e[1].inputs[0].bound.reset(); }), differs);
  EXPECT_EQ(load([](Entries &e) { e[1].outputs[0].dtype = DType::I64; }),
            differs);
  EXPECT_EQ(load([](Entries &e) { e[1].kind = EntryKind::Score; }), differs);
  EXPECT_EQ(load([](Entries &e) { e[1].name = "other"; }), "");
}

TEST(Program, refuses_head_ranges_that_it_cannot_follow) {
  const auto load = [](std::vector<transom_dispatch> dispatches) {
    std::vector<transom_entry_code> entries(transom_artifact.entries,
                                            transom_artifact.entries +
                                                transom_artifact.num_entries);
    entries[0].dispatches = dispatches.data();
    entries[0].num_dispatches = int64_t(dispatches.size());
    transom_artifact_code code = transom_artifact;
    code.entries = entries.data();
    Result<std::unique_ptr<Model>> model =
        Model::fromCode(fakeManifest(), "", code, "", "", "fake");
    return model ? std::string() : model.error().message;
  };
  EXPECT_EQ(load({{0, -1, 0, 7}, {1, -1, 4, 0}}), "");
  const std::string expected =
      " head ranges of ragged batch 0; expected a batch of the entry, between "
      "two phases";
  EXPECT_EQ(load({{0, -1, 4, 0}}),
            "fake: dispatch 0 of entry 'encode' has 4" + expected);
  EXPECT_EQ(load({{0, -1, 0, 0}, {1, -1, -1, 0}}),
            "fake: dispatch 1 of entry 'encode' has -1" + expected);
  for (int32_t batch : {-1, 1})
    EXPECT_NE(load({{0, -1, 0, 0}, {1, -1, 4, batch}}), "");
}
