// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest of an artifact: what a loader, the command line and a reader
// need to know about a compiled model without running it. It is JSON in a note
// of the shared object. The reader accepts any bytes and checks each field;
// that the manifest fits the code of its file is taken from the compiler.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Polynomial.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

// Each struct has a list of its fields, `visitFields`, from which the manifest
// is written, read and inspected; see ManifestFields.h.

/// A symbol of the model's shapes, such as `seq`.
struct ManifestSymbol {
  std::string name;
  std::optional<int64_t> max; ///< the model's limit, if it has one

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// An input or output of an entry.
struct ManifestTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Polynomial> shape;
  std::string role;                ///< inputs: `ids`, `mask` or `data`
  std::optional<int64_t> bound;    ///< ids lie in [0, bound)
  std::optional<int64_t> fallback; ///< "default": the input may be left out

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How the table of a ragged batch is made for a call: from a mask input
/// (`mask`, `columnsOf`, `keepFirst`), or all columns of all rows of the batch
/// (`batch`, `columns`), or the new rows of sequences with a past
/// (`sequences`).
struct ManifestRaggedBatch {
  std::string mask;       ///< name of the mask input; empty: uniform
  std::string columnsOf;  ///< input whose second dimension is the columns
  bool keepFirst = false; ///< column 0 is a row even where the mask hides it
  std::string batch;      ///< uniform: number of sequences, a polynomial
  std::string columns;    ///< uniform: rows of each, a polynomial
  bool sequences = false; ///< new rows of sequences that are in a cache
  /// Of sequences: the keys of the table are what this read-only group of
  /// caches holds of each. Sequences of the step that follow each other and
  /// share these keys are one sequence here. `rows` is that of the step.
  std::optional<int64_t> cacheGroup;
  std::string rows; ///< symbol that gets the number of rows
  /// Symbol that gets the positions in key panels; of sequences the largest
  /// past and new rows of one, rounded up to 32.
  std::string keys;
  /// Name for the sum over the sequences of rows times keys, which costs alone
  /// may use; empty where nothing does. Costs over `sequences` may use all
  /// names that begin with `pairs_of_ROWS` or `reads_of_ROWS`; those that end
  /// in `_source` count the positions of read-only caches.
  std::string pairs;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A symbol whose value a phase writes during a call. Sizes of arguments and
/// the offsets of buffers do not depend on it.
struct ManifestBoundedSize {
  std::string name;
  Polynomial bound; ///< its largest value, by which memory is planned

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Which lengths the model's table of positions allows.
struct ManifestPositionLimit {
  std::string input; ///< the input whose ids it looks at
  std::string rule;  ///< `column` or `nonpad_rank`
  int64_t pad = 0;   ///< the padding id of `nonpad_rank`
  int64_t max = 0;   ///< longest length that is allowed

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A planned buffer; its index is that of `frame.offsets`.
struct ManifestBuffer {
  Polynomial offset, bytes;
  std::string what;
  /// Its bytes, a number, last from call to call and are zero before the first:
  /// the runtime places them outside of the arena.
  bool kept = false;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A phase, or a call of a library, as `inspect` and `bench` show it, with the
/// costs of one run.
struct ManifestDispatch {
  std::string phase, location;
  int64_t rows = 1;        ///< layers that it is run for
  Polynomial flops{};      ///< for one layer
  Polynomial bf16Flops{};  ///< those of them that multiply bf16
  Polynomial int8Flops{};  ///< those of them that multiply whole numbers
  int64_t weightBytes = 0; ///< weights that one layer reads whole
  Polynomial bytes{};      ///< activations that one layer reads and writes
  std::string schedule{};  ///< of an attention in it, empty without one
  int64_t headRanges = 0;  ///< of `transom_dispatch`
  /// The file of the model that describes its heaviest operation, and the JSON
  /// pointer in it; empty where unknown.
  std::string file{}, pointer{};
  /// The micro-kernels that it calls: for each instruction set those with the
  /// most rows.
  std::vector<std::string> kernels{};

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// An operand of a library's call: a buffer, or an argument of the entry.
struct ManifestOperand {
  bool isArgument = false;
  int64_t index = 0; ///< in `buffers`, or in the inputs and then the outputs
  std::vector<Polynomial> shape;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A weight of a library's call: by its offset, or by its index in the layer's
/// entry.
struct ManifestCallWeight {
  bool inRow = false;
  int64_t at = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A dispatch that a library computes instead of generated code: `phase` -1 is
/// call 0, -2 is call 1, ... `kern.onednn` documents the members.
struct ManifestCall {
  std::string primitive;  ///< `matmul`, `batch_matmul`, `softmax`, ...
  std::string activation; ///< of a matmul; empty: none
  double epsilon = 0;     ///< of a norm
  ManifestOperand input, out;
  std::optional<ManifestOperand> rhs, residual;
  std::optional<ManifestCallWeight> weights, bias;

  /// The primitives and activations that there are.
  static const std::vector<std::string> &primitives();
  static const std::vector<std::string> &activations();

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// What an entry computes. The runtime and the tools choose by it, never by the
/// entry's name.
enum class EntryKind {
  Run,    ///< any function of tensors
  Encode, ///< hidden states or logits of a batch of token ids
  Embed,  ///< embeddings of a batch of token ids, by a pipeline
  Rerank, ///< logits of how well documents answer queries, by a pipeline
  Step,   ///< a decode step: new tokens of sequences in a cache
  /// Keys and values of the states of an encoder, into the read-only caches of
  /// a decoder. No results.
  Source,
  Logits,   ///< the logits of each token of a batch of token ids
  Score,    ///< the log-probability of each token of a batch of token ids
  Generate, ///< continuations of a batch of token ids
};

/// The name of a kind in the manifest, such as "encode".
const char *getEntryKindName(EntryKind kind);

struct ManifestEntry {
  std::string name;
  EntryKind kind = EntryKind::Run;
  /// The entry whose code the runtime runs for a derived entry; empty if the
  /// artifact has code for this entry.
  std::string derivedFrom;
  std::vector<ManifestTensor> inputs, outputs;
  std::vector<ManifestRaggedBatch> ragged;
  std::vector<ManifestBoundedSize> boundedSizes;
  std::optional<ManifestPositionLimit> positionLimit;
  std::vector<std::string> symbolOrder; ///< of `frame.symbols`, sorted
  std::vector<ManifestBuffer> buffers;
  Polynomial arenaBytes, arenaLowerBound;
  int64_t counters = 0; ///< words of `frame.counters`
  std::vector<ManifestCall> calls;
  std::vector<ManifestDispatch> dispatches;
  /// For each dispatch of a run of the entry, its index in `dispatches`.
  std::vector<int64_t> dispatchOrder;
  Polynomial flops;
  Polynomial bf16Flops; ///< those of them that multiply bf16
  Polynomial int8Flops; ///< those of them that multiply whole numbers
  /// Bytes of weights that a call reads whole, each once: not the tables of
  /// which it gathers rows. Absent in artifacts that do not tell.
  std::optional<int64_t> streamedBytes;

  /// Barriers of a call of one sequence with few tokens, whose heads the
  /// workers divide evenly: see `transom_dispatch`.
  int64_t getMinBarriers() const {
    int64_t count = 0;
    for (int64_t index : dispatchOrder)
      count += dispatches[size_t(index)].headRanges == 0;
    return count;
  }

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How the tokens of a text are embedded for late interaction.
struct ManifestTokens {
  int64_t queryLength = 0, documentLength = 0; ///< most tokens; 0: any number
  int64_t expansion = 0; ///< queries are filled up to so many; 0: they are not
  bool keepsLongQueries = false; ///< queries may be longer than that
  bool attends = false;          ///< expansion tokens are attended to
  std::string expansionToken;
  std::vector<std::string> skiplist;      ///< tokens without a vector
  std::vector<std::string> skiplistTasks; ///< `query`, `document`
  /// Prompts whose first word, or all of them, may be one token.
  std::vector<std::string> prefixes;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A text with slots: a literal before each slot and one after the last.
struct ManifestTemplate {
  std::vector<std::string> literals;
  std::vector<std::string> slots; ///< `query`, `document`, `prompt`

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How pairs of query and document are scored by a cross-encoder.
struct ManifestPairs {
  /// Gives the logit of a true token or, less that of a false one, the score
  /// of a pair; empty: the head gives it.
  std::string entry;
  std::string refusal; ///< why pairs are not scored; empty: they are
  /// The text that stands for a pair without and with a prompt. Absent: both
  /// texts are tokenized as a pair, and the prompt is put before the query.
  std::optional<ManifestTemplate> plain, prompted;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The pipeline of sentence-transformers that embeds texts.
struct ManifestPipeline {
  std::string entry;   ///< gives the embeddings; empty: they are refused
  std::string refusal; ///< why texts are not embedded; empty: they are
  /// Texts that may be put before a text, by name.
  std::vector<std::pair<std::string, std::string>> prompts;
  std::string defaultPrompt; ///< the name of one; empty: none
  std::string similarity;    ///< `cosine`, `dot`, ...; empty: not said
  int64_t dim = 0; ///< embeddings are cut to so many numbers; 0: they are not
  int64_t maxActive = 0; ///< largest weights of a sparse one; 0: all
  std::optional<ManifestTokens> tokens; ///< of embeddings of tokens
  /// The mean of vectors of a table: texts have no special tokens, and one
  /// without any token has an embedding, too.
  bool isStatic = false;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How a model finds entities of types that are given with each text (GLiNER).
struct ManifestEntities {
  /// Gives scores of pairs from the states of words and of types.
  std::string entry = "score_entities";
  int64_t maxWords = 0; ///< of a text; those after them are left out
  /// Most words of an entity; 0: words are scored as starts, ends and insides
  /// of entities, else spans by their first and last word.
  int64_t maxWidth = 0;
  std::string pooling = "first"; ///< of a word's tokens; `last`, `mean`, `max`
  std::string typeToken;         ///< before each type
  int64_t typeTokenId = 0;       ///< the id by which it is found
  bool readsName = false; ///< a type's state is that of the token after it
  std::string separator;  ///< between the types and the text

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How the text commands use the model.
struct ManifestText {
  bool tokenizer = false;
  int64_t maxLength = 0;
  std::string pooling; ///< `mean`, `cls`, ...
  bool normalize = false;
  std::optional<int64_t> maskToken;         ///< id of the token to be filled in
  bool givesTypes = true;                   ///< false: all tokens have type 0
  std::optional<ManifestPipeline> pipeline; ///< absent: pooled by the runtime
  std::optional<ManifestEntities> entities; ///< absent: there is no such head
  std::optional<ManifestPairs> pairs; ///< absent: pairs have no rules of theirs
  std::string tokenizerRefusal;       ///< why the artifact has no tokenizer

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Where the tokenizer's tables lie in the file.
struct ManifestTokenizer {
  uint64_t offset = 0, bytes = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Where the keys, the values or the scales of layers lie in a block of their
/// group. Every head has a run of 256 positions; the runs of a layer's heads
/// follow each other.
struct ManifestCacheRegion {
  int64_t offset = 0;     ///< of the first layer's first run in a block
  int64_t layers = 1;     ///< consecutive layers that have this region
  int64_t layerBytes = 0; ///< from a layer's region to that of the next layer
  int64_t heads = 1;      ///< runs of a layer
  int64_t positions = 1;  ///< of a unit: those that share bytes, such as the 32
                          ///< of a panel; a run has 256 / positions units
  int64_t bytes = 1;      ///< of a unit

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// One group of a decoder's caches: those of equal window and type.
struct ManifestCache {
  int64_t window = 0; ///< positions that a token attends to, itself included;
                      ///< 0: all
  DType dtype = DType::F32; ///< of keys and values
  int64_t layers = 0;
  int64_t blockBytes = 0; ///< of 256 positions of all its layers, times 64
  /// Filled once for a sequence, as cross attention needs it; else it grows by
  /// the tokens of its sequence.
  bool readOnly = false;
  int64_t positions = 0; ///< of a read-only group: maximum of a sequence;
                         ///< manifest::maxPositions: any number
  /// What a block consists of, apart from padding: by these the runtime copies
  /// and clears positions.
  std::vector<ManifestCacheRegion> regions;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// What the runtime needs to know about a model with a decode step.
struct ManifestDecoder {
  std::optional<int64_t> context;    ///< most positions; absent: any number
  int64_t vocabulary = 0;            ///< ids lie in [0, vocabulary)
  std::vector<ManifestCache> caches; ///< by group
  std::string generation; ///< JSON text of the settings for generation
  /// Of an encoder-decoder: the entry whose first result the entry of the kind
  /// `source` takes. Empty for other models.
  std::string encoder;
  /// The token before a target's first: empty: `decoder_start_token_id` of
  /// `generation`; `last_label`: the target's last token.
  std::string startRule;
  /// The token that a classification head reads: empty: the last one;
  /// `last_end`: the last `classToken`, or end token of `generation` if it is
  /// absent; `last_other`: the last one with another id than `classToken`, the
  /// padding id, or the first if all have it.
  std::string classRow;
  std::optional<int64_t> classToken;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct Manifest {
  int64_t abi = TRANSOM_ABI_VERSION;
  std::string compiler, name, family, architecture, head = "none";
  uint64_t fileBytes = 0; ///< exact size of the artifact
  std::vector<std::string> isas;
  std::string dtype = "f32";
  std::string backend = "native"; ///< or `onednn`
  std::vector<std::pair<std::string, std::string>> options;
  std::map<std::string, std::string> inputsSha256;
  std::string weightsSha256;
  int64_t parameters = 0;
  uint64_t weightsBytes = 0;
  std::vector<ManifestSymbol> symbols; ///< sorted by name
  std::vector<ManifestEntry> entries;
  std::optional<ManifestText> text;
  std::optional<ManifestTokenizer> tokenizer;
  std::optional<ManifestDecoder> decoder;
  std::vector<std::string> labels;        ///< empty: absent
  std::optional<std::string> problemType; ///< of a classification head
  /// What makes the score of a pair from its logit, as a cross-encoder's files
  /// name it: `sigmoid` (also where it is absent), `identity`, or another that
  /// is not supported.
  std::optional<std::string> scoreActivation;
  std::vector<std::string> places, notes, disabledPasses;
  /// JSON text of the figures of the model that `inspect` shows beside those of
  /// the manifest; see compiler/inspect/ModelFigures.h. Empty: absent.
  std::string figures;
  /// JSON text of the certificate of a compile with `--certify`; see
  /// compiler/verify/Certificate.h. Empty: absent.
  std::string certificate;

  const ManifestEntry *findEntry(std::string_view entry) const;
  /// The first entry of a kind, or NULL.
  const ManifestEntry *findEntry(EntryKind kind) const;
  const ManifestSymbol *findSymbol(std::string_view symbol) const;

  /// The JSON text in one line; parse(toJson()) gives the same manifest.
  std::string toJson() const;
  /// Reads and checks a manifest: types, polynomials over known symbols, names
  /// that refer to inputs. Errors are `Rejected` and begin with `fileName`.
  /// Another ABI version gives an error that names both before the rest is
  /// looked at.
  static Result<Manifest> parse(std::string_view text,
                                const std::string &fileName = "manifest");

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The entries that the runtime derives from the step of a decoder: their
/// names, arguments and results. Empty for other models. A causal language
/// model and an encoder-decoder have `logits`, `score` and `generate`; a
/// decoder with labels, or without a head, has `encode`.
std::vector<ManifestEntry> getDerivedEntries(const Manifest &manifest);

} // namespace transom
