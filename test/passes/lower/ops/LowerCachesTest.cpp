// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values written into cache blocks, and attention that reads them,
// against the definition as plain loops, bit by bit. Unwritten memory is NaN.
#include "runtime/base/InstructionSet.h"
#include "test/passes/lower/RunPhase.h"
#include "test/passes/lower/ops/CachedModule.h"
#include "test/support/Reference.h"
#include <cmath>
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

/// A sequence's new tokens, and its previous cache length.
using Steps = std::vector<std::pair<int64_t, int64_t>>;

/// The blocks for some sequences, each between inaccessible pages.
class Blocks {
public:
  Blocks(const Cached &c, const RaggedTable &table) {
    int64_t count = 0;
    for (int64_t i = 0; i < table.batch(); ++i)
      count += (table.sequence(i).num_keys + kKvBlock - 1) / kKvBlock;
    for (int64_t i = 0; i < count; ++i) {
      memory.emplace_back(c.blockBytes(), Edge::End);
      // An odd depth is paired with an element that nothing writes.
      char fill = c.depth() == c.dk ? char(0xff) : 0;
      std::fill(memory.back().begin(), memory.back().end(), fill);
    }
    for (Guarded<char> &block : memory)
      pointers.push_back(block.data());
  }
  char *const *table() const { return pointers.data(); }
  /// Blocks that a window has passed are not there.
  void forget(int64_t index) { pointers[index] = nullptr; }

private:
  std::vector<Guarded<char>> memory;
  std::vector<char *> pointers;
};

class CachedAttentions {
public:
  explicit CachedAttentions(std::vector<Cached> all)
      : list(std::move(all)), harness(getText(list), "", 0) {}

  void check(const Steps &steps, const std::vector<int64_t> &numWorkers) {
    RaggedTable table = RaggedTable::ofSteps(steps);
    for (const Cached &c : list)
      for (const std::string &isa : harness.isas()) {
        SCOPED_TRACE(c.name + " " + isa + " rows " + str(table.rows()));
        checkOne(isa, c, table, numWorkers);
      }
  }

private:
  static std::string getText(const std::vector<Cached> &list) {
    std::string text;
    for (const Cached &c : list)
      text += getModule(c);
    return text;
  }

  /// All keys or values in a sequence.
  static std::vector<float> numbers(int64_t count, bool bf16, uint64_t seed) {
    std::vector<float> result = Random(seed).numbers(count);
    for (float &x : result)
      x = bf16 ? widenBf16(roundToBf16(x)) : x;
    return result;
  }
  /// Replaces values by their integers in an int8 cache, for this head width;
  /// returns each head's scale.
  static std::vector<float> quantize(std::vector<float> &all, int64_t width) {
    std::vector<float> scales;
    for (size_t first = 0; first < all.size(); first += width) {
      float largest = 0;
      for (int64_t i = 0; i < width; ++i)
        largest = std::max(largest, std::fabs(all[first + i]));
      scales.push_back(largest / 127);
      for (int64_t i = 0; i < width; ++i)
        all[first + i] = std::nearbyintf(all[first + i] / scales.back());
    }
    return scales;
  }

  PhaseCall getCall(const RaggedTable &table, const Blocks &blocks,
                    int64_t numWorkers) {
    PhaseCall call;
    call.numWorkers = numWorkers;
    call.symbols = {{"rows", table.rows()}, {"keys", 0}};
    // A read-only cache has a table of its own.
    keyTable.assign(table.table().sequences,
                    table.table().sequences + table.batch());
    for (transom_sequence &s : keyTable)
      s.past = 0;
    transom_ragged_batch keys{};
    keys.num_sequences = table.batch();
    keys.sequences = keyTable.data();
    call.ragged = {table.table(), keys};
    call.caches = {{nullptr}, {blocks.table()}};
    return call;
  }

  /// The tokens in a mask with holes: the same number in each sequence as it
  /// has keys.
  static RaggedTable getSources(const RaggedTable &whole) {
    std::vector<std::vector<int>> mask(whole.batch());
    size_t columns = 0;
    for (int64_t i = 0; i < whole.batch(); ++i) {
      for (int64_t key = 0; key < whole.sequence(i).num_keys; ++key) {
        mask[i].insert(mask[i].end(), (key + i) % 3, 0);
        mask[i].push_back(1);
      }
      columns = std::max(columns, mask[i].size() + 1);
    }
    for (std::vector<int> &row : mask)
      row.resize(columns, 0);
    return RaggedTable(mask);
  }

  /// Writes each sequence's past or its new tokens; all keys in a read-only
  /// cache at once.
  void append(const std::string &isa, const Cached &c, const Blocks &blocks,
              const RaggedTable &whole, bool past) {
    Steps steps;
    for (int64_t i = 0; i < whole.batch(); ++i) {
      const transom_sequence &s = whole.sequence(i);
      int64_t from = past || c.readOnly ? 0 : s.past;
      steps.push_back({from, past ? s.past : s.num_keys - from});
    }
    RaggedTable table =
        c.readOnly ? getSources(whole) : RaggedTable::ofSteps(steps);
    std::vector<float> keys, values;
    for (int64_t i = 0; i < whole.batch(); ++i) {
      auto take = [&](const std::vector<float> &all, int64_t width,
                      std::vector<float> &to) {
        auto [from, count] = steps[i];
        to.insert(to.end(), all.begin() + from * width,
                  all.begin() + (from + count) * width);
      };
      take(allKeys[i], c.kvHeads * c.dk, keys);
      take(allValues[i], c.kvHeads * c.dv, values);
      // Blocks for the whole sequences.
      const_cast<transom_sequence &>(table.sequence(i)).first_block =
          whole.sequence(i).first_block;
    }
    Guarded<float> key(keys), value(values);
    PhaseCall call = getCall(table, blocks, 3);
    call.args = {key.data(), value.data()};
    harness.run(isa, c.name + ".append", call, past);
  }

  void checkOne(const std::string &isa, const Cached &c,
                const RaggedTable &table,
                const std::vector<int64_t> &numWorkers) {
    allKeys.clear();
    allValues.clear();
    // Random keys, values and queries.
    for (int64_t i = 0; i < table.batch(); ++i) {
      int64_t keys = table.sequence(i).num_keys;
      allKeys.push_back(numbers(keys * c.kvHeads * c.dk, c.bf16, 2 * i + 5));
      allValues.push_back(numbers(keys * c.kvHeads * c.dv, c.bf16, 2 * i + 6));
    }
    std::vector<float> query =
        numbers(table.rows() * c.heads * c.dk, c.bf16, 99);
    // Append them to the blocks.
    Blocks blocks(c, table);
    if (!c.readOnly)
      append(isa, c, blocks, table, true);
    append(isa, c, blocks, table, false);
    // The reference uses the quantized values.
    keyScales.assign(table.batch(), {});
    valueScales.assign(table.batch(), {});
    for (int64_t i = 0; i < table.batch() && c.int8; ++i) {
      keyScales[i] = quantize(allKeys[i], c.dk);
      valueScales[i] = quantize(allValues[i], c.dv);
    }
    // Blocks that the window has passed are gone.
    for (int64_t i = 0; i < table.batch() && c.window; ++i) {
      const transom_sequence &s = table.sequence(i);
      for (int64_t b = 0; (b + 1) * kKvBlock <= s.past - c.window + 1; ++b)
        blocks.forget(s.first_block + b);
    }
    // Slopes and biases are weights.
    std::vector<float> slopes(c.heads);
    for (int64_t h = 0; h < c.heads; ++h)
      slopes[h] = 0.5F / float(h + 1);
    if (c.slopes)
      std::copy(slopes.begin(), slopes.end(),
                harness.weight(c.name + ".slopes"));
    relativeBias = numbers(c.heads * (2 * c.reach + 1), false, 98);
    if (c.reach)
      std::copy(relativeBias.begin(), relativeBias.end(),
                harness.weight(c.name + ".bias"));
    std::vector<float> expected =
        reference(c, table, query, slopes, findInstructionSet(isa)->dotBf16);
    for (int64_t count : numWorkers)
      run(isa, c, table, blocks, query, expected, count);
  }

  void run(const std::string &isa, const Cached &c, const RaggedTable &table,
           const Blocks &blocks, const std::vector<float> &query,
           const std::vector<float> &expected, int64_t numWorkers) {
    SCOPED_TRACE("parts " + str(numWorkers));
    // Operands in guarded memory; scratch memory is NaN.
    Guarded<char> q(query.size() * c.bytes()),
        out(expected.size() * (c.outBf16 ? 2 : 4));
    for (size_t i = 0; i < query.size(); ++i)
      if (c.bf16)
        reinterpret_cast<uint16_t *>(q.data())[i] = roundToBf16(query[i]);
      else
        reinterpret_cast<float *>(q.data())[i] = query[i];
    Guarded<float> scratch(numWorkers * c.scratchFloats()),
        partials(numWorkers * c.partialFloats());
    Guarded<int64_t> counters(numWorkers * 32);
    std::fill(scratch.begin(), scratch.end(), NAN);
    std::fill(partials.begin(), partials.end(), NAN);
    std::fill(counters.begin(), counters.end(), 0);
    PhaseCall call = getCall(table, blocks, numWorkers);
    call.args = {q.data(), scratch.data(), partials.data(), counters.data(),
                 out.data()};
    harness.run(isa, c.name, call, numWorkers % 2 == 0);
    EXPECT_EQ(std::count(counters.begin(), counters.end(), 0), numWorkers * 32);
    // Compare in the output type.
    int64_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      float right = expected[i],
            got = c.outBf16
                      ? widenBf16(reinterpret_cast<uint16_t *>(out.data())[i])
                      : reinterpret_cast<float *>(out.data())[i];
      if (c.outBf16)
        right = widenBf16(roundToBf16(right));
      wrong += got != right;
    }
    EXPECT_EQ(wrong, 0);
  }

  std::vector<float> reference(const Cached &c, const RaggedTable &table,
                               const std::vector<float> &query,
                               const std::vector<float> &slopes, bool dot) {
    std::vector<float> out;
    for (int64_t i = 0; i < table.batch(); ++i) {
      const transom_sequence &s = table.sequence(i);
      for (int64_t row = 0; row < s.num_tokens; ++row)
        for (int64_t h = 0; h < c.heads; ++h) {
          int64_t kvHead = h / (c.heads / c.kvHeads), own = s.past + row;
          ReferenceAttention r{};
          r.query = query.data() + ((s.first_token + row) * c.heads + h) * c.dk;
          r.keyStride = c.kvHeads * c.dk;
          r.valueStride = c.kvHeads * c.dv;
          r.keys = allKeys[i].data() + kvHead * c.dk;
          r.values = allValues[i].data() + kvHead * c.dv;
          r.dk = c.dk;
          r.dv = c.dv;
          r.scale = float(kScale * 1.4426950408889634);
          if (c.softCap != 0) {
            r.preCap = float(kScale / c.softCap);
            r.postCap = float(c.softCap * 1.4426950408889634);
          }
          // Masks, biases and scales by key.
          r.hidden = -INFINITY;
          r.slope = c.slopes ? slopes[h] : 0;
          r.position = own;
          if (c.bf16)
            r.chain = dot ? bits::Chain::Dot : bits::Chain::Bf16;
          for (int64_t j = 0; j < s.num_keys; ++j) {
            r.visible.push_back(
                c.readOnly || (j <= own && (!c.window || j > own - c.window)));
            if (c.reach)
              r.added.push_back(
                  relativeBias[h * (2 * c.reach + 1) + c.reach +
                               std::clamp(j - own, -c.reach, c.reach)]);
            if (!c.int8)
              continue;
            r.keyScales.push_back(keyScales[i][j * c.kvHeads + kvHead]);
            r.valueScales.push_back(valueScales[i][j * c.kvHeads + kvHead]);
          }
          std::vector<float> line = referenceAttention(r);
          out.insert(out.end(), line.begin(), line.end());
        }
    }
    return out;
  }

  std::vector<Cached> list;
  KernelHarness harness;
  std::vector<transom_sequence> keyTable;
  std::vector<std::vector<float>> allKeys, allValues; ///< by sequence
  std::vector<std::vector<float>> keyScales, valueScales;
  std::vector<float> relativeBias;
};

Cached cached(const std::string &name, int64_t heads, int64_t kvHeads,
              int64_t dk, int64_t dv, bool bf16 = false) {
  Cached c;
  c.name = name;
  c.heads = heads;
  c.kvHeads = kvHeads;
  c.dk = dk;
  c.dv = dv;
  c.bf16 = bf16;
  return c;
}

const Steps kMixed = {{0, 5}, {300, 1}, {255, 1}, {256, 1}, {31, 34}, {0, 1}};

} // namespace

TEST(Caches, HeadShapes) {
  CachedAttentions attentions(
      {cached("one", 1, 1, 1, 1), cached("half", 2, 2, 12, 20),
       cached("grouped", 6, 2, 16, 16), cached("shared", 5, 1, 9, 33)});
  attentions.check(kMixed, {1, 2, 3, 5});
}

TEST(Caches, HeadShapesInBf16) {
  Cached rounded = cached("rounded", 4, 2, 16, 24, true);
  rounded.outBf16 = true;
  CachedAttentions attentions({cached("half", 2, 2, 12, 20, true),
                               cached("shared", 5, 1, 9, 33, true), rounded});
  attentions.check(kMixed, {1, 2, 3, 5});
}

TEST(Caches, HeadShapesInInt8) {
  std::vector<Cached> list = {
      cached("one", 1, 1, 1, 1), cached("half", 2, 2, 12, 20),
      cached("grouped", 6, 2, 16, 40), cached("window", 5, 1, 9, 33)};
  list.back().window = 270;
  list.front().slopes = true;
  for (Cached &c : list)
    c.int8 = true;
  CachedAttentions attentions(list);
  attentions.check(kMixed, {1, 2, 3, 5});
}

// As cross attention reads them, filled from a mask with holes.
TEST(Caches, ReadOnly) {
  std::vector<Cached> list = {
      cached("plain", 2, 2, 12, 20),         cached("grouped", 6, 2, 16, 16),
      cached("rounded", 4, 2, 16, 24, true), cached("odd", 5, 1, 9, 33, true),
      cached("quantized", 4, 2, 12, 20),     cached("spread", 4, 2, 8, 8)};
  list[4].int8 = true;
  list.back().schedule = "split-kv";
  for (Cached &c : list)
    c.readOnly = c.oneTable = true;
  list[0].oneTable = list[2].oneTable = false;
  CachedAttentions attentions(list);
  attentions.check(kMixed, {1, 2, 3, 5});
}

// Distances are counted from the sequence's start, also in query head groups.
TEST(Caches, RelativeBias) {
  std::vector<Cached> list = {
      cached("alone", 2, 2, 8, 8), cached("grouped", 6, 2, 16, 16),
      cached("rounded", 4, 2, 16, 24, true), cached("quantized", 4, 1, 12, 20)};
  for (Cached &c : list)
    c.reach = 40;
  list[0].reach = 300;
  list.back().int8 = true;
  CachedAttentions attentions(list);
  attentions.check(kMixed, {1, 2, 3, 5});
}

TEST(Caches, MoreHeadsThanAUnitHasLines) {
  CachedAttentions attentions({cached("many", 50, 1, 4, 4)});
  attentions.check({{700, 1}, {3, 2}, {40, 1}}, {1, 2, 4});
}

TEST(Caches, Windows) {
  Cached narrow = cached("narrow", 4, 2, 8, 8),
         wide = cached("wide", 2, 2, 8, 8, true);
  narrow.window = 7;
  wide.window = 270;
  CachedAttentions attentions({narrow, wide});
  attentions.check({{600, 1}, {530, 40}, {0, 20}, {5, 3}, {255, 2}}, {1, 3});
}

TEST(Caches, SlopesAndCaps) {
  Cached slopes = cached("slopes", 4, 2, 8, 8),
         caps = cached("caps", 4, 2, 8, 8),
         both = cached("both", 3, 1, 6, 6, true);
  slopes.slopes = both.slopes = true;
  caps.softCap = both.softCap = 2.5;
  CachedAttentions attentions({slopes, caps, both});
  attentions.check({{270, 1}, {0, 9}, {250, 12}, {1, 1}}, {1, 2});
}

TEST(Caches, Schedules) {
  std::vector<Cached> list;
  for (const char *schedule :
       {"streaming", "two-pass", "split-kv", "streaming:5"}) {
    list.push_back(cached("s" + str(list.size()), 4, 2, 8, 8));
    list.back().schedule = schedule;
  }
  CachedAttentions attentions(list);
  attentions.check({{1100, 1}}, {1, 2, 4, 7});
  attentions.check({{500, 30}, {2, 1}}, {1, 3});
}

TEST(Caches, NoRows) {
  CachedAttentions attentions({cached("none", 2, 1, 4, 4)});
  attentions.check({}, {1, 2});
}
