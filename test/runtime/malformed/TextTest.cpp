// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Malformed texts: JSON documents, manifests, weight expressions and
// polynomials, truncated at every byte and damaged in fixed random ways.
#include "dialects/weights/WeightExpr.h"
#include "runtime/base/Polynomial.h"
#include "runtime/json/Json.h"
#include "runtime/manifest/Manifest.h"
#include "test/runtime/malformed/Malformed.h"

using namespace transom;
using namespace transom::test;

namespace {

const std::string goodJson = R"({
  "architectures": ["BertModel"], "hidden_size": 768, "eps": 1e-12,
  "nested": {"a": [1, -2, [true, false, null], {"b": {}}], "": ""},
  "text": "caf\u00e9 \ud83d\ude00 \"quoted\" \\ é 中", "big": 18446744073709551615,
  "id2label": {"0": "NEGATIVE", "1": "POSITIVE"}
})";

const std::string goodManifest =
    "{\"abi\":" + std::to_string(Manifest().abi) +
    R"(,"compiler":"0.1.0","name":"n",)"
    R"("family":"bert","architecture":"BertModel","head":"none",)"
    R"("file_bytes":100000,"isas":["avx2"],"dtype":"f32","options":{"o":"1"},)"
    R"("inputs_sha256":{"config.json":"00"},"weights_sha256":"11",)"
    R"("parameters":7,"weights_bytes":28,"symbols":{"batch":{"max":null},)"
    R"("seq":{"max":512}},"entries":[{"name":"encode","symbol_order":)"
    R"(["batch","keys","parts","rows","seq"],"inputs":[{"name":"input_ids",)"
    R"("dtype":"i64","shape":["batch","seq"],"role":"ids","bound":9},)"
    R"({"name":"m","dtype":"i64","shape":["batch","seq"],"role":"mask",)"
    R"("default":1}],"outputs":[{"name":"y","dtype":"f32","shape":["batch",)"
    R"("seq","768"]}],"ragged":[{"mask":"m","columns_of":"input_ids",)"
    R"("keep_first":true,"rows":"rows","keys":"keys"}],"position_limit":)"
    R"({"input":"input_ids","rule":"column","pad":0,"max":512},"buffers":)"
    R"([{"offset":"64*rows","bytes":"3072*rows","what":"x"},)"
    R"({"offset":"0","bytes":"4096","kept":true}],"arena_bytes":)"
    R"("3136*rows","arena_lower_bound":"3072*rows","counters":8,"dispatches":)"
    R"([{"phase":"p","location":"l","rows":12}],"flops":"2*batch*seq"}],)"
    R"("text":{"tokenizer":true,"max_length":256,"pooling":"mean",)"
    R"("normalize":true},"tokenizer":{"offset":4096,"bytes":100},)"
    R"("labels":["A","B"],"places":["p"],"notes":["n"],"disabled_passes":[]})";

/// Visits every value with every getter.
void useAll(JsonValue value, int depth = 0) {
  ASSERT_LE(depth, 64);
  std::string where = value.where();
  ASSERT_EQ(where.find('\n'), std::string::npos);
  (void)value.asBool();
  (void)value.asInt();
  (void)value.asUint();
  (void)value.asDouble();
  (void)value.asString();
  (void)value.key();
  for (JsonValue element : value.elements())
    useAll(element, depth + 1);
  for (JsonValue::Member member : value.members()) {
    ASSERT_TRUE(value.find(member.key));
    useAll(member.value, depth + 1);
  }
}

bool tryJson(const std::string &text) {
  ExactBytes exact(text);
  Result<JsonDocument> json = parseJson(exact, "f.json");
  if (json)
    useAll(json->root());
  else
    expectInputError(json.error(), "f.json");
  return static_cast<bool>(json);
}

bool tryManifest(const std::string &text) {
  ExactBytes exact(text);
  Result<Manifest> manifest = Manifest::parse(exact, "m.so");
  if (!manifest) {
    expectInputError(manifest.error(), "m.so");
    return false;
  }
  // Accepted input has a canonical form.
  std::string again = manifest->toJson();
  Result<Manifest> second = Manifest::parse(again, "m.so");
  EXPECT_TRUE(second) << again;
  EXPECT_TRUE(!second || second->toJson() == again);
  for (const ManifestEntry &entry : manifest->entries)
    (void)entry.arenaBytes.evaluate(
        [](const std::string &) { return std::optional<int64_t>(1 << 20); });
  return true;
}

} // namespace

TEST(MalformedJson, the_corpus_base_is_valid) {
  EXPECT_TRUE(tryJson(goodJson));
  EXPECT_TRUE(tryManifest(goodManifest));
}

TEST(MalformedJson, every_cut_is_an_error) {
  for (size_t size = 0; size < goodJson.size(); ++size)
    EXPECT_FALSE(tryJson(goodJson.substr(0, size))) << size;
}

TEST(MalformedJson, every_byte_in_every_place) {
  // A short text, so that all values for all bytes are tried.
  const std::string text = "{\"a\":[1,-2.5e3,true,null,\"\\u00e9\xC3\xA9\"]}";
  for (size_t at = 0; at < text.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      tryJson(changed);
    }
}

TEST(MalformedJson, random_damage_is_an_error_or_harmless) {
  int accepted = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    accepted += tryJson(damaged(goodJson, random));
  }
  EXPECT_GT(accepted, 500);
  EXPECT_LT(accepted, 19000);
}

TEST(MalformedJson, random_bytes_are_no_document) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Random random(seed);
    std::string bytes;
    for (int64_t n = random.between(2, 60); n > 0; --n)
      bytes += static_cast<char>(random.next());
    tryJson(bytes);
  }
}

TEST(MalformedManifest, every_cut_is_an_error) {
  for (size_t size = 0; size < goodManifest.size(); ++size)
    EXPECT_FALSE(tryManifest(goodManifest.substr(0, size))) << size;
}

TEST(MalformedManifest, random_damage_is_an_error_or_harmless) {
  int accepted = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    accepted += tryManifest(damaged(goodManifest, random));
  }
  EXPECT_GT(accepted, 100);
}

TEST(MalformedManifest, every_value_of_another_type) {
  // Replaces each value in the text, one at a time.
  Result<JsonDocument> json = parseJson(goodManifest, "m.so");
  ASSERT_TRUE(json);
  std::vector<size_t> starts;
  std::function<void(JsonValue)> visit = [&](JsonValue value) {
    starts.push_back(value.column() - 1);
    for (JsonValue element : value.elements())
      visit(element);
    for (JsonValue::Member member : value.members())
      visit(member.value);
  };
  visit(json->root());
  for (size_t start : starts)
    for (const char *other : {"null", "1.5", "-1", "{}", "[]", "\"\"", "[{}]",
                              "{\"a\":{}}", "18446744073709551615"}) {
      char first = goodManifest[start];
      size_t end = start;
      if (first == '{' || first == '[') {
        int depth = 0;
        do {
          char c = goodManifest[end++];
          depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        } while (depth > 0);
      } else if (first == '"') {
        end = goodManifest.find('"', start + 1) + 1;
      } else {
        end = goodManifest.find_first_of(",}]", start);
      }
      std::string changed = goodManifest;
      changed.replace(start, end - start, other);
      tryManifest(changed);
    }
}

TEST(MalformedText, damaged_expressions_and_polynomials) {
  const std::string expression =
      "add(concat(0, slice(file(\"a.weight\"), 1, 2, 3), transpose(fill([2, "
      "3], -1.5e3), [1, 0])), scale(pad(reshape(values([2], [1.0, -inf]), "
      "[1, 2]), 0, 9), 0.125))";
  const std::string polynomial = "3072*batch*seq*seq-64*parts+17*keys+4096";
  ASSERT_TRUE(WeightExpr::parse(expression));
  ASSERT_TRUE(Polynomial::parse(polynomial));
  // An accepted text has a canonical form; others give one error line.
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    ExactBytes text(damaged(expression, random));
    if (Result<WeightExpr> e = WeightExpr::parse(text)) {
      Result<WeightExpr> again = WeightExpr::parse(e->str());
      ASSERT_TRUE(again) << e->str();
      ASSERT_EQ(again->str(), e->str());
    } else {
      expectInputError(e.error(), "weight expression");
    }
    ExactBytes sum(damaged(polynomial, random));
    if (Result<Polynomial> p = Polynomial::parse(sum)) {
      Result<Polynomial> again = Polynomial::parse(p->str());
      ASSERT_TRUE(again) << p->str();
      ASSERT_EQ(*again, *p);
    } else {
      expectInputError(p.error(), "polynomial");
    }
  }
}
