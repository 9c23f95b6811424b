// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Seeded random decoders and encoder-decoders: a small `step` with caches,
// composed from the features found in model families, with sizes that no family
// has.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/e2e/random/RandomGraph.h"

namespace transom::testing {

/// Whether a decoder reads an encoder's states.
enum class DecoderKind { Decoder, EncoderDecoder };

/// A module with the entry `step`, or with `encode`, `source` and `step`; adds
/// its weights.
mlir::OwningOpRef<mlir::ModuleOp> makeRandomDecoder(mlir::MLIRContext *context,
                                                    uint64_t seed,
                                                    DecoderKind kind,
                                                    RandomWeights &weights);

/// Ids are below it.
int64_t getVocabulary(mlir::ModuleOp decoder);

/// Token ids for some sequences: mostly short, sometimes longer than a cache
/// block.
std::vector<std::vector<int64_t>> randomSequences(Random &random,
                                                  int64_t vocabulary);

} // namespace transom::testing
