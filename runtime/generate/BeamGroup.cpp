// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies share KV blocks with their source, so a step costs each group at most
// one block per new beam.
#include "runtime/generate/BeamGroup.h"
#include <algorithm>

using namespace transom;

int64_t BeamGroup::countSequences() const {
  return std::count_if(slots.begin(), slots.end(),
                       [](const BeamSlot &slot) { return slot.sequence >= 0; });
}

void BeamGroup::leave(LogitsSource &source, BeamSlot &slot) {
  if (slot.sequence >= 0)
    source.free(slot.sequence);
  slot.sequence = -1;
  slot.seen = 0;
}

void BeamGroup::leave(LogitsSource &source) {
  for (BeamSlot &slot : slots)
    leave(source, slot);
}

void BeamGroup::begin(const GenerationConfig &config,
                      const PreparedPrompt &prepared) {
  slots.resize(size_t(config.numBeams));
  search =
      std::make_unique<BeamSearch>(config, prepared.tokens, prepared.mostNew);
}

Result<void> BeamGroup::copy(LogitsSource &source, size_t from, size_t to) {
  TRANSOM_ASSIGN(slots[to].sequence, source.copy(slots[from].sequence));
  slots[to].seen = slots[from].seen;
  return {};
}

/// Returns the length of the beams' common prefix; each beam has at least one
/// more token.
size_t BeamGroup::getSharedLength() const {
  const std::vector<BeamSearch::Beam> &beams = search->getBeams();
  const std::vector<int64_t> &first = search->getTokens(beams[0].slot);
  size_t shared = first.size() - 1;
  for (const BeamSearch::Beam &beam : beams) {
    const std::vector<int64_t> &tokens = search->getTokens(beam.slot);
    const auto end = first.begin() + int64_t(shared);
    shared = size_t(std::mismatch(first.begin(), end, tokens.begin()).first -
                    first.begin());
  }
  return shared;
}

Result<void> BeamGroup::restore(LogitsSource &source, int32_t sequence) {
  const std::vector<BeamSearch::Beam> &beams = search->getBeams();
  BeamSlot &first = slots[beams[0].slot];
  first.sequence = sequence;
  const size_t shared = getSharedLength();
  if (shared != 0) {
    const NewTokens tokens{sequence, search->getTokens(beams[0].slot).data(),
                           int64_t(shared), 1};
    TRANSOM_TRY(source.step(&tokens, 1));
    first.seen = shared;
  }
  for (const BeamSearch::Beam &beam : beams)
    if (slots[beam.slot].sequence < 0)
      TRANSOM_TRY(copy(source, beams[0].slot, beam.slot));
  return {};
}

Result<void> BeamGroup::follow(LogitsSource &source, std::string &scratch) {
  for (size_t slot : search->getDead())
    leave(source, slots[slot]);
  for (BeamSearch::Copy made : search->getCopies()) {
    TRANSOM_TRY(copy(source, made.from, made.to));
    slots[made.to].text = slots[made.from].text;
  }
  for (const BeamSearch::Beam &beam : search->getBeams()) {
    BeamSlot &slot = slots[beam.slot];
    scratch.clear();
    if (slot.text)
      slot.text->add(search->getTokens(beam.slot).back(), FinishReason::None,
                     scratch);
  }
  return {};
}
