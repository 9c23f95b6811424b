/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How weights and caches are laid out in memory. The compiler, generated code
 * and the runtime agree on these sizes; nothing else states them.
 */
#ifndef TRANSOM_RUNTIME_ABI_LAYOUT_H
#define TRANSOM_RUNTIME_ABI_LAYOUT_H
#include <stdint.h>

/* Columns of a panel of a packed weight, and positions of a panel of keys. */
#define TRANSOM_PANEL_WIDTH 32

/* Positions of a KV block. Attention reaches keys and values through one
 * pointer for each block. A multiple of the panel's width. */
#define TRANSOM_KV_BLOCK_SIZE 256

/* The depth K of a bf16 weight in panels is padded with zeros to a multiple of
 * this. */
#define TRANSOM_DEPTH_ALIGNMENT 32

/* Bytes that buffers of the arena and KV blocks are aligned to: a cache line.
 */
#define TRANSOM_BUFFER_ALIGNMENT 64

/* Workers that take tiles of a product from each other; of more each has its
 * share. Each has so many counters of its tiles in the frame, a multiple of a
 * cache line. After them is the number of workers that are done. */
#define TRANSOM_SHARING_WORKERS 64
#define TRANSOM_TILE_COUNTERS 32

/* From this number of rows per worker on, workers have rows of a product of
 * their own: each reads all weights then, but its rows stay in its caches. With
 * fewer rows each worker has columns of its own. */
#define TRANSOM_OWN_ROWS 64

#ifdef __cplusplus
namespace transom {

inline constexpr int64_t sharingWorkers = TRANSOM_SHARING_WORKERS;
inline constexpr int64_t tileCounters = TRANSOM_TILE_COUNTERS;
/* Words of `transom_frame.counters` that products need. */
inline constexpr int64_t productCounters = sharingWorkers * tileCounters + 1;
inline constexpr int64_t ownRows = TRANSOM_OWN_ROWS;
inline constexpr int64_t panelWidth = TRANSOM_PANEL_WIDTH;
inline constexpr int64_t kvBlockSize = TRANSOM_KV_BLOCK_SIZE;
inline constexpr int64_t depthAlignment = TRANSOM_DEPTH_ALIGNMENT;
inline constexpr int64_t bufferAlignment = TRANSOM_BUFFER_ALIGNMENT;

/* `count` rounded up to whole panels. */
constexpr int64_t alignToPanel(int64_t count) {
  return (count + panelWidth - 1) / panelWidth * panelWidth;
}

/* `bytes` rounded up to where a buffer may begin. */
constexpr int64_t alignToBuffer(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/* Whether workers own rows of a product; of numbers, or of values in generated
 * code. */
template <typename T> constexpr auto ownsRows(T rows, T numWorkers) {
  return numWorkers * ownRows <= rows;
}

/* The number of KV blocks that hold `positions` positions. */
constexpr int64_t getNumKvBlocks(int64_t positions) {
  return (positions + kvBlockSize - 1) / kvBlockSize;
}

/* `positions` rounded up to whole KV blocks. */
constexpr int64_t alignToKvBlock(int64_t positions) {
  return getNumKvBlocks(positions) * kvBlockSize;
}

} /* namespace transom */
#endif
#endif
