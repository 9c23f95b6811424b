// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, operands and runs for attentions.
#include "test/passes/lower/attention/Attentions.h"
#include "dialects/common/PositionBuckets.h"
#include "dialects/kern/AttentionSchedule.h"
#include "runtime/base/InstructionSet.h"
#include "test/support/Reference.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace transom;
using namespace transom::test;

namespace {

std::string str(int64_t value) { return std::to_string(value); }

constexpr double kScale = 0.375;
constexpr double kFinite = -3.0;

/// Whether it is in tiles where there is AMX.
bool suitsAmx(const Attention &a) {
  return a.bf16 && !a.causal && a.dk % 32 == 0;
}

/// The instruction set's accumulation chain.
bits::Chain getChain(const Attention &a, const std::string &isa) {
  const InstructionSet &set = *findInstructionSet(isa);
  if (!a.bf16)
    return bits::Chain::F32;
  if (set.amx && suitsAmx(a))
    return bits::Chain::Amx;
  return set.dotBf16 ? bits::Chain::Dot : bits::Chain::Bf16;
}

/// Rows per work item.
int64_t getRows(const Attention &a) { return suitsAmx(a) ? 32 : 24; }

/// Scratch floats per worker, as the lowering divides them.
int64_t scratchFloats(const Attention &a) {
  int64_t heldBlocks = a.schedule.substr(0, 8) == "two-pass" ? 8 : 1;
  const int64_t columns = (a.dv + 31) / 32 * 32;
  return getRows(a) * (256 * heldBlocks + 16 + 16 * heldBlocks + 2 * columns) +
         192 + (suitsAmx(a) ? 4 * 128 * columns : 0);
}
/// Floats per worker for the results from 32 KV blocks.
int64_t partialFloats(const Attention &a) {
  return 32 * (getRows(a) * ((a.dv + 31) / 32 * 32) + 64);
}

std::string getModule(const Attention &a) {
  auto buffer = [&](const std::string &rows, int64_t columns,
                    const std::string &type, const std::string &more = "") {
    return "!kern.buffer<[" + rows + ", " + str(columns) + "] x " + type +
           more + ">";
  };
  std::string stride = a.stride ? ", stride " + str(a.stride) : "";
  std::string keys = a.cross ? "keys1" : "keys0",
              keyRows = a.cross ? "rows1" : "rows0";
  std::string type = a.bf16 ? "bf16" : "f32";
  std::string query = buffer("rows0", a.heads * a.dk, type, stride),
              key = buffer(keys, a.kvHeads * a.dk, type, ", key_panels");
  std::string value = buffer(keyRows, a.kvHeads * a.dv, type, stride),
              out = buffer("rows0", a.heads * a.dv, a.outBf16 ? "bf16" : "f32",
                           stride);
  std::string scratch = buffer("parts", scratchFloats(a), "f32"),
              partials = buffer("parts", partialFloats(a), "f32"),
              counters = "!kern.buffer<[parts, 32] x i64>";
  std::string maskDims, maskType;
  const char *names[] = {"batch", nullptr, "seq0", nullptr};
  for (int i = 0; i < 4; ++i) {
    std::string full = i == 1   ? str(a.heads)
                       : i == 3 ? (a.cross ? "seq1" : "seq0")
                                : names[i];
    maskDims += (i ? ", " : "") + (a.maskDims[i] ? full : "1");
  }
  maskType = "!kern.buffer<[" + maskDims + "] x " +
             (a.mask == MaskKind::Added ? "f32" : "i1") + ">";
  bool masked = a.mask != MaskKind::None;
  std::string segment = a.cross ? "1" : "0";
  std::string bias = "!kern.weight<[" + str(a.heads) + ", " +
                     str(2 * a.reach + 1) + "] x f32, rows>";
  std::string text;
  if (a.reach)
    text += "kern.weight @" + a.name + ".bias : " + bias +
            " = #weight.expr<file(\"" + a.name + ".bias\")>\n";
  // Rows with position terms have a stride.
  std::string scores = "!kern.buffer<[" + str(a.heads) + "*rows0, " +
                       str(a.positions) + "] x f32, stride " +
                       str(a.positions + 3) + ">";
  bool to = a.positions && a.toPosition, from = a.positions && a.fromPosition;
  text += "func.func @" + a.name + "(%q: " + query + ", %k: " + key +
          ", %v: " + value + (to ? ", %d: " + scores : "") +
          (from ? ", %e: " + scores : "") +
          (masked ? ", %m: " + maskType : "") + ", %t: " + scratch +
          (a.splitsKv ? ", %p: " + partials + ", %c: " + counters : "") +
          ", %y: " + out +
          ") attributes {kern.symbols = [\"batch\", \"keys0\", \"keys1\", "
          "\"parts\", \"rows0\", \"rows1\", \"seq0\", \"seq1\"]} {\n";
  for (const char *i : {"0", "1"})
    text += std::string("  %s") + i +
            " = kern.ragged_batch {batch = \"batch\", columns = \"seq" + i +
            "\", rows = \"rows" + i + "\", keys = \"keys" + i +
            "\"} : !kern.ragged<" + i + ">\n";
  if (a.reach)
    text += "  %b = kern.get_weight @" + a.name + ".bias : " + bias + "\n";
  text += "  kern.phase \"" + a.name +
          "\" {\n    kern.attention %q, %k, %v ragged %s0, %s" + segment +
          (a.reach ? " relative_bias %b" : "") +
          (to ? " content_to_position %d" : "") +
          (from ? " position_to_content %e" : "") + (masked ? " mask %m" : "") +
          " scratch %t" + (a.splitsKv ? " partials %p counters %c" : "") +
          " outs(%y) heads " + str(a.heads) + " kv_heads " + str(a.kvHeads) +
          " scale " + std::to_string(kScale) + " {";
  std::vector<std::string> attributes{
      "schedule = #kern.schedule<" +
      kern::AttentionSchedule::parse(a.schedule)->getAttrText() + ">"};
  if (a.causal)
    attributes.push_back("causal");
  if (a.maxDistance)
    attributes.push_back("max_distance = " + str(a.maxDistance) + " : i64");
  if (a.byColumn)
    attributes.push_back("by_column");
  if (a.window)
    attributes.push_back("window = " + str(a.window) + " : i64");
  if (a.softCap != 0)
    attributes.push_back("soft_cap = " + std::to_string(a.softCap) + " : f64");
  if (a.mask == MaskKind::Finite)
    attributes.push_back("mask_value = " + std::to_string(kFinite) + " : f64");
  for (size_t i = 0; i < attributes.size(); ++i)
    text += (i ? ", " : "") + attributes[i];
  text += "} : " + query + ", " + key + ", " + value +
          ", !kern.ragged<0>, !kern.ragged<" + segment + ">" +
          (a.reach ? ", " + bias : std::string()) + (to ? ", " + scores : "") +
          (from ? ", " + scores : "") + (masked ? ", " + maskType : "") + ", " +
          scratch + (a.splitsKv ? ", " + partials + ", " + counters : "") +
          ", " + out + "\n  }\n  return\n}\n";
  return text;
}

static std::string getText(const std::vector<Attention> &list) {
  std::string text;
  for (const Attention &a : list)
    text += getModule(a);
  return text;
}

static int64_t maskIndex(const Attention &a, const RaggedTable &q,
                         const RaggedTable &k, int64_t b, int64_t h, int64_t i,
                         int64_t j) {
  int64_t sizes[] = {q.batch(), a.heads, q.table().columns, k.table().columns},
          at[] = {b, h, i, j}, index = 0;
  for (int d = 0; d < 4; ++d)
    if (a.maskDims[d])
      index = index * sizes[d] + at[d];
  return index;
}

static size_t maskSize(const Attention &a, const RaggedTable &q,
                       const RaggedTable &k) {
  int64_t sizes[] = {q.batch(), a.heads, q.table().columns, k.table().columns},
          size = 1;
  for (int d = 0; d < 4; ++d)
    if (a.maskDims[d])
      size *= sizes[d];
  return size;
}

static std::vector<float> spread(const std::vector<float> &dense,
                                 int64_t columns, int64_t stride) {
  if (!stride)
    return dense;
  std::vector<float> out(dense.size() / columns * stride, NAN);
  for (size_t i = 0; i < dense.size(); ++i)
    out[i / columns * stride + i % columns] = dense[i];
  return out;
}

/// Keys in panels; positions without a key are NaN. In bf16 column pairs are
/// adjacent.
std::vector<float> panels(const Attention &a, const RaggedTable &k,
                          const std::vector<float> &key) {
  int64_t width = a.kvHeads * a.dk;
  std::vector<float> out(k.keys() * width, NAN);
  for (int64_t r = 0; r < k.rows(); ++r)
    for (int64_t c = 0; c < width; ++c) {
      int64_t position = k.table().token_key[r], lane = position % 32,
              line = position / 32 * width + c;
      int64_t at =
          a.bf16 ? (line - c % 2) * 32 + lane * 2 + c % 2 : line * 32 + lane;
      out[at] = key[r * width + c];
    }
  return out;
}

/// Values as bytes, in f32 or rounded to bf16.
std::vector<char> getWords(const std::vector<float> &values, bool bf16) {
  std::vector<char> bytes(values.size() * (bf16 ? 2 : 4));
  for (size_t i = 0; i < values.size(); ++i)
    if (bf16) {
      uint16_t bits = roundToBf16(values[i]);
      memcpy(&bytes[i * 2], &bits, 2);
    } else {
      memcpy(&bytes[i * 4], &values[i], 4);
    }
  return bytes;
}

float numberAt(const char *memory, int64_t index, bool bf16) {
  if (bf16) {
    uint16_t bits;
    memcpy(&bits, memory + index * 2, 2);
    return widenBf16(bits);
  }
  float value;
  memcpy(&value, memory + index * 4, 4);
  return value;
}

} // namespace

Attentions::Attentions(std::vector<Attention> list, unsigned level)
    : list(std::move(list)), harness(getText(this->list), "", level) {}

void Attentions::check(const std::string &name, const RaggedTable &queries,
                       const RaggedTable &keys,
                       const std::vector<int64_t> &numWorkers) {
  for (const Attention &a : list)
    if (name.empty() || a.name == name)
      check(a, queries, a.cross ? keys : queries, numWorkers);
}

Attentions::Operands Attentions::makeOperands(const Attention &a,
                                              const RaggedTable &q,
                                              const RaggedTable &k) {
  Random random(q.rows() * 131 + k.rows() + a.dk);
  Operands o;
  o.query = random.numbers(q.rows() * a.heads * a.dk, 2);
  o.key = random.numbers(k.rows() * a.kvHeads * a.dk, 2);
  o.value = random.numbers(k.rows() * a.kvHeads * a.dv);
  if (a.reach)
    o.relativeBias = random.numbers(a.heads * (2 * a.reach + 1));
  if (a.positions) {
    o.toPosition = random.numbers(a.heads * q.rows() * a.positions);
    o.fromPosition = random.numbers(a.heads * q.rows() * a.positions);
  }
  for (std::vector<float> *values : {&o.query, &o.key, &o.value})
    for (float &value : *values)
      if (a.bf16)
        value = widenBf16(roundToBf16(value));
  if (a.mask != MaskKind::None)
    for (size_t i = 0; i < maskSize(a, q, k); ++i) {
      bool hidden = random.below(3) == 0;
      o.selected.push_back(!hidden);
      o.added.push_back(hidden ? -INFINITY : random.number());
    }
  return o;
}

void Attentions::check(const Attention &a, const RaggedTable &q,
                       const RaggedTable &k,
                       const std::vector<int64_t> &numWorkers) {
  Operands o = makeOperands(a, q, k);
  std::map<bits::Chain, std::vector<float>> references;
  for (const std::string &isa : harness.isas()) {
    const bits::Chain chain = getChain(a, isa);
    std::vector<float> &expected = references[chain];
    if (expected.empty())
      expected = reference(a, q, k, o, chain);
    for (int64_t count : numWorkers) {
      SCOPED_TRACE(isa + " " + a.name + " rows " + str(q.rows()) + " keys " +
                   str(k.rows()) + " workers " + str(count));
      run(isa, a, q, k, o, count, expected,
          count % 2 ? Edge::End : Edge::Begin);
    }
  }
}

std::vector<float> Attentions::reference(const Attention &a,
                                         const RaggedTable &q,
                                         const RaggedTable &k,
                                         const Operands &o, bits::Chain chain) {
  std::vector<float> out(q.rows() * a.heads * a.dv);
  for (int64_t b = 0; b < q.batch(); ++b)
    for (int64_t i = 0; i < q.sequence(b).num_tokens; ++i)
      for (int64_t h = 0; h < a.heads; ++h) {
        const transom_sequence &queries = q.sequence(b), &keys = k.sequence(b);
        int64_t kvHead = h / (a.heads / a.kvHeads),
                row = queries.first_token + i;
        ReferenceAttention r;
        r.query = o.query.data() + (row * a.heads + h) * a.dk;
        r.keyStride = a.kvHeads * a.dk;
        r.valueStride = a.kvHeads * a.dv;
        r.keys = o.key.data() + keys.first_token * r.keyStride + kvHead * a.dk;
        r.values =
            o.value.data() + keys.first_token * r.valueStride + kvHead * a.dv;
        r.chain = chain;
        r.dk = a.dk;
        r.dv = a.dv;
        r.scale = float(kScale * 1.4426950408889634);
        if (a.softCap != 0) {
          r.preCap = float(kScale / a.softCap);
          r.postCap = float(a.softCap * 1.4426950408889634);
        }
        r.hidden = a.mask == MaskKind::Finite
                       ? float(kFinite * 1.4426950408889634)
                       : -INFINITY;
        // Queries from another ragged batch are aligned with the last keys.
        int64_t position = a.cross ? i + keys.num_keys - queries.num_tokens : i;
        if (a.byColumn)
          position = q.table().token_column[row];
        for (int64_t j = 0; j < keys.num_keys; ++j) {
          int64_t own =
              a.byColumn ? k.table().token_column[keys.first_token + j] : j;
          bool visible = !a.causal || own <= position;
          if (a.window)
            visible = visible && own > position - a.window &&
                      (a.causal || own < position + a.window);
          if (a.reach)
            r.added.push_back(
                o.relativeBias[h * (2 * a.reach + 1) + a.reach +
                               std::clamp(own - position, -a.reach, a.reach)]);
          if (a.positions) {
            const int64_t at =
                PositionBuckets{a.positions, a.maxDistance}.getRow(position -
                                                                   own);
            auto read = [&](const std::vector<float> &all, int64_t of) {
              return all[(h * q.rows() + of) * a.positions + at];
            };
            if (a.toPosition)
              r.toPosition.push_back(read(o.toPosition, row));
            if (a.fromPosition)
              r.fromPosition.push_back(
                  read(o.fromPosition, keys.first_token + j));
          }
          r.visible.push_back(visible);
          int64_t at =
              a.mask == MaskKind::None ? 0 : maskIndex(a, q, k, b, h, i, j);
          if (a.mask == MaskKind::Added)
            r.added.push_back(o.added[at]);
          else if (a.mask != MaskKind::None)
            r.selected.push_back(o.selected[at]);
        }
        std::vector<float> line = referenceAttention(r);
        std::copy(line.begin(), line.end(),
                  out.begin() + (row * a.heads + h) * a.dv);
      }
  return out;
}

void Attentions::run(const std::string &isa, const Attention &a,
                     const RaggedTable &q, const RaggedTable &k,
                     const Operands &o, int64_t numWorkers,
                     const std::vector<float> &expected, Edge edge) {
  int64_t columns = a.heads * a.dv, stride = a.stride ? a.stride : columns;
  auto words = [&](const std::vector<float> &values) {
    return Guarded<char>(getWords(values, a.bf16), edge);
  };
  // Operands in guarded memory; scratch memory is NaN.
  Guarded<char> query = words(spread(o.query, a.heads * a.dk, a.stride)),
                key = words(panels(a, k, o.key)),
                value = words(spread(o.value, a.kvHeads * a.dv, a.stride)),
                out(q.rows() * stride * (a.outBf16 ? 2 : 4), edge);
  Guarded<float> toPosition(
      spread(o.toPosition, a.positions ? a.positions : 1, a.positions + 3),
      edge),
      fromPosition(spread(o.fromPosition, a.positions ? a.positions : 1,
                          a.positions + 3),
                   edge);
  Guarded<float> added(o.added, edge),
      scratch(numWorkers * scratchFloats(a), edge),
      partials(numWorkers * partialFloats(a), edge);
  Guarded<int8_t> selected(o.selected, edge);
  Guarded<int64_t> counters(numWorkers * 32, edge);
  std::fill(counters.begin(), counters.end(), 0);
  std::fill(partials.begin(), partials.end(), NAN);
  std::fill(scratch.begin(), scratch.end(), NAN);
  std::fill(out.begin(), out.end(), char(-7));
  // Arguments in the function's order.
  PhaseCall call;
  call.numWorkers = numWorkers;
  call.symbols = {{"batch", q.batch()},       {"rows0", q.rows()},
                  {"keys0", q.keys()},        {"seq0", q.table().columns},
                  {"rows1", k.rows()},        {"keys1", k.keys()},
                  {"seq1", k.table().columns}};
  call.ragged = {q.table(), k.table()};
  call.args = {query.data(), key.data(), value.data()};
  if (a.positions && a.toPosition)
    call.args.push_back(toPosition.data());
  if (a.positions && a.fromPosition)
    call.args.push_back(fromPosition.data());
  if (a.mask == MaskKind::Added)
    call.args.push_back(added.data());
  else if (a.mask != MaskKind::None)
    call.args.push_back(selected.data());
  call.args.push_back(scratch.data());
  if (a.splitsKv)
    call.args.insert(call.args.end(), {partials.data(), counters.data()});
  call.args.push_back(out.data());
  if (a.reach)
    std::copy(o.relativeBias.begin(), o.relativeBias.end(),
              harness.weight(a.name + ".bias"));
  harness.run(isa, a.name, call, edge == Edge::Begin);
  EXPECT_EQ(std::count(counters.begin(), counters.end(), 0), numWorkers * 32);
  // Compare in the output type.
  int64_t wrong = 0;
  for (int64_t r = 0; r < q.rows(); ++r)
    for (int64_t c = 0; c < columns; ++c) {
      float got = numberAt(out.data(), r * stride + c, a.outBf16),
            right = expected[r * columns + c];
      if (a.outBf16)
        right = widenBf16(roundToBf16(right));
      wrong += got != right;
    }
  EXPECT_EQ(wrong, 0);
}

Attention test::head(const std::string &name, int64_t heads, int64_t kvHeads,
                     int64_t dk, int64_t dv) {
  Attention a;
  a.name = name;
  a.heads = heads;
  a.kvHeads = kvHeads;
  a.dk = dk;
  a.dv = dv;
  return a;
}

Attention test::masked(const std::string &name, MaskKind kind,
                       std::vector<bool> dims) {
  Attention a = head(name, 2, 2, 5, 5);
  a.mask = kind;
  a.maskDims = std::move(dims);
  return a;
}

std::vector<std::vector<int>> test::holes(int64_t batch, int64_t columns,
                                          uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<int>> mask(batch, std::vector<int>(columns));
  for (auto &row : mask)
    for (int &bit : row)
      bit = random.below(4) != 0;
  return mask;
}
