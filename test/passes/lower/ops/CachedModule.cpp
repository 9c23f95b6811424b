// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a module with one attention over a cache.
#include "test/passes/lower/ops/CachedModule.h"
#include "dialects/kern/AttentionSchedule.h"
#include "test/passes/lower/RunPhase.h"

using namespace transom;
using namespace transom::test;

static std::string rows(int64_t columns, const std::string &type,
                        const std::string &count = "rows") {
  return "!kern.buffer<[" + count + ", " + str(columns) + "] x " + type + ">";
}

std::string test::getModule(const Cached &c) {
  std::string type = c.bf16 ? "bf16" : "f32";
  std::string cache = "!kern.cache<heads " + str(c.kvHeads) + ", key " +
                      str(c.dk) + ", value " + str(c.dv) +
                      (c.window ? ", window " + str(c.window) : std::string()) +
                      (c.readOnly ? ", read_only 5000" : "") + ", " +
                      (c.int8 ? "i8" : type) + ">";
  std::string query = rows(c.heads * c.dk, type),
              key = rows(c.kvHeads * c.dk, "f32"),
              value = rows(c.kvHeads * c.dv, "f32"),
              out = rows(c.heads * c.dv, c.outBf16 ? "bf16" : "f32"),
              scratch = rows(c.scratchFloats(), "f32", "parts"),
              partials = rows(c.partialFloats(), "f32", "parts"),
              counters = rows(32, "i64", "parts"),
              slopes = "!kern.weight<[" + str(c.heads) + "] x f32, rows>",
              bias = "!kern.weight<[" + str(c.heads) + ", " +
                     str(2 * c.reach + 1) + "] x f32, rows>";
  // Both functions begin with the batch and the cache.
  std::string head =
      ") attributes {kern.symbols = [\"keys\", \"parts\", \"rows\"]} {\n"
      "  %s = kern.decode_batch {rows = \"rows\", keys = \"keys\"} : "
      "!kern.ragged<0>\n  %c = kern.get_cache @" +
      c.name + ".kv : " + cache + "\n";
  std::string text = "kern.cache @" + c.name + ".kv : " + cache +
                     " {group = 1 : i64, offset = " + str(kOffset) +
                     " : i64}\n";
  // The function that appends keys and values.
  text += "func.func @" + c.name + ".append(%k: " + key + ", %v: " + value +
          head + "  kern.phase \"" + c.name +
          ".append\" {\n    kern.append %k, %v ragged %s cache %c : " + key +
          ", " + value + ", !kern.ragged<0>, " + cache + "\n  }\n  return\n}\n";
  // The weights for the attention.
  if (c.slopes)
    text += "kern.weight @" + c.name + ".slopes : " + slopes +
            " = #weight.expr<file(\"w\")>\n";
  if (c.reach)
    text += "kern.weight @" + c.name + ".bias : " + bias +
            " = #weight.expr<file(\"b\")>\n";
  // The attention with its optional operands and attributes.
  text += "func.func @" + c.name + "(%q: " + query + ", %t: " + scratch +
          ", %p: " + partials + ", %n: " + counters + ", %y: " + out + head;
  if (c.slopes)
    text += "  %l = kern.get_weight @" + c.name + ".slopes : " + slopes + "\n";
  if (c.reach)
    text += "  %b = kern.get_weight @" + c.name + ".bias : " + bias + "\n";
  if (c.readOnly)
    text += "  %u = kern.cache_batch @" + c.name +
            ".kv {keys = \"others\"} : !kern.ragged<1>\n";
  text += "  kern.phase \"" + c.name + "\" {\n    kern.attention %q ragged " +
          (c.oneTable ? "%u, " : "%s, ") + (c.readOnly ? "%u" : "%s") +
          " cache %c" + (c.slopes ? " slopes %l" : "") +
          (c.reach ? " relative_bias %b" : "") +
          " scratch %t partials %p counters %n outs(%y) heads " + str(c.heads) +
          " kv_heads " + str(c.kvHeads) + " scale " + std::to_string(kScale) +
          (c.readOnly ? " {" : " {causal, ") + "schedule = #kern.schedule<" +
          kern::AttentionSchedule::parse(c.schedule)->getAttrText() + ">";
  if (c.window)
    text += ", window = " + str(c.window) + " : i64";
  if (c.softCap != 0)
    text += ", soft_cap = " + std::to_string(c.softCap) + " : f64";
  return text + "} : " + query + ", !kern.ragged<" + (c.oneTable ? "1" : "0") +
         ">, !kern.ragged<" + (c.readOnly ? "1" : "0") + ">, " + cache +
         (c.slopes ? ", " + slopes : std::string()) +
         (c.reach ? ", " + bias : std::string()) + ", " + scratch + ", " +
         partials + ", " + counters + ", " + out + "\n  }\n  return\n}\n";
}
