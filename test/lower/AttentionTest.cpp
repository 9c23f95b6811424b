// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention against its definition as plain loops: bit by bit for all lengths,
// head shapes, masks, ragged batches and splits over parts.
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace transom::test;

namespace {

enum class MaskKind { None, Added, Selected, Finite };

struct Attention {
  std::string name;
  int64_t heads = 1, kvHeads = 1, dk = 8, dv = 8;
  bool causal = false;
  int64_t window = 0;
  double softCap = 0;
  MaskKind mask = MaskKind::None;
  std::vector<bool> maskDims = {
      true, true, true, true}; ///< false: broadcast along batch, heads, q or k
  bool cross = false;          ///< keys of other segments than the queries
  int64_t stride = 0;          ///< of query, value and outs
  std::string schedule = "auto";
  bool spreads = false; ///< has partials and counters
};

std::string str(int64_t value) { return std::to_string(value); }

constexpr double kScale = 0.375;
constexpr double kFinite = -3.0;

/// Scratch floats a part, as the lowering divides them.
int64_t scratchFloats(const Attention &a) {
  int64_t pieces = a.schedule.substr(0, 4) == "kept" ? 8 : 1;
  return 24 * (272 * pieces + 16 + 2 * ((a.dv + 31) / 32 * 32)) + 192;
}
/// Floats a part for the results of 32 pieces.
int64_t partialFloats(const Attention &a) {
  return 32 * (24 * ((a.dv + 31) / 32 * 32) + 64);
}

std::string moduleOf(const Attention &a) {
  auto buffer = [&](const std::string &rows, int64_t columns,
                    const std::string &more = "") {
    return "!kern.buffer<[" + rows + ", " + str(columns) + "] x f32" + more +
           ">";
  };
  std::string stride = a.stride ? ", stride " + str(a.stride) : "";
  std::string keys = a.cross ? "keys1" : "keys0",
              keyRows = a.cross ? "rows1" : "rows0";
  std::string query = buffer("rows0", a.heads * a.dk, stride),
              key = buffer(keys, a.kvHeads * a.dk, ", key_panels");
  std::string value = buffer(keyRows, a.kvHeads * a.dv, stride),
              out = buffer("rows0", a.heads * a.dv, stride);
  std::string scratch = buffer("parts", scratchFloats(a)),
              partials = buffer("parts", partialFloats(a)),
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
  std::string text =
      "func.func @" + a.name + "(%q: " + query + ", %k: " + key +
      ", %v: " + value + (masked ? ", %m: " + maskType : "") +
      ", %t: " + scratch +
      (a.spreads ? ", %p: " + partials + ", %c: " + counters : "") +
      ", %y: " + out +
      ") attributes {kern.symbols = [\"batch\", \"keys0\", \"keys1\", "
      "\"parts\", \"rows0\", \"rows1\", \"seq0\", \"seq1\"]} {\n";
  for (const char *i : {"0", "1"})
    text += std::string("  %s") + i +
            " = kern.segments {batch = \"batch\", columns = \"seq" + i +
            "\", rows = \"rows" + i + "\", keys = \"keys" + i +
            "\"} : !kern.segments<" + i + ">\n";
  text += "  kern.phase \"" + a.name +
          "\" {\n    kern.attention %q, %k, %v segments %s0, %s" + segment +
          (masked ? " mask %m" : "") + " scratch %t" +
          (a.spreads ? " partials %p counters %c" : "") + " outs(%y) heads " +
          str(a.heads) + " kv_heads " + str(a.kvHeads) + " scale " +
          std::to_string(kScale) + " {";
  std::vector<std::string> attributes{"schedule = \"" + a.schedule + "\""};
  if (a.causal)
    attributes.push_back("causal");
  if (a.window)
    attributes.push_back("window = " + str(a.window) + " : i64");
  if (a.softCap != 0)
    attributes.push_back("soft_cap = " + std::to_string(a.softCap) + " : f64");
  if (a.mask == MaskKind::Finite)
    attributes.push_back("mask_value = " + std::to_string(kFinite) + " : f64");
  for (size_t i = 0; i < attributes.size(); ++i)
    text += (i ? ", " : "") + attributes[i];
  text += "} : " + query + ", " + key + ", " + value +
          ", !kern.segments<0>, !kern.segments<" + segment + ">" +
          (masked ? ", " + maskType : "") + ", " + scratch +
          (a.spreads ? ", " + partials + ", " + counters : "") + ", " + out +
          "\n  }\n  return\n}\n";
  return text;
}

/// The operands of one call, dense; masks at their full size.
struct Operands {
  std::vector<float> query, key, value, added;
  std::vector<int8_t> selected;
};

class Attentions {
public:
  explicit Attentions(std::vector<Attention> list)
      : list(std::move(list)), harness(textOf(this->list)) {}

  void check(const std::string &name, const SegmentsTable &queries,
             const SegmentsTable &keys, const std::vector<int64_t> &parts) {
    for (const Attention &a : list)
      if (name.empty() || a.name == name)
        check(a, queries, a.cross ? keys : queries, parts);
  }
  void check(const SegmentsTable &segments, const std::vector<int64_t> &parts) {
    check("", segments, segments, parts);
  }

private:
  static std::string textOf(const std::vector<Attention> &list) {
    std::string text;
    for (const Attention &a : list)
      text += moduleOf(a);
    return text;
  }

  static int64_t maskIndex(const Attention &a, const SegmentsTable &q,
                           const SegmentsTable &k, int64_t b, int64_t h,
                           int64_t i, int64_t j) {
    int64_t sizes[] = {q.batch(), a.heads, q.table().columns,
                       k.table().columns},
            at[] = {b, h, i, j}, index = 0;
    for (int d = 0; d < 4; ++d)
      if (a.maskDims[d])
        index = index * sizes[d] + at[d];
    return index;
  }

  static size_t maskSize(const Attention &a, const SegmentsTable &q,
                         const SegmentsTable &k) {
    int64_t sizes[] = {q.batch(), a.heads, q.table().columns,
                       k.table().columns},
            size = 1;
    for (int d = 0; d < 4; ++d)
      if (a.maskDims[d])
        size *= sizes[d];
    return size;
  }

  static std::vector<float> reference(const Attention &a,
                                      const SegmentsTable &q,
                                      const SegmentsTable &k,
                                      const Operands &o) {
    std::vector<float> out(q.rows() * a.heads * a.dv);
    for (int64_t b = 0; b < q.batch(); ++b)
      for (int64_t i = 0; i < q.sequence(b).rows; ++i)
        for (int64_t h = 0; h < a.heads; ++h) {
          const transom_sequence &queries = q.sequence(b),
                                 &keys = k.sequence(b);
          int64_t kvHead = h / (a.heads / a.kvHeads),
                  row = queries.first_row + i;
          ReferenceAttention r;
          r.query = o.query.data() + (row * a.heads + h) * a.dk;
          r.keyStride = a.kvHeads * a.dk;
          r.valueStride = a.kvHeads * a.dv;
          r.keys = o.key.data() + keys.first_row * r.keyStride + kvHead * a.dk;
          r.values =
              o.value.data() + keys.first_row * r.valueStride + kvHead * a.dv;
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
          // Queries of other segments are aligned with the last keys.
          int64_t position = a.cross ? i + keys.keys - queries.rows : i;
          for (int64_t j = 0; j < keys.keys; ++j) {
            bool visible = !a.causal || j <= position;
            if (a.window)
              visible = visible && j > position - a.window &&
                        (a.causal || j < position + a.window);
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

  void check(const Attention &a, const SegmentsTable &q, const SegmentsTable &k,
             const std::vector<int64_t> &parts) {
    Random random(q.rows() * 131 + k.rows() + a.dk);
    Operands o;
    o.query = random.numbers(q.rows() * a.heads * a.dk, 2);
    o.key = random.numbers(k.rows() * a.kvHeads * a.dk, 2);
    o.value = random.numbers(k.rows() * a.kvHeads * a.dv);
    if (a.mask != MaskKind::None)
      for (size_t i = 0; i < maskSize(a, q, k); ++i) {
        bool hidden = random.below(3) == 0;
        o.selected.push_back(!hidden);
        o.added.push_back(hidden ? -INFINITY : random.number());
      }
    std::vector<float> wanted = reference(a, q, k, o);
    for (const std::string &isa : harness.isas())
      for (int64_t part : parts) {
        SCOPED_TRACE(isa + " " + a.name + " rows " + str(q.rows()) + " keys " +
                     str(k.rows()) + " parts " + str(part));
        run(isa, a, q, k, o, part, wanted, part % 2 ? Edge::End : Edge::Begin);
      }
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

  /// Keys in panels; what no key fills is NaN.
  static std::vector<float> panels(const Attention &a, const SegmentsTable &k,
                                   const std::vector<float> &key) {
    int64_t width = a.kvHeads * a.dk;
    std::vector<float> out(k.keys() * width, NAN);
    for (int64_t r = 0; r < k.rows(); ++r)
      for (int64_t c = 0; c < width; ++c) {
        int64_t position = k.table().row_key[r];
        out[(position / 32 * width + c) * 32 + position % 32] =
            key[r * width + c];
      }
    return out;
  }

  void run(const std::string &isa, const Attention &a, const SegmentsTable &q,
           const SegmentsTable &k, const Operands &o, int64_t parts,
           const std::vector<float> &wanted, Edge edge) {
    int64_t columns = a.heads * a.dv, stride = a.stride ? a.stride : columns;
    Guarded<float> query(spread(o.query, a.heads * a.dk, a.stride), edge),
        key(panels(a, k, o.key), edge),
        value(spread(o.value, a.kvHeads * a.dv, a.stride), edge),
        added(o.added, edge), scratch(parts * scratchFloats(a), edge),
        partials(parts * partialFloats(a), edge), out(q.rows() * stride, edge);
    Guarded<int8_t> selected(o.selected, edge);
    Guarded<int64_t> counters(parts * 32, edge);
    std::fill(counters.begin(), counters.end(), 0);
    std::fill(partials.begin(), partials.end(), NAN);
    std::fill(scratch.begin(), scratch.end(), NAN);
    std::fill(out.begin(), out.end(), -7.0f);
    PhaseCall call;
    call.parts = parts;
    call.symbols = {{"batch", q.batch()},       {"rows0", q.rows()},
                    {"keys0", q.keys()},        {"seq0", q.table().columns},
                    {"rows1", k.rows()},        {"keys1", k.keys()},
                    {"seq1", k.table().columns}};
    call.segments = {q.table(), k.table()};
    call.args = {query.data(), key.data(), value.data()};
    if (a.mask == MaskKind::Added)
      call.args.push_back(added.data());
    else if (a.mask != MaskKind::None)
      call.args.push_back(selected.data());
    call.args.push_back(scratch.data());
    if (a.spreads)
      call.args.insert(call.args.end(), {partials.data(), counters.data()});
    call.args.push_back(out.data());
    harness.run(isa, a.name, call, edge == Edge::Begin);
    EXPECT_EQ(std::count(counters.begin(), counters.end(), 0), parts * 32);
    int64_t wrong = 0;
    for (int64_t r = 0; r < q.rows(); ++r)
      for (int64_t c = 0; c < columns; ++c) {
        float got = out[r * stride + c], right = wanted[r * columns + c];
        // The tanh of a soft cap is not exact.
        wrong +=
            a.softCap != 0 ? !(std::fabs(got - right) < 2e-6) : got != right;
      }
    EXPECT_EQ(wrong, 0);
  }

  std::vector<Attention> list;
  KernelHarness harness;
};

Attention head(const std::string &name, int64_t heads, int64_t kvHeads,
               int64_t dk, int64_t dv) {
  Attention a;
  a.name = name;
  a.heads = heads;
  a.kvHeads = kvHeads;
  a.dk = dk;
  a.dv = dv;
  return a;
}

Attention masked(const std::string &name, MaskKind kind,
                 std::vector<bool> dims) {
  Attention a = head(name, 2, 2, 5, 5);
  a.mask = kind;
  a.maskDims = std::move(dims);
  return a;
}

/// A mask of this batch with random holes.
std::vector<std::vector<int>> holes(int64_t batch, int64_t columns,
                                    uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<int>> mask(batch, std::vector<int>(columns));
  for (auto &row : mask)
    for (int &bit : row)
      bit = random.below(4) != 0;
  return mask;
}

} // namespace

TEST(Attention, EveryLength) {
  Attentions attentions({head("plain", 1, 1, 5, 12)});
  for (int64_t length = 1; length <= 600;
       length += length < 70 || length % 32 > 28 || length % 32 < 3 ? 1 : 13)
    attentions.check(SegmentsTable::uniform(1, length), {1 + length % 2});
}

TEST(Attention, HeadShapes) {
  std::vector<Attention> list = {
      head("one", 2, 2, 1, 1),     head("bert", 2, 2, 64, 64),
      head("narrow", 3, 1, 12, 5), head("wide", 4, 2, 80, 12),
      head("values", 2, 1, 5, 80), head("odd", 6, 3, 33, 31)};
  Attention strided = head("strided", 2, 2, 12, 12);
  strided.stride = 40;
  list.push_back(strided);
  Attentions attentions(list);
  attentions.check(SegmentsTable::uniform(2, 37), {1, 3});
  attentions.check(SegmentsTable::uniform(1, 290), {2});
}

TEST(Attention, RaggedBatchesAndParts) {
  Attentions attentions({head("plain", 3, 3, 7, 9)});
  attentions.check(
      SegmentsTable({{1, 1, 1, 0}, {0, 0, 0, 0}, {1, 0, 1, 1}, {0, 1, 0, 0}}),
      {1, 2, 3, 5});
  attentions.check(SegmentsTable({{0, 1, 1, 0}, {0, 0, 0, 0}, {1, 0, 1, 1}},
                                 /*keepFirst=*/true),
                   {1, 2, 3, 5});
  attentions.check(SegmentsTable(holes(5, 300, 1)), {1, 2, 3, 5, 16});
  attentions.check(SegmentsTable({{0, 0}, {0, 0}}), {1, 2});
  attentions.check(SegmentsTable::uniform(0, 3), {1, 2});
}

TEST(Attention, CausalAndWindow) {
  Attention causal = head("causal", 2, 1, 6, 6), window = causal, both = causal,
            cross = causal;
  causal.causal = both.causal = cross.causal = true;
  window.name = "window";
  both.name = "both";
  window.window = both.window = 7;
  cross.name = "cross";
  cross.cross = true;
  Attention wide = both;
  wide.name = "wide";
  wide.window = 270;
  Attentions attentions({causal, window, both, cross, wide});
  for (int64_t length : {1, 2, 24, 25, 33, 257, 560})
    attentions.check("", SegmentsTable::uniform(2, length),
                     SegmentsTable::uniform(2, length + 3), {2});
  attentions.check(SegmentsTable(holes(3, 60, 2)), {1, 3});
  attentions.check(SegmentsTable(holes(3, 60, 3), /*keepFirst=*/true), {1});
}

TEST(Attention, Masks) {
  std::vector<Attention> list;
  int64_t index = 0;
  for (MaskKind kind : {MaskKind::Added, MaskKind::Selected, MaskKind::Finite})
    for (std::vector<bool> dims : {std::vector<bool>{true, true, true, true},
                                   {true, false, false, true},
                                   {false, false, true, true},
                                   {false, true, true, false}})
      list.push_back(masked("m" + str(index++), kind, dims));
  Attention cross =
                masked("cross", MaskKind::Selected, {true, true, true, true}),
            causal =
                masked("causal", MaskKind::Added, {true, true, true, true});
  cross.cross = true;
  causal.causal = true;
  list.push_back(cross);
  list.push_back(causal);
  Attentions attentions(list);
  for (int64_t length : {1, 2, 17, 40, 280})
    attentions.check("", SegmentsTable::uniform(2, length),
                     SegmentsTable::uniform(2, length + 5), {1, 2});
}

TEST(Attention, CrossAttention) {
  Attention cross = head("cross", 2, 2, 8, 8);
  cross.cross = true;
  Attentions attentions({cross});
  attentions.check("", SegmentsTable::uniform(3, 5),
                   SegmentsTable::uniform(3, 300), {1, 2});
  attentions.check("", SegmentsTable::uniform(3, 50),
                   SegmentsTable::uniform(3, 2), {1, 2});
  attentions.check("", SegmentsTable::uniform(2, 50),
                   SegmentsTable({{0, 0, 0}, {1, 0, 1}}), {1, 2});
}

TEST(Attention, SoftCap) {
  Attention cap = head("cap", 2, 2, 16, 8);
  cap.softCap = 5;
  Attentions attentions({cap});
  attentions.check(SegmentsTable::uniform(2, 45), {1, 2});
}

TEST(Attention, SchedulesGiveTheSameBits) {
  std::vector<Attention> list;
  for (const char *schedule : {"auto", "pieces:1", "pieces:7", "pieces:24",
                               "kept", "kept:5", "spread", "spread:3"}) {
    Attention plain = head("plain", 2, 1, 6, 10), causal = plain,
              window = plain, cross = plain,
              masks =
                  masked("masks", MaskKind::Selected, {true, true, true, true});
    causal.name = "causal";
    causal.causal = true;
    window.name = "window";
    window.window = 300;
    cross.name = "cross";
    cross.cross = true;
    for (Attention a : {plain, causal, window, cross, masks}) {
      a.schedule = schedule;
      a.name += str(list.size());
      a.spreads = a.schedule.substr(0, 6) == "spread" ||
                  (a.cross && a.schedule == "auto");
      list.push_back(a);
    }
  }
  Attentions attentions(list);
  for (int64_t length : {1, 19, 257, 600})
    attentions.check("", SegmentsTable::uniform(2, length),
                     SegmentsTable::uniform(2, length + 70), {1, 3});
  // Few queries of many keys, more pieces than are kept.
  attentions.check("", SegmentsTable::uniform(1, 3),
                   SegmentsTable::uniform(1, 2500), {1, 2, 5});
  attentions.check(SegmentsTable(holes(3, 290, 4)), {1, 4});
}

TEST(Attention, HeadSizes) {
  std::vector<Attention> list;
  int64_t sizes[] = {2, 16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 160, 256};
  for (int64_t size : sizes)
    list.push_back(head("d" + str(size), 1, 1, size, size));
  list.push_back(head("rising", 1, 1, 16, 256));
  list.push_back(head("falling", 1, 1, 256, 16));
  Attentions attentions(list);
  attentions.check(SegmentsTable::uniform(1, 33), {1});
  attentions.check(SegmentsTable::uniform(1, 270), {2});
}
