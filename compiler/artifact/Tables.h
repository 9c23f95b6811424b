// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The object file with an artifact's data: the exported ABI struct, tables for
// phases, steps and layer rows, the manifest note and the tokenizer.
#pragma once
#include "compiler/artifact/Artifact.h"

namespace transom {

/// Names for artifact sections and symbols.
inline constexpr const char *noteSection = ".note.transom";
inline constexpr const char *tokenizerSection = ".transom.tokenizer";
inline constexpr const char *weightsSection = ".transom.weights";
inline constexpr const char *weightsSymbol = "transom_weights";
inline constexpr const char *artifactSymbol = "transom_artifact";
/// Size in bytes for the weights section while the linker runs: one page.
inline constexpr uint64_t weightsStubBytes = 4096;
/// Note owner and note types: the manifest, followed by its 32-byte SHA-256
/// digest.
inline constexpr const char *noteName = "transom";
inline constexpr uint32_t manifestNote = 1;
/// Bytes in a note before its descriptor.
inline constexpr uint64_t noteHeaderBytes = 20;

/// Creates the object file with all tables. The note reserves `manifestBytes`
/// bytes (a multiple of 4), filled with spaces; the digest note follows it.
Result<std::string> makeTables(const ArtifactPlan &plan,
                               const std::vector<std::string> &isas,
                               uint64_t manifestBytes);

} // namespace transom
