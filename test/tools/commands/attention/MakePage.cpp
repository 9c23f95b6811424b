// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// make-attention-page FORMAT KIND LAYERS HEADS TOKENS FILE: a page, JSON or
// picture with generated weights, to test the page and its size without a
// model. KIND is encoder, decoder, pair (an encoder, a decoder and the
// attention between them, with aligned words), malformed, whose names and
// tokens are HTML, or malformed-pair.
#include "runtime/base/OutputFile.h"
#include "tools/commands/attention/Alignment.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <sstream>

using namespace transom;
using namespace transom::tools;

static std::vector<std::string> makeTokens(size_t count, bool malformed) {
  std::istringstream words(
      "[CLS] the quick brown fox jump ##s over the lazy dog , and then it "
      "sleep ##s under the old oak tree because it was very tired . [SEP]");
  std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
  std::vector<std::string> tokens;
  for (size_t i = 0; i < count; ++i)
    tokens.push_back(malformed
                         ? "</script><img src=x onerror=alert(1)>\xe2\x80\xa8"
                         : all[i % all.size()]);
  return tokens;
}

/// Returns the log weight before softmax: each head has a pattern.
static double getScore(size_t habit, double distance, size_t key, bool same,
                       double noise) {
  switch (habit % 5) {
  case 0:
    return -std::abs(distance) * 0.6 + noise;
  case 1:
    return -2.5 * std::abs(distance + 1) + noise;
  case 2:
    return (key == 0 ? 4.5 : 0) + 1.4 * noise;
  case 3:
    return (same ? 3.5 : 0) + noise;
  default:
    return 2.2 * noise;
  }
}

static AttentionGroup makeGroup(std::string name, size_t layers, size_t heads,
                                std::vector<std::string> queries,
                                std::vector<std::string> keys) {
  AttentionGroup group;
  group.name = std::move(name);
  for (size_t layer = 0; layer < layers; ++layer)
    group.layers.push_back(uint32_t(layer));
  for (size_t head = 0; head < heads; ++head)
    group.heads.push_back(uint32_t(head));
  group.queries = std::move(queries);
  group.keys = std::move(keys);
  const bool causal = group.name == "decoder";
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (size_t matrix = 0; matrix < layers * heads; ++matrix)
    for (size_t query = 0; query < group.queries.size(); ++query) {
      std::vector<double> row(group.keys.size(), 0);
      double sum = 0;
      const size_t end = causal ? query + 1 : row.size();
      for (size_t key = 0; key < end; ++key)
        sum += row[key] = std::exp(getScore(
            matrix * 7 / 5 + matrix / heads, double(key) - double(query), key,
            group.queries[query] == group.keys[key], normal(random)));
      for (double weight : row)
        group.weights.push_back(float(weight / sum));
    }
  return group;
}

/// A word for each token, aligned with the target words that have the largest
/// weights.
static Alignment alignTokens(const AttentionGroup &cross) {
  TokenWords source{cross.keys, {}}, target{cross.queries, {}};
  for (size_t i = 0; i < source.words.size(); ++i)
    source.ofTokens.emplace_back(i);
  for (size_t i = 0; i < target.words.size(); ++i)
    target.ofTokens.emplace_back(i);
  return alignWords(cross, source, target);
}

static AttentionReport makeReport(const std::string &kind, size_t layers,
                                  size_t heads, size_t tokens) {
  const bool malformed = kind == "malformed" || kind == "malformed-pair",
             pair = kind == "pair" || kind == "malformed-pair";
  AttentionReport report;
  report.model =
      malformed ? "</script><img src=x onerror=alert(2)>" : "made-up-" + kind;
  const std::vector<std::string> words = makeTokens(tokens, malformed);
  auto add = [&](const std::string &name,
                 const std::vector<std::string> &queries,
                 const std::vector<std::string> &keys) {
    report.groups.push_back(makeGroup(name, layers, heads, queries, keys));
  };
  if (!pair) {
    add(malformed ? words[0] : kind, words, words);
    return report;
  }
  const std::vector<std::string> target(
      words.begin(), words.begin() + ptrdiff_t(tokens + 1) / 2);
  add("encoder", words, words);
  add("decoder", target, target);
  add("cross", target, words);
  report.alignment = alignTokens(report.groups.back());
  return report;
}

static Result<void> run(char **arguments) {
  const std::string format = arguments[1];
  const AttentionReport report = makeReport(
      arguments[2], strtoul(arguments[3], nullptr, 10),
      strtoul(arguments[4], nullptr, 10), strtoul(arguments[5], nullptr, 10));
  TRANSOM_TRY(checkReport(report));
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(arguments[6]));
  const ByteSink sink = [&](std::string_view bytes) {
    return file.append(bytes);
  };
  if (format == "html")
    TRANSOM_TRY(writePage(report, sink));
  else if (format == "json")
    TRANSOM_TRY(writeJson(report, sink));
  else
    TRANSOM_TRY(writePicture(report, sink));
  return file.commit();
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: make-attention-page html|json|png "
                    "encoder|decoder|pair|malformed|malformed-pair LAYERS "
                    "HEADS TOKENS FILE\n");
    return 2;
  }
  if (Result<void> done = run(argv); !done) {
    fprintf(stderr, "make-attention-page: error: %s\n",
            done.takeError().message.c_str());
    return 1;
  }
  return 0;
}
