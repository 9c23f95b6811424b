/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sizes and markers that tests share with the hand-written artifact.
 */
#ifndef TRANSOM_TEST_UNIT_RUNTIME_FAKEARTIFACT_H
#define TRANSOM_TEST_UNIT_RUNTIME_FAKEARTIFACT_H

/* Floats per row. */
#define FAKE_WIDTH 4
/* The decoder: its vocabulary size, which is also its logit row size, and the
 * window in the second of its two cache groups. A block has 256 floats. */
#define FAKE_VOCABULARY 16
#define FAKE_WINDOW 300
#define FAKE_BLOCK_BYTES 1024
/* The id whose logit row begins with a NaN. */
#define FAKE_NAN_TOKEN 15
/* The manifest note size in bytes, and its contents until a test fills it. */
#define FAKE_MANIFEST_ROOM 16384
#define FAKE_MANIFEST_MARK "the manifest goes here"
/* The same for the tokenizer tables. */
#define FAKE_TOKENIZER_ROOM 32768
#define FAKE_TOKENIZER_MARK "the tokenizer goes here"
#define FAKE_DIGEST_TYPE 4
/* A build may specify another ABI. */
#ifndef FAKE_ABI
#define FAKE_ABI TRANSOM_ABI_VERSION
#endif

#endif
