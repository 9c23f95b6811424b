// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What configs of BERT and its relatives make of their entries of the table.
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

using Windows = std::vector<int64_t>;

TEST(BertFamilies, windows_to_both_sides) {
  // |i - j| <= w / 2, which is a window of w / 2 + 1 of attn.sdpa.
  EXPECT_EQ(
      FromConfig(config("modernbert", "\"local_attention\": 8")).windows(),
      (Windows{0, 5, 5}));
  EXPECT_EQ(
      FromConfig(config("modernbert", "\"local_attention\": 7, "
                                      "\"global_attn_every_n_layers\": 2"))
          .windows(),
      (Windows{0, 4, 0}));
  EXPECT_EQ(FromConfig(config("modernbert", R"("local_attention": 2,
      "layer_types": ["sliding_attention", "full_attention", "full_attention"])"))
                .windows(),
            (Windows{2, 0, 0}));
  // The default of 128 is 65, beyond the context.
  EXPECT_EQ(FromConfig(config("modernbert")).windows(), (Windows{0, 0, 0}));
}

} // namespace
