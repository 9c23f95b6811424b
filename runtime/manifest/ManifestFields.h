// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifest fields: the JSON key, the member, whether the key may be absent, and
// the accepted values. The manifest is written, read and inspected by this
// list, so a new field is a member in Manifest.h and a line here. Fields are
// written in visiting order.
#pragma once
#include "runtime/abi/Layout.h"
#include "runtime/base/OperandFormat.h"
#include "runtime/manifest/Manifest.h"

namespace transom::manifest {

/// The values that a reader accepts for an integer.
struct Range {
  int64_t low = 0, high = INT64_MAX;
};
inline constexpr Range anyInteger = {INT64_MIN, INT64_MAX};

/// The values that a reader accepts for a string or type.
struct Choice {
  std::vector<std::string> names;
};

/// Constraint on a string's referent, or on a polynomial's symbols.
enum class Refers {
  Nothing, ///< a string is free; a polynomial uses entry symbols
  Symbol,  ///< an entry symbol
  Cost     ///< a polynomial may also use cost symbols
};

/// Strings in ascending order, each once.
struct Sorted {};

inline constexpr int64_t maxCounters = 1 << 20;
inline constexpr int64_t maxLayers = 1 << 16;
inline constexpr int64_t maxBlockBytes = int64_t(1) << 40;
/// Positions are int32_t in call tables.
inline constexpr int64_t maxPositions = INT32_MAX;

} // namespace transom::manifest

namespace transom {

// A visitor has these functions; `constraint` has one of the types above.
//
//   required(key, member[, constraint])   always written, must be present
//   defaulted(key, member[, constraint])  always written, may be absent
//   optional(key, member[, constraint])   left out where it has its default
//                                         value, may be absent
//   nullable(key, member)                 absent value is written as null
//   either(keys, flag, member)            written under the second key if the
//                                         flag is set, else under the first

template <typename Self, typename Visitor>
void ManifestSymbol::visitFields(Self &self, Visitor &visit) {
  visit.nullable("max", self.max);
}

template <typename Self, typename Visitor>
void ManifestTensor::visitFields(Self &self, Visitor &visit) {
  visit.required("name", self.name);
  visit.required("dtype", self.dtype);
  visit.required("shape", self.shape);
  visit.optional("role", self.role);
  visit.optional("bound", self.bound);
  visit.optional("default", self.fallback, manifest::anyInteger);
}

template <typename Self, typename Visitor>
void ManifestRaggedBatch::visitFields(Self &self, Visitor &visit) {
  visit.optional("mask", self.mask);
  visit.optional("columns_of", self.columnsOf);
  visit.optional("keep_first", self.keepFirst);
  visit.optional("batch", self.batch);
  visit.optional("columns", self.columns);
  visit.optional("sequences", self.sequences);
  visit.optional("cache_group", self.cacheGroup);
  visit.required("rows", self.rows, manifest::Refers::Symbol);
  visit.required("keys", self.keys, manifest::Refers::Symbol);
  visit.optional("pairs", self.pairs);
}

template <typename Self, typename Visitor>
void ManifestBoundedSize::visitFields(Self &self, Visitor &visit) {
  visit.required("name", self.name, manifest::Refers::Symbol);
  visit.required("bound", self.bound);
}

template <typename Self, typename Visitor>
void ManifestPositionLimit::visitFields(Self &self, Visitor &visit) {
  visit.required("input", self.input);
  visit.required("rule", self.rule,
                 manifest::Choice{{"column", "nonpad_rank"}});
  visit.defaulted("pad", self.pad, manifest::anyInteger);
  visit.required("max", self.max);
}

template <typename Self, typename Visitor>
void ManifestBuffer::visitFields(Self &self, Visitor &visit) {
  visit.required("offset", self.offset);
  visit.required("bytes", self.bytes);
  visit.optional("what", self.what);
  visit.optional("kept", self.kept);
}

template <typename Self, typename Visitor>
void ManifestDispatch::visitFields(Self &self, Visitor &visit) {
  visit.required("phase", self.phase);
  visit.required("location", self.location);
  visit.required("rows", self.rows);
  visit.optional("flops", self.flops, manifest::Refers::Cost);
  visit.optional("bf16_flops", self.bf16Flops, manifest::Refers::Cost);
  visit.optional("int8_flops", self.int8Flops, manifest::Refers::Cost);
  visit.optional("weight_bytes", self.weightBytes);
  visit.optional("bytes", self.bytes, manifest::Refers::Cost);
  visit.optional("attention_schedule", self.schedule);
  visit.optional("head_ranges", self.headRanges, manifest::Range{0, INT32_MAX});
  visit.optional("file", self.file);
  visit.optional("pointer", self.pointer);
  visit.optional("kernels", self.kernels);
}

template <typename Self, typename Visitor>
void ManifestOperand::visitFields(Self &self, Visitor &visit) {
  visit.either({"buffer", "argument"}, self.isArgument, self.index);
  visit.required("shape", self.shape);
}

template <typename Self, typename Visitor>
void ManifestCallWeight::visitFields(Self &self, Visitor &visit) {
  visit.either({"offset", "row"}, self.inRow, self.at);
}

template <typename Self, typename Visitor>
void ManifestCall::visitFields(Self &self, Visitor &visit) {
  visit.required("primitive", self.primitive, manifest::Choice{primitives()});
  visit.required("input", self.input);
  visit.optional("rhs", self.rhs);
  visit.optional("weights", self.weights);
  visit.optional("bias", self.bias);
  visit.optional("activation", self.activation,
                 manifest::Choice{activations()});
  visit.optional("residual", self.residual);
  visit.required("out", self.out);
  visit.optional("epsilon", self.epsilon);
}

template <typename Self, typename Visitor>
void ManifestEntry::visitFields(Self &self, Visitor &visit) {
  visit.required("name", self.name);
  visit.defaulted("kind", self.kind);
  visit.optional("derived_from", self.derivedFrom);
  visit.required("symbol_order", self.symbolOrder, manifest::Sorted());
  visit.required("inputs", self.inputs);
  visit.required("outputs", self.outputs);
  visit.required("ragged", self.ragged);
  visit.optional("bounded_sizes", self.boundedSizes);
  visit.optional("position_limit", self.positionLimit);
  visit.required("buffers", self.buffers);
  visit.required("arena_bytes", self.arenaBytes);
  visit.required("arena_lower_bound", self.arenaLowerBound);
  visit.required("counters", self.counters,
                 manifest::Range{0, manifest::maxCounters});
  visit.optional("calls", self.calls);
  visit.required("dispatches", self.dispatches);
  visit.defaulted(
      "dispatch_order", self.dispatchOrder,
      manifest::Range{0, static_cast<int64_t>(self.dispatches.size()) - 1});
  visit.required("flops", self.flops, manifest::Refers::Cost);
  visit.optional("bf16_flops", self.bf16Flops, manifest::Refers::Cost);
  visit.optional("int8_flops", self.int8Flops, manifest::Refers::Cost);
  visit.optional("streamed_bytes", self.streamedBytes);
}

template <typename Self, typename Visitor>
void ManifestTokens::visitFields(Self &self, Visitor &visit) {
  const manifest::Range lengths = {0, INT32_MAX};
  visit.optional("query_length", self.queryLength, lengths);
  visit.optional("document_length", self.documentLength, lengths);
  visit.optional("expansion", self.expansion, lengths);
  visit.optional("keeps_long_queries", self.keepsLongQueries);
  visit.optional("attends", self.attends);
  visit.optional("expansion_token", self.expansionToken);
  visit.optional("skiplist", self.skiplist);
  visit.optional("skiplist_tasks", self.skiplistTasks);
  visit.optional("prefixes", self.prefixes);
}

template <typename Self, typename Visitor>
void ManifestTemplate::visitFields(Self &self, Visitor &visit) {
  visit.required("literals", self.literals);
  visit.required("slots", self.slots);
}

template <typename Self, typename Visitor>
void ManifestPairs::visitFields(Self &self, Visitor &visit) {
  visit.optional("entry", self.entry);
  visit.optional("refusal", self.refusal);
  visit.optional("plain", self.plain);
  visit.optional("prompted", self.prompted);
}

template <typename Self, typename Visitor>
void ManifestPipeline::visitFields(Self &self, Visitor &visit) {
  visit.optional("entry", self.entry);
  visit.optional("refusal", self.refusal);
  visit.optional("prompts", self.prompts);
  visit.optional("default_prompt", self.defaultPrompt);
  visit.optional("similarity", self.similarity);
  visit.optional("dim", self.dim, manifest::Range{0, INT32_MAX});
  visit.optional("max_active", self.maxActive, manifest::Range{0, INT32_MAX});
  visit.optional("tokens", self.tokens);
  visit.optional("static", self.isStatic);
}

template <typename Self, typename Visitor>
void ManifestEntities::visitFields(Self &self, Visitor &visit) {
  visit.required("entry", self.entry);
  visit.required("max_words", self.maxWords, manifest::Range{1, INT32_MAX});
  visit.optional("max_width", self.maxWidth, manifest::Range{0, 4096});
  visit.required("pooling", self.pooling,
                 manifest::Choice{{"first", "last", "mean", "max"}});
  visit.required("type_token", self.typeToken);
  visit.required("type_token_id", self.typeTokenId,
                 manifest::Range{0, INT32_MAX});
  visit.optional("reads_name", self.readsName);
  visit.required("separator", self.separator);
}

template <typename Self, typename Visitor>
void ManifestText::visitFields(Self &self, Visitor &visit) {
  visit.defaulted("tokenizer", self.tokenizer);
  visit.optional("tokenizer_refusal", self.tokenizerRefusal);
  visit.required("max_length", self.maxLength);
  visit.required("pooling", self.pooling);
  visit.defaulted("normalize", self.normalize);
  visit.optional("mask_token", self.maskToken);
  visit.defaulted("gives_types", self.givesTypes);
  visit.optional("pipeline", self.pipeline);
  visit.optional("entities", self.entities);
  visit.optional("pairs", self.pairs);
}

template <typename Self, typename Visitor>
void ManifestTokenizer::visitFields(Self &self, Visitor &visit) {
  visit.required("offset", self.offset);
  visit.required("bytes", self.bytes);
}

template <typename Self, typename Visitor>
void ManifestCacheRegion::visitFields(Self &self, Visitor &visit) {
  const manifest::Range counts = {1, INT32_MAX},
                        sizes = {1, manifest::maxBlockBytes};
  visit.required("offset", self.offset,
                 manifest::Range{0, manifest::maxBlockBytes});
  visit.required("layers", self.layers,
                 manifest::Range{1, manifest::maxLayers});
  visit.required("layer_bytes", self.layerBytes,
                 manifest::Range{0, manifest::maxBlockBytes});
  visit.required("heads", self.heads, counts);
  visit.required("positions", self.positions, manifest::Range{1, kvBlockSize});
  visit.required("bytes", self.bytes, sizes);
}

template <typename Self, typename Visitor>
void ManifestCache::visitFields(Self &self, Visitor &visit) {
  visit.optional("window", self.window,
                 manifest::Range{0, manifest::maxPositions});
  visit.required("dtype", self.dtype, manifest::Choice{getCacheStorageNames()});
  visit.required("layers", self.layers,
                 manifest::Range{1, manifest::maxLayers});
  visit.required("block_bytes", self.blockBytes,
                 manifest::Range{bufferAlignment, manifest::maxBlockBytes});
  visit.optional("read_only", self.readOnly);
  visit.optional("positions", self.positions,
                 manifest::Range{0, manifest::maxPositions});
  visit.required("regions", self.regions);
}

template <typename Self, typename Visitor>
void ManifestDecoder::visitFields(Self &self, Visitor &visit) {
  visit.optional("context", self.context,
                 manifest::Range{1, manifest::maxPositions});
  visit.required("vocabulary", self.vocabulary, manifest::Range{1, INT32_MAX});
  visit.required("caches", self.caches);
  visit.optional("generation", self.generation);
  visit.optional("encoder", self.encoder);
  visit.optional("start_rule", self.startRule,
                 manifest::Choice{{"last_label"}});
  visit.optional("class_row", self.classRow,
                 manifest::Choice{{"last_end", "last_other"}});
  visit.optional("class_token", self.classToken);
}

template <typename Self, typename Visitor>
void Manifest::visitFields(Self &self, Visitor &visit) {
  // Identify the compiler and the model.
  visit.required("abi", self.abi);
  visit.required("compiler", self.compiler);
  visit.required("name", self.name);
  visit.required("family", self.family);
  visit.required("architecture", self.architecture);
  visit.required("head", self.head);
  visit.required("file_bytes", self.fileBytes);
  // Describe the code, its options and the weights.
  visit.required("isas", self.isas);
  visit.required("dtype", self.dtype);
  visit.defaulted("backend", self.backend);
  visit.required("options", self.options);
  visit.required("inputs_sha256", self.inputsSha256);
  visit.required("weights_sha256", self.weightsSha256);
  visit.required("parameters", self.parameters);
  visit.required("weights_bytes", self.weightsBytes);
  // Describe the entries and how to use them.
  visit.required("symbols", self.symbols);
  visit.required("entries", self.entries);
  visit.optional("text", self.text);
  visit.optional("tokenizer", self.tokenizer);
  visit.optional("decoder", self.decoder);
  visit.optional("labels", self.labels);
  visit.optional("problem_type", self.problemType);
  visit.optional("score_activation", self.scoreActivation);
  // Keep records for `inspect`.
  visit.defaulted("places", self.places);
  visit.defaulted("notes", self.notes);
  visit.defaulted("disabled_passes", self.disabledPasses);
  visit.optional("figures", self.figures);
  visit.optional("certificate", self.certificate);
}

} // namespace transom
