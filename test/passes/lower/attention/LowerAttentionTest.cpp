// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention against its definition as plain loops: bit by bit for all lengths,
// head shapes, masks, ragged batches, splits over workers, and schedules.
#include "test/passes/lower/attention/Attentions.h"
#include "test/support/Reference.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom::test;

TEST(Attention, EveryLength) {
  Attentions attentions({head("plain", 1, 1, 5, 12)});
  for (int64_t length = 1; length <= 600;
       length += length < 70 || length % 32 > 28 || length % 32 < 3 ? 1 : 13)
    attentions.check(RaggedTable::uniform(1, length), {1 + length % 2});
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
  attentions.check(RaggedTable::uniform(2, 37), {1, 3});
  attentions.check(RaggedTable::uniform(1, 290), {2});
}

TEST(Attention, RaggedBatchesAndParts) {
  Attentions attentions({head("plain", 3, 3, 7, 9)});
  attentions.check(
      RaggedTable({{1, 1, 1, 0}, {0, 0, 0, 0}, {1, 0, 1, 1}, {0, 1, 0, 0}}),
      {1, 2, 3, 5});
  attentions.check(RaggedTable({{0, 1, 1, 0}, {0, 0, 0, 0}, {1, 0, 1, 1}},
                               /*keepFirst=*/true),
                   {1, 2, 3, 5});
  attentions.check(RaggedTable(holes(5, 300, 1)), {1, 2, 3, 5, 16});
  attentions.check(RaggedTable({{0, 0}, {0, 0}}), {1, 2});
  attentions.check(RaggedTable::uniform(0, 3), {1, 2});
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
    attentions.check("", RaggedTable::uniform(2, length),
                     RaggedTable::uniform(2, length + 3), {2});
  attentions.check(RaggedTable(holes(3, 60, 2)), {1, 3});
  attentions.check(RaggedTable(holes(3, 60, 3), /*keepFirst=*/true), {1});
}

TEST(Attention, PositionsByColumn) {
  Attention window = head("window", 2, 1, 6, 6), causal = window, bias = window,
            both = window, wide = window;
  window.window = both.window = 7;
  causal.name = "causal";
  causal.causal = true;
  causal.window = 40;
  bias.name = "bias";
  bias.reach = 9;
  both.name = "both";
  both.reach = 130;
  wide.name = "wide";
  wide.window = 270;
  std::vector<Attention> list = {window, causal, bias, both, wide};
  for (Attention &a : list)
    a.byColumn = true;
  Attentions attentions(list);
  for (bool keepFirst : {false, true}) {
    attentions.check(RaggedTable({{0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                                  {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                  {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}},
                                 keepFirst),
                     {1, 2, 5});
    attentions.check(RaggedTable(holes(3, 60, 2), keepFirst), {1, 3});
    attentions.check(RaggedTable(holes(2, 700, 3), keepFirst), {2});
  }
  attentions.check(RaggedTable::uniform(2, 290), {2});
}

// Near and far distances, with and without column gaps, by column and by index,
// with either term alone, and together with a window and a cap.
TEST(Attention, RelativePositionsWithContent) {
  std::vector<Attention> list;
  auto add = [&](const std::string &name, int64_t positions, int64_t distance) {
    Attention a = head(name, 2, 2, 6, 6);
    a.positions = positions;
    a.maxDistance = distance;
    list.push_back(a);
    a.name += "_by_column";
    a.byColumn = true;
    list.push_back(a);
    return list.size() - 1;
  };
  // Near and far distances, and each term alone.
  add("few", 6, 0);
  add("many", 80, 0);
  add("buckets", 128, 300);
  add("steep", 60, 18);
  list[add("query", 100, 60)].fromPosition = false;
  list[add("key", 100, 60)].toPosition = false;
  Attention &both = list[add("windowed", 40, 30)];
  both.window = 70;
  both.softCap = 3;
  Attentions attentions(list);
  // Ragged batches with holes; index positions need no first columns.
  for (bool keepFirst : {false, true})
    for (const Attention &a : list) {
      if (keepFirst && !a.byColumn)
        continue;
      auto check = [&](const RaggedTable &ragged) {
        attentions.check(a.name, ragged, ragged, {3});
      };
      check(RaggedTable({{0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                         {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
                        keepFirst));
      check(RaggedTable(holes(2, 290, 3), keepFirst));
    }
  for (int64_t length : {1, 33, 290})
    attentions.check(RaggedTable::uniform(2, length), {2});
}

TEST(Attention, RelativeBiasByIndex) {
  Attention own = head("own", 2, 2, 8, 8), cross = own;
  own.reach = cross.reach = 20;
  cross.name = "cross";
  cross.cross = true;
  Attentions attentions({own, cross});
  for (int64_t length : {1, 33, 300})
    attentions.check("", RaggedTable::uniform(2, length),
                     RaggedTable::uniform(2, length + 3), {2});
}

TEST(Attention, Masks) {
  std::vector<Attention> list;
  int64_t index = 0;
  for (MaskKind kind : {MaskKind::Added, MaskKind::Selected, MaskKind::Finite})
    for (std::vector<bool> dims : {std::vector<bool>{true, true, true, true},
                                   {true, false, false, true},
                                   {false, false, true, true},
                                   {false, true, true, false}})
      list.push_back(masked("m" + std::to_string(index++), kind, dims));
  Attention cross =
                masked("cross", MaskKind::Selected, {true, true, true, true}),
            causal =
                masked("causal", MaskKind::Added, {true, true, true, true});
  cross.cross = true;
  causal.causal = true;
  list.push_back(cross);
  list.push_back(causal);
  Attentions attentions(list, 0);
  for (int64_t length : {1, 2, 17, 40, 280})
    attentions.check("", RaggedTable::uniform(2, length),
                     RaggedTable::uniform(2, length + 5), {1, 2});
}

TEST(Attention, CrossAttention) {
  Attention cross = head("cross", 2, 2, 8, 8);
  cross.cross = true;
  Attentions attentions({cross});
  attentions.check("", RaggedTable::uniform(3, 5), RaggedTable::uniform(3, 300),
                   {1, 2});
  attentions.check("", RaggedTable::uniform(3, 50), RaggedTable::uniform(3, 2),
                   {1, 2});
  attentions.check("", RaggedTable::uniform(2, 50),
                   RaggedTable({{0, 0, 0}, {1, 0, 1}}), {1, 2});
}

TEST(Attention, SoftCap) {
  Attention cap = head("cap", 2, 2, 16, 8);
  cap.softCap = 5;
  Attentions attentions({cap});
  attentions.check(RaggedTable::uniform(2, 45), {1, 2});
}

TEST(Attention, SchedulesGiveTheSameBits) {
  std::vector<Attention> list;
  for (const char *schedule :
       {"auto", "streaming:1", "streaming:7", "streaming:24", "two-pass",
        "two-pass:5", "split-kv", "split-kv:3"}) {
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
      a.name += std::to_string(list.size());
      a.splitsKv = a.schedule.substr(0, 8) == "split-kv" ||
                   (a.cross && a.schedule == "auto");
      list.push_back(a);
    }
  }
  Attentions attentions(list, 0);
  for (int64_t length : {1, 19, 257, 600})
    attentions.check("", RaggedTable::uniform(2, length),
                     RaggedTable::uniform(2, length + 70), {1, 3});
  // Few queries with many keys, more KV blocks than the partials hold.
  attentions.check("", RaggedTable::uniform(1, 3),
                   RaggedTable::uniform(1, 2500), {1, 2, 5});
  attentions.check(RaggedTable(holes(3, 290, 4)), {1, 4});
}

TEST(Attention, HeadSizes) {
  std::vector<Attention> list;
  int64_t sizes[] = {2, 16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 160, 256};
  for (int64_t size : sizes)
    list.push_back(head("d" + std::to_string(size), 1, 1, size, size));
  list.push_back(head("rising", 1, 1, 16, 256));
  list.push_back(head("falling", 1, 1, 256, 16));
  Attentions attentions(list, 0);
  attentions.check(RaggedTable::uniform(1, 33), {1});
  attentions.check(RaggedTable::uniform(1, 270), {2});
}

TEST(Attention, Bf16) {
  std::vector<Attention> list;
  for (int64_t size : {2, 16, 30, 64, 96}) {
    Attention a = head("d" + std::to_string(size), 2, 1, size, size);
    a.bf16 = true;
    a.outBf16 = size % 3 == 0;
    list.push_back(a);
  }
  Attention causal = head("causal", 2, 2, 8, 9), window = causal,
            mask = masked("mask", MaskKind::Added, {true, false, true, true});
  causal.causal = true;
  window.name = "window";
  window.window = 40;
  mask.dk = 4;
  for (Attention a : {causal, window, mask}) {
    a.bf16 = true;
    list.push_back(a);
  }
  Attentions attentions(list);
  for (int64_t length : {1, 2, 33, 290})
    attentions.check(RaggedTable::uniform(2, length), {1, 3});
  attentions.check("d16", RaggedTable(holes(4, 70, 5)),
                   RaggedTable::uniform(4, 70), {1, 2});
}

/// Attentions that AMX computes in tiles, on CPUs with AMX.
TEST(Attention, Bf16InTiles) {
  std::vector<Attention> list;
  for (int64_t size : {1, 16, 17, 32, 40, 100}) {
    Attention a = head("dv" + std::to_string(size), 4, 2, 32, size);
    a.outBf16 = size % 2 == 0;
    list.push_back(a);
  }
  list.push_back(head("dk96", 2, 1, 96, 64));
  Attention plain = head("plain", 2, 2, 32, 24), window = plain,
            positions = plain, cap = plain, strided = plain,
            cross = head("cross", 1, 1, 32, 24);
  window.name = "window";
  window.window = 40;
  positions.name = "positions";
  positions.positions = 64;
  positions.maxDistance = 128;
  cap.name = "cap";
  cap.softCap = 3;
  cross.cross = true;
  strided.name = "strided";
  strided.stride = 70;
  for (const Attention &a : {window, positions, cap, cross, strided})
    list.push_back(a);
  Attention mask = masked("mask", MaskKind::Added, {true, false, true, true});
  mask.dk = 32;
  list.push_back(mask);
  for (Attention &a : list)
    a.bf16 = true;
  Attentions attentions(list, 0);
  for (int64_t length : {1, 2, 31, 33, 64, 290})
    attentions.check("", RaggedTable::uniform(2, length),
                     RaggedTable::uniform(2, length + 3), {1, 3});
  // A sequence without keys, whose values differ from the next one's.
  const std::vector<int> none(40, 0), all(40, 1);
  attentions.check("cross", RaggedTable::uniform(3, 5),
                   RaggedTable({all, none, all}), {1, 2});
  // More KV blocks than stay packed.
  attentions.check("dv40", RaggedTable::uniform(1, 1290),
                   RaggedTable::uniform(1, 1290), {2});
  attentions.check("window", RaggedTable(holes(4, 70, 5)),
                   RaggedTable::uniform(4, 70), {1, 2});
}

TEST(Attention, SchedulesGiveTheSameBitsInBf16) {
  std::vector<Attention> list;
  for (const char *schedule : {"auto", "streaming:5", "streaming:24",
                               "two-pass:12", "split-kv", "split-kv:3"}) {
    Attention own = head("own", 2, 1, 6, 10);
    own.bf16 = true;
    own.schedule = schedule;
    own.splitsKv = own.schedule.substr(0, 8) == "split-kv";
    Attention cross = own, tiles = own;
    cross.cross = true;
    cross.causal = true;
    tiles.dk = 32;
    for (Attention a : {own, cross, tiles}) {
      a.name += std::to_string(list.size());
      list.push_back(a);
    }
  }
  Attentions attentions(list, 0);
  for (int64_t length : {19, 600})
    attentions.check("", RaggedTable::uniform(1, length),
                     RaggedTable::uniform(1, length + 71), {1, 3});
}

TEST(Attention, ExponentialWithinTwoUlp) {
  // The kernels have the plain loop's bits, as the other tests show.
  double worst = 0;
  for (int i = 0; i <= 4000000; ++i) {
    float x = -126.0f * float(i) / 4000000;
    double exact = std::exp2(double(x)), ulp = std::exp2(std::floor(x) - 23);
    worst = std::max(worst, std::fabs(referenceExp2(x) - exact) / ulp);
  }
  EXPECT_LE(worst, 2);
  EXPECT_EQ(referenceExp2(0), 1);
  EXPECT_EQ(referenceExp2(-126.5f), 0);
}
