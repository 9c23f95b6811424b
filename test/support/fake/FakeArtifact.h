/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sizes and marks of the artifact by hand that tests share with its source.
 */
#ifndef TRANSOM_TEST_UNIT_RUNTIME_FAKEARTIFACT_H
#define TRANSOM_TEST_UNIT_RUNTIME_FAKEARTIFACT_H

/* Floats of a row. */
#define FAKE_WIDTH 4
/* The decoder: its ids, the numbers of a row of its result, and the window of
 * the second of its two groups of caches, whose blocks have 256 floats. */
#define FAKE_VOCABULARY 16
#define FAKE_WINDOW 300
#define FAKE_BLOCK_BYTES 1024
/* The id whose row of logits begins with a NaN. */
#define FAKE_NAN_TOKEN 15
/* Bytes of the manifest's note, and what it contains until a test fills it. */
#define FAKE_MANIFEST_ROOM 16384
#define FAKE_MANIFEST_MARK "the manifest goes here"
/* Likewise of the tokenizer's tables. */
#define FAKE_TOKENIZER_ROOM 32768
#define FAKE_TOKENIZER_MARK "the tokenizer goes here"
#define FAKE_DIGEST_TYPE 4
/* A build may pretend to be of another ABI. */
#ifndef FAKE_ABI
#define FAKE_ABI TRANSOM_ABI_VERSION
#endif

#endif
