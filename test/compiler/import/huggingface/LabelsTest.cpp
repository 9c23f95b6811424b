// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Labels as in transformers 5 and Python's str().
#include "compiler/import/huggingface/Labels.h"
#include "runtime/json/JsonParser.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {
struct Read {
  explicit Read(const std::string &text)
      : config(*parseJson(text, "config.json", JsonNumbers::Python)),
        labels(readLabels(config, 2, notes)) {}
  std::string getError() {
    return config.failed() ? config.takeError().message
           : labels        ? ""
                           : labels.error().message;
  }
  Config config;
  std::vector<std::string> notes;
  Result<std::vector<std::string>> labels;
};
using Names = std::vector<std::string>;
} // namespace

TEST(Labels, names_in_the_order_of_their_numbers) {
  Read read(R"({"id2label": {"1": "b", "0": "a"}, "label2id": 7,
                "num_labels": 2})");
  EXPECT_EQ(*read.labels, (Names{"a", "b"}));
  EXPECT_TRUE(read.notes.empty());
  EXPECT_EQ(*Read("{}").labels, (Names{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(*Read(R"({"num_labels": 3, "id2label": null})").labels,
            (Names{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

TEST(Labels, values_are_written_as_python_writes_them) {
  Read read(R"({"id2label": {"0": 1, "1": true, "2": false, "3": null,
                "4": 0.5, "5": 2.0, "6": 1e-5, "7": 1e16, "8": -1e22,
                "9": NaN, "10": 18446744073709551615, "11": 123456.75}})");
  EXPECT_EQ(*read.labels,
            (Names{"1", "True", "False", "None", "0.5", "2.0", "1e-05", "1e+16",
                   "-1e+22", "nan", "18446744073709551615", "123456.75"}));
  EXPECT_NE(Read(R"({"id2label": {"0": ["a"]}})")
                .getError()
                .find("'/id2label/0': expected a label: a string, a number or "
                      "a boolean, got an array"),
            std::string::npos);
}

TEST(Labels, numbers_that_do_not_match) {
  // The id2label size counts; an unnamed index has the name LABEL_i.
  Read later(R"({"id2label": {"1": "a", "2": "b"}})");
  EXPECT_EQ(*later.labels, (Names{"LABEL_0", "a"}));
  EXPECT_EQ(later.notes,
            Names{"config.json:1:14: '/id2label': no key '0' among the 2 "
                  "labels; its label is 'LABEL_0'"});
  // Another num_labels replaces all names, as the class does.
  Read other(R"({"id2label": {"0": "a", "1": "b"}, "num_labels": 3})");
  EXPECT_EQ(*other.labels, (Names{"LABEL_0", "LABEL_1", "LABEL_2"}));
  EXPECT_EQ(other.notes,
            Names{"config.json:1:14: '/id2label': 2 names, but 'num_labels' is "
                  "3; labels are 'LABEL_0' to 'LABEL_2'"});
  // Among equal indices the last counts.
  EXPECT_EQ(*Read(R"({"id2label": {"0": "a", " +0": "b"}})").labels,
            Names{"b"});
}

TEST(Labels, what_is_rejected) {
  EXPECT_NE(Read(R"({"id2label": {}})").getError().find("no labels"),
            std::string::npos);
  EXPECT_NE(Read(R"({"id2label": ["a"]})").getError().find("an object"),
            std::string::npos);
  EXPECT_NE(Read(R"({"id2label": {"zero": "a"}})")
                .getError()
                .find("'/id2label/zero': key 'zero' is not a label number"),
            std::string::npos);
  EXPECT_NE(Read(R"({"num_labels": 0})").getError().find("'/num_labels'"),
            std::string::npos);
}
