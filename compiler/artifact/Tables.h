// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The object file with an artifact's data: the exported struct of the ABI, the
// tables of phases, steps and layer rows, the manifest's note and the
// tokenizer.
#pragma once
#include "compiler/artifact/Artifact.h"

namespace transom {

/// Names of sections and symbols of an artifact.
inline constexpr const char *noteSection = ".note.transom";
inline constexpr const char *tokenizerSection = ".transom.tokenizer";
inline constexpr const char *weightsSection = ".transom.weights";
inline constexpr const char *weightsSymbol = "transom_weights";
inline constexpr const char *artifactSymbol = "transom_artifact";
/// Bytes of the weights section while the linker runs, a page.
inline constexpr uint64_t weightsStubBytes = 4096;
/// Owner of the notes, and their types: the manifest, and its sha256 in 32
/// bytes, which follows it.
inline constexpr const char *noteName = "transom";
inline constexpr uint32_t manifestNote = 1;
/// Bytes of a note before its descriptor.
inline constexpr uint64_t noteHeaderBytes = 20;

/// The object file of the tables. The note has room for `manifestBytes`
/// bytes (a multiple of 4), filled with spaces; the digest's note follows it.
Result<std::string> makeTables(const ArtifactPlan &plan,
                               const std::vector<std::string> &isas,
                               uint64_t manifestBytes);

} // namespace transom
