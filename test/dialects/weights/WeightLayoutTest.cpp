// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout names.
#include "dialects/weights/WeightLayout.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(WeightLayout, NamesReadBack) {
  for (WeightLayout layout : {WeightLayout::Unset, WeightLayout::Rows,
                              WeightLayout::Panels32, WeightLayout::Padded32})
    EXPECT_EQ(parseWeightLayout(getLayoutName(layout)), layout)
        << getLayoutName(layout);
}

TEST(WeightLayout, OtherNamesAreNone) {
  for (const char *name : {"", "panels", "Rows", "panels32 "})
    EXPECT_FALSE(parseWeightLayout(name)) << name;
}

} // namespace
