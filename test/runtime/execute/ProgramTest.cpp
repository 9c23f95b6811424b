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
