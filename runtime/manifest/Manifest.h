// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest of an artifact: the metadata that a loader, the command line and
// a human reader need without running the model. It is JSON in a note in the
// shared object. The reader accepts any bytes and checks each field; it trusts
// the compiler that the manifest matches the code in the same file.
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

// Each struct has a list of its fields, `visitFields`, by which the manifest is
// written, read and inspected; see ManifestFields.h.

/// A symbol in the model's shapes, such as `seq`.
struct ManifestSymbol {
  std::string name;
  std::optional<int64_t> max; ///< the model's limit, if it has one

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// An entry's input or output.
struct ManifestTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Polynomial> shape;
  std::string role;                ///< inputs: `ids`, `mask` or `data`
  std::optional<int64_t> bound;    ///< ids are in [0, bound)
  std::optional<int64_t> fallback; ///< "default": the input may be omitted

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How a call's ragged batch table is built: from a mask input (`mask`,
/// `columnsOf`, `keepFirst`), from all columns of all rows in the batch
/// (`batch`, `columns`), or from the new rows of sequences with a past
/// (`sequences`).
struct ManifestRaggedBatch {
  std::string mask;       ///< name of the mask input; empty: uniform
  std::string columnsOf;  ///< input whose second dimension counts the columns
  bool keepFirst = false; ///< column 0 is a row even if it is masked
  std::string batch;      ///< uniform: number of sequences
  std::string columns;    ///< uniform: rows per sequence
  bool sequences = false; ///< new rows of cached sequences
  /// With `sequences`: the table's keys are each sequence's positions in this
  /// read-only cache group. Consecutive step sequences that share these keys
  /// are one sequence here. `rows` is the step's symbol.
  std::optional<int64_t> cacheGroup;
  std::string rows; ///< symbol for the number of rows
  /// Symbol for the positions in key panels; with `sequences` the maximum past
  /// plus new rows per sequence, rounded up to 32.
  std::string keys;
  /// Symbol for the sum over sequences of rows times keys; only costs may use
  /// it. Empty if unused. Costs over `sequences` may use all names that begin
  /// with `pairs_of_ROWS` or `reads_of_ROWS`; names that end in `_source` count
  /// positions in read-only caches.
  std::string pairs;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A symbol whose value a phase writes during a call. Argument sizes and buffer
/// offsets do not depend on it.
struct ManifestBoundedSize {
  std::string name;
  Polynomial bound; ///< its max value, used to plan memory

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The lengths that the model's position table allows.
struct ManifestPositionLimit {
  std::string input; ///< the input with the ids
  std::string rule;  ///< `column` or `nonpad_rank`
  int64_t pad = 0;   ///< the padding id of `nonpad_rank`
  int64_t max = 0;   ///< max length

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A planned buffer, with the same index as in `frame.offsets`.
struct ManifestBuffer {
  Polynomial offset, bytes;
  std::string what;
  /// Persistent: its bytes (a constant) last from call to call and are zero
  /// before the first. The runtime places them outside the arena.
  bool kept = false;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A phase or library call, as shown by `inspect` and `bench`, with the costs
/// per run.
struct ManifestDispatch {
  std::string phase, location;
  int64_t rows = 1;        ///< layers per run
  Polynomial flops{};      ///< for one layer
  Polynomial bf16Flops{};  ///< the part in bf16
  Polynomial int8Flops{};  ///< the part in integers
  int64_t weightBytes = 0; ///< weights that one layer reads completely
  Polynomial bytes{};      ///< activations that one layer reads and writes
  std::string schedule{};  ///< attention schedule; empty without attention
  int64_t headRanges = 0;  ///< see `transom_dispatch`
  /// The model file that describes the operation with the highest cost, and the
  /// JSON pointer in it; empty if unknown.
  std::string file{}, pointer{};
  /// Micro-kernels called: for each instruction set the kernels with the most
  /// rows.
  std::vector<std::string> kernels{};

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A library call's operand: a buffer or an entry argument.
struct ManifestOperand {
  bool isArgument = false;
  int64_t index = 0; ///< in `buffers`, or in the inputs followed by the outputs
  std::vector<Polynomial> shape;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A library call's weight: by its offset, or by its index in the layer's
/// entry.
struct ManifestCallWeight {
  bool inRow = false;
  int64_t at = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A dispatch computed by a library instead of generated code: `phase` -1 is
/// call 0, -2 is call 1, ... `kern.onednn` documents the members.
struct ManifestCall {
  std::string primitive;  ///< `matmul`, `batch_matmul`, `softmax`, ...
  std::string activation; ///< for a matmul; empty: none
  double epsilon = 0;     ///< for a norm
  ManifestOperand input, out;
  std::optional<ManifestOperand> rhs, residual;
  std::optional<ManifestCallWeight> weights, bias;

  /// All primitives and activations.
  static const std::vector<std::string> &primitives();
  static const std::vector<std::string> &activations();

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The function that an entry computes. The runtime and the tools choose
/// entries by kind, never by name.
enum class EntryKind {
  Run,    ///< any tensor function
  Encode, ///< hidden states or logits for a batch of token ids
  Embed,  ///< embeddings for a batch of token ids, by a pipeline
  Rerank, ///< logits that rate how well documents answer queries, by a pipeline
  Step,   ///< a decode step: new tokens for cached sequences
  /// Writes keys and values computed from encoder states into a decoder's
  /// read-only caches. No results.
  Source,
  Logits,   ///< logits for each token in a batch of token ids
  Score,    ///< log-probabilities for each token in a batch
  Generate, ///< continuations for a batch of token ids
};

/// The kind's name in the manifest, such as "encode".
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
  std::vector<std::string> symbolOrder; ///< sorted; as in `frame.symbols`
  std::vector<ManifestBuffer> buffers;
  Polynomial arenaBytes, arenaLowerBound;
  int64_t counters = 0; ///< words in `frame.counters`
  std::vector<ManifestCall> calls;
  std::vector<ManifestDispatch> dispatches;
  /// Indices in `dispatches`, in the order of a run.
  std::vector<int64_t> dispatchOrder;
  Polynomial flops;
  Polynomial bf16Flops; ///< the part in bf16
  Polynomial int8Flops; ///< the part in integers
  /// Bytes of weights that a call reads completely, each once; tables from
  /// which it gathers rows are excluded. Absent in artifacts without this
  /// value.
  std::optional<int64_t> streamedBytes;

  /// Barriers in a call with one sequence and few tokens, whose heads the
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

/// Token embedding settings for late interaction.
struct ManifestTokens {
  int64_t queryLength = 0, documentLength = 0; ///< max tokens; 0: unlimited
  int64_t expansion = 0; ///< queries are padded to this length; 0: not padded
  bool keepsLongQueries = false; ///< queries may be longer
  bool attends = false;          ///< expansion tokens are attended
  std::string expansionToken;
  std::vector<std::string> skiplist;      ///< tokens without a vector
  std::vector<std::string> skiplistTasks; ///< `query`, `document`
  /// Prompts that may be one token, or whose first word may be.
  std::vector<std::string> prefixes;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A string with slots: a literal before each slot and one after the last.
struct ManifestTemplate {
  std::vector<std::string> literals;
  std::vector<std::string> slots; ///< `query`, `document`, `prompt`

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How a cross-encoder scores pairs of query and document.
struct ManifestPairs {
  /// Returns the true token's logit or, less the false token's logit, the score
  /// of a pair; empty: the head returns the score.
  std::string entry;
  std::string refusal; ///< why pairs cannot be scored; empty: they can
  /// Templates for a pair without and with a prompt. Absent: both texts are
  /// tokenized as a pair, with the prompt before the query.
  std::optional<ManifestTemplate> plain, prompted;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The sentence-transformers pipeline that embeds texts.
struct ManifestPipeline {
  std::string entry;   ///< returns the embeddings; empty: refused
  std::string refusal; ///< why texts cannot be embedded; empty: they can
  /// Prompts that may precede a text, by name.
  std::vector<std::pair<std::string, std::string>> prompts;
  std::string defaultPrompt; ///< a prompt name; empty: none
  std::string similarity;    ///< `cosine`, `dot`, ...; empty: not specified
  int64_t dim = 0; ///< embeddings are truncated to this size; 0: they are not
  int64_t maxActive = 0; ///< max nonzero weights if sparse; 0: all
  std::optional<ManifestTokens> tokens; ///< for token embeddings
  /// The embedding is the mean of table rows: texts get no special tokens, and
  /// a text without any token also has an embedding.
  bool isStatic = false;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// How a model finds entities whose types are given with each text (GLiNER).
struct ManifestEntities {
  /// Returns pair scores from word states and type states.
  std::string entry = "score_entities";
  int64_t maxWords = 0; ///< per text; further words are ignored
  /// Max words per entity; 0: words are scored as starts, ends and insides of
  /// entities, else spans by their first and last word.
  int64_t maxWidth = 0;
  std::string pooling = "first"; ///< over tokens; or `last`, `mean`, `max`
  std::string typeToken;         ///< before each type
  int64_t typeTokenId = 0;       ///< its id
  bool readsName = false;        ///< a type's state is from the token after it
  std::string separator;         ///< between the types and the text

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Model settings for the text commands.
struct ManifestText {
  bool tokenizer = false;
  int64_t maxLength = 0;
  std::string pooling; ///< `mean`, `cls`, ...
  bool normalize = false;
  std::optional<int64_t> maskToken;         ///< id of the token to fill in
  bool givesTypes = true;                   ///< false: all tokens have type 0
  std::optional<ManifestPipeline> pipeline; ///< absent: pooled by the runtime
  std::optional<ManifestEntities> entities; ///< absent: no such head
  std::optional<ManifestPairs> pairs;       ///< absent: default rules
  std::string tokenizerRefusal; ///< why the artifact has no tokenizer

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Location of the tokenizer tables in the file.
struct ManifestTokenizer {
  uint64_t offset = 0, bytes = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Location of the keys, values or scales for some layers in a group's blocks.
/// Every head has a run with 256 positions; a layer's runs are consecutive.
struct ManifestCacheRegion {
  int64_t offset = 0;     ///< first run of the first layer in a block
  int64_t layers = 1;     ///< consecutive layers that have this region
  int64_t layerBytes = 0; ///< distance to the next layer's region
  int64_t heads = 1;      ///< runs per layer
  int64_t positions = 1;  ///< per unit: positions that share bytes, such as the
                          ///< 32 in a panel; a run has 256 / positions units
  int64_t bytes = 1;      ///< per unit

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A cache group in a decoder: layers with equal window and type.
struct ManifestCache {
  int64_t window = 0;       ///< attended positions, including the token; 0: all
  DType dtype = DType::F32; ///< for keys and values
  int64_t layers = 0;
  int64_t blockBytes = 0; ///< for 256 positions in all layers; a multiple of 64
  /// Filled once per sequence, for cross attention; otherwise the cache grows
  /// with the sequence's tokens.
  bool readOnly = false;
  int64_t positions = 0; ///< for a read-only group: max per sequence;
                         ///< manifest::maxPositions: unlimited
  /// The contents of a block, without padding, by which the runtime copies and
  /// clears positions.
  std::vector<ManifestCacheRegion> regions;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Runtime metadata for a model with a decode step.
struct ManifestDecoder {
  std::optional<int64_t> context;    ///< max positions; absent: unlimited
  int64_t vocabulary = 0;            ///< ids are in [0, vocabulary)
  std::vector<ManifestCache> caches; ///< by group
  std::string generation;            ///< generation settings as JSON
  /// For an encoder-decoder: the entry whose first result is the input of the
  /// `source` entry. Empty for other models.
  std::string encoder;
  /// The token before the first target token. Empty: `decoder_start_token_id`
  /// in `generation`; `last_label`: the last target token.
  std::string startRule;
  /// The token that a classification head reads. Empty: the last one;
  /// `last_end`: the last `classToken`, or end token in `generation` if it is
  /// absent; `last_other`: the last token whose id differs from `classToken`,
  /// the padding id; without one, the first.
  std::string classRow;
  std::optional<int64_t> classToken;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct Manifest {
  int64_t abi = TRANSOM_ABI_VERSION;
  std::string compiler, name, family, architecture, head = "none";
  uint64_t fileBytes = 0; ///< exact artifact size
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
  std::optional<std::string> problemType; ///< for a classification head
  /// The function from logit to pair score, as named in a cross-encoder's
  /// files: `sigmoid` (also the default), `identity`, or another that is not
  /// supported.
  std::optional<std::string> scoreActivation;
  std::vector<std::string> places, notes, disabledPasses;
  /// The model statistics that `inspect` shows along with the manifest's, as
  /// JSON; see compiler/statistics/ModelFigures.h. Empty: absent.
  std::string figures;
  /// The certificate from a compile with `--certify`, as JSON; see
  /// compiler/verify/Certificate.h. Empty: absent.
  std::string certificate;

  const ManifestEntry *findEntry(std::string_view entry) const;
  /// The first entry with this kind, or NULL.
  const ManifestEntry *findEntry(EntryKind kind) const;
  const ManifestSymbol *findSymbol(std::string_view symbol) const;

  /// Returns the manifest as JSON in one line; parse(toJson()) returns an equal
  /// manifest.
  std::string toJson() const;
  /// Reads and checks a manifest: types, polynomials over known symbols, names
  /// that refer to inputs. Errors are `Rejected` and begin with `fileName`. A
  /// different ABI version is detected first, by an error that names both
  /// versions.
  static Result<Manifest> parse(std::string_view text,
                                const std::string &fileName = "manifest");

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Returns the entries that the runtime derives from a decoder's step, with
/// names, arguments and results. Empty for other models. A causal language
/// model and an encoder-decoder have `logits`, `score` and `generate`; a
/// decoder with labels, or without a head, has `encode`.
std::vector<ManifestEntry> getDerivedEntries(const Manifest &manifest);

} // namespace transom
