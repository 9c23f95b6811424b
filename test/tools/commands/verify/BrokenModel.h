// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-written model with one phase replaced by a phase whose results show
// how it was run.
#pragma once
#include "test/support/fake/FakeDecoder.h"
#include "tools/commands/verify/BitsReport.h"
#include <algorithm>

namespace transom::test {

/// Phase indices in FakeArtifact.c.
enum FakePhase {
  Scatter = 3,
  Append = 5,
  ComputeLogits = 6,
  EncodeSources = 8
};

/// The right phase.
inline transom_phase getFakePhase(FakePhase phase) {
  return transom_artifact.isas[0].phases[phase];
}

/// The hand-written model's manifest, with room for offsets that the runtime
/// rounds up: verify runs with an arena that ends at a protected page.
inline Manifest getRoomyManifest() {
  Manifest manifest = fakeManifest();
  for (ManifestEntry &entry : manifest.entries)
    entry.arenaBytes = entry.arenaBytes + Polynomial(128);
  return manifest;
}

/// A model with another phase. The code lives as long as this.
class BrokenModel {
public:
  BrokenModel(Manifest manifest, FakePhase index, transom_phase phase)
      : phases(transom_artifact.isas[0].phases,
               transom_artifact.isas[0].phases + transom_artifact.num_phases),
        isa(transom_artifact.isas[0]), code(transom_artifact) {
    phases[index] = phase;
    isa.phases = phases.data();
    code.isas = &isa;
    Result<std::unique_ptr<Model>> made =
        Model::fromCode(std::move(manifest), "", code, {}, "", "broken");
    EXPECT_TRUE(bool(made)) << made.error().message;
    model = std::move(*made);
  }
  const Model &operator*() const { return *model; }
  const Model *operator->() const { return model.get(); }

private:
  std::vector<transom_phase> phases;
  transom_isa_code isa;
  transom_artifact_code code;
  std::unique_ptr<Model> model;
};

/// Returns the names of the axes with a difference, sorted.
inline std::vector<std::string>
getDifferent(const std::vector<tools::BitsCell> &cells) {
  std::vector<std::string> names;
  for (const tools::BitsCell &cell : cells)
    if (cell.verdict == tools::BitsVerdict::Different) {
      EXPECT_GT(cell.differing, 0) << cell.axis;
      EXPECT_NE(cell.difference, "") << cell.axis;
      names.push_back(cell.axis);
    }
  std::sort(names.begin(), names.end());
  return names;
}

inline bool hasName(const std::vector<std::string> &names,
                    const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace transom::test
