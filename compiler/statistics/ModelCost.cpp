// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers are not outlined yet, so an entry is one list of operations.
#include "compiler/statistics/ModelCost.h"
#include "compiler/import/Import.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Attributes.h"
#include "dialects/kern/Kern.h"
#include "llvm/Support/Format.h"
#include <algorithm>

using namespace mlir;
using namespace transom;

/// The length for statistics about decoders without a max context.
static constexpr int64_t exampleContext = 8192;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static Polynomial getProduct(ArrayRef<Polynomial> dims) {
  Polynomial product(1);
  for (const Polynomial &dim : dims)
    product = product * dim;
  return product;
}

/// Returns query rows times visible keys, over all sequences.
static Polynomial getPairs(attn::SdpaOp op) {
  if (op.getCache())
    return Polynomial::symbol(kern::pairsName(
        "rows", cast<attn::CacheType>(op.getCache().getType()).getWindow()));
  auto query = attn::getSymbolicShape(op.getQuery().getType());
  auto key = attn::getSymbolicShape(op.getKey().getType());
  return getProduct(ArrayRef(query).drop_back()) * key[key.size() - 2];
}

/// Returns FLOPs for queries and keys times relative positions.
static Polynomial getPositionFlops(attn::SdpaOp op) {
  Polynomial flops;
  for (auto [table, rows] :
       {std::make_pair(op.getPositionKeys(), op.getQuery()),
        std::make_pair(op.getPositionQueries(), op.getKey())})
    if (table)
      flops = flops + Polynomial(2) *
                          getProduct(attn::getSymbolicShape(rows.getType())) *
                          Polynomial(op.getPositionBuckets()->positions);
  return flops;
}

Polynomial transom::getFlops(Operation *op) {
  if (auto linear = dyn_cast<attn::LinearOp>(op))
    return Polynomial(2) *
           getProduct(attn::getSymbolicShape(linear.getResult().getType())) *
           attn::getSymbolicShape(linear.getInput().getType()).back();
  if (auto matmul = dyn_cast<attn::MatmulOp>(op)) {
    auto lhs = attn::getSymbolicShape(matmul.getLhs().getType());
    const size_t inner = lhs.size() - (matmul.getTransposeLhs() ? 2 : 1);
    return Polynomial(2) *
           getProduct(attn::getSymbolicShape(matmul.getResult().getType())) *
           lhs[inner];
  }
  if (auto sdpa = dyn_cast<attn::SdpaOp>(op))
    return Polynomial(2) * getPairs(sdpa) *
               (attn::getSymbolicShape(sdpa.getQuery().getType()).back() +
                attn::getSymbolicShape(sdpa.getResult().getType()).back()) +
           getPositionFlops(sdpa);
  if (auto cross = dyn_cast<attn::CrossSdpaOp>(op))
    return Polynomial(2) *
           Polynomial::symbol(
               kern::sourcePairsName(cross.getRagged().getType().getRows())) *
           (attn::getSymbolicShape(cross.getQuery().getType()).back() +
            attn::getSymbolicShape(cross.getResult().getType()).back());
  return {};
}

Polynomial transom::getFlops(func::FuncOp entry) {
  Polynomial flops;
  for (Operation &op : entry.getBody().front())
    flops = flops + getFlops(&op);
  return flops;
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

int64_t DecoderReport::cacheNumbers() const {
  int64_t numbers = 0;
  for (const ModelCache &cache : caches)
    numbers += cache.numbers;
  return numbers;
}

static std::vector<ModelCache> getCaches(ModuleOp module) {
  std::vector<ModelCache> caches;
  for (auto op : module.getOps<attn::CacheOp>()) {
    auto type = cast<attn::CacheType>(op.getType());
    // Keys from a source do not grow with the sequence.
    if (type.isReadOnly())
      continue;
    auto known =
        std::find_if(caches.begin(), caches.end(), [&](const ModelCache &c) {
          return c.window == type.getWindow();
        });
    if (known == caches.end())
      known = caches.insert(caches.end(), {type.getWindow(), 0, 0});
    ++known->layers;
    known->numbers += type.getHeads() * (type.getKey() + type.getValue());
  }
  return caches;
}

/// Returns the sum of visible positions over the rows first..last.
static int64_t getPairs(int64_t first, int64_t last, int64_t window) {
  auto upTo = [&](int64_t rows) {
    const int64_t growing = window ? std::min(rows, window) : rows;
    return growing * (growing + 1) / 2 + (rows - growing) * window;
  };
  return upTo(last + 1) - upTo(first);
}

/// Evaluates FLOPs for a run over positions first to last in one sequence, with
/// logits for the last one.
static double flopsAt(const Polynomial &flops, int64_t first, int64_t last) {
  Result<int64_t> value =
      flops.evaluate([&](const std::string &name) -> std::optional<int64_t> {
        StringRef text = name;
        if (text == "rows")
          return last + 1 - first;
        if (!text.consume_front("pairs_of_rows"))
          return 1;
        // The source is as long as the sequence.
        if (text == "_source")
          return (last + 1 - first) * (last + 1);
        int64_t window = 0;
        if (text.consume_front("_window_") && text.getAsInteger(10, window))
          return std::nullopt;
        return getPairs(first, last, window);
      });
  return value ? static_cast<double>(*value) : 0;
}

static DecoderCost costAt(const DecoderReport &report, const Polynomial &flops,
                          int64_t positions) {
  DecoderCost cost;
  cost.positions = positions;
  cost.promptFlops = flopsAt(flops, 0, positions - 1);
  cost.tokenFlops = flopsAt(flops, positions - 1, positions - 1);
  for (const ModelCache &cache : report.caches)
    cost.cacheNumbers +=
        static_cast<double>(cache.numbers) *
        static_cast<double>(cache.window ? std::min(positions, cache.window)
                                         : positions);
  return cost;
}

std::optional<DecoderReport> transom::reportDecoder(ModuleOp module) {
  func::FuncOp step = getStepEntry(module);
  if (!step)
    return std::nullopt;
  DecoderReport report;
  const DictionaryAttr attributes = step->getDiscardableAttrDictionary();
  report.context = getInteger(attributes, "transom.context");
  report.vocabulary = getInteger(attributes, "transom.vocabulary").value_or(0);
  report.caches = getCaches(module);
  const Polynomial flops = getFlops(step);
  const int64_t most = report.context.value_or(exampleContext);
  for (int64_t positions : {int64_t(512), int64_t(2048), most})
    if (positions <= most &&
        (report.costs.empty() || report.costs.back().positions < positions))
      report.costs.push_back(costAt(report, flops, positions));
  return report;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static std::string sizeText(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

void DecoderReport::addText(llvm::raw_ostream &out) const {
  out << "context     ";
  if (context)
    out << *context << " positions\n";
  else
    out << "any number of positions\n";
  out << "vocabulary  " << vocabulary << "\n";
  for (const ModelCache &cache : caches) {
    out << "cache       " << cache.numbers << " numbers a position in "
        << cache.layers << " layers, "
        << sizeText(4.0 * static_cast<double>(cache.numbers)) << " in f32, "
        << sizeText(2.0 * static_cast<double>(cache.numbers)) << " in bf16";
    if (cache.window)
      out << ", of the last " << cache.window << " positions";
    out << "\n";
  }
  out << "\npositions     prompt, GFLOP/token   token, GFLOP   cache in f32   "
         "in bf16\n";
  for (const DecoderCost &cost : costs)
    out << llvm::format(
        "%9lld  %22.3f  %13.3f  %13s  %8s\n",
        static_cast<long long>(cost.positions),
        cost.promptFlops / static_cast<double>(cost.positions) * 1e-9,
        cost.tokenFlops * 1e-9, sizeText(4 * cost.cacheNumbers).c_str(),
        sizeText(2 * cost.cacheNumbers).c_str());
}

static void writeBytes(JsonWriter &json, const char *key, double numbers) {
  json.key(key);
  json.beginObject();
  json.member("f32", static_cast<int64_t>(4 * numbers));
  json.member("bf16", static_cast<int64_t>(2 * numbers));
  json.endObject();
}

void DecoderReport::writeJson(JsonWriter &json) const {
  // Limits and caches.
  json.key("context");
  if (context)
    json.value(*context);
  else
    json.null();
  json.member("vocabulary", vocabulary);
  json.key("caches");
  json.beginArray();
  for (const ModelCache &cache : caches) {
    json.beginObject();
    json.member("window", cache.window);
    json.member("layers", cache.layers);
    json.member("numbers_per_position", cache.numbers);
    json.endObject();
  }
  json.endArray();
  writeBytes(json, "cache_bytes_per_position",
             static_cast<double>(cacheNumbers()));
  // Costs at several lengths.
  json.key("costs");
  json.beginArray();
  for (const DecoderCost &cost : costs) {
    json.beginObject();
    json.member("positions", cost.positions);
    json.member("prompt_flops", static_cast<int64_t>(cost.promptFlops));
    json.member("prompt_flops_per_token",
                cost.promptFlops / static_cast<double>(cost.positions));
    json.member("token_flops", static_cast<int64_t>(cost.tokenFlops));
    writeBytes(json, "cache_bytes", cost.cacheNumbers);
    json.endObject();
  }
  json.endArray();
}
