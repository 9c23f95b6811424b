// The selection, and queries on the shown explanation.

const state = {view: 'overview', model: 0, pass: -1, where: 'after', op: -1, across: false, query: '', changedOnly: true, kinds: null, entry: 0, sizes: null, file: '', pointer: ''};

const getExplanation = () => data.explanations[state.model];
const getPass = (pass = state.pass) => getExplanation().passes[pass];
const getEntry = () => getExplanation().entries[state.entry];

/** Returns the listing after a pass, -1 for none; pass -1 is the imported module. */
const getMade = (pass, model = state.model) => data.ir[model][pass + 1];

/** Returns the index of the listing after or before a pass; -1 for none. Passes for one instruction set are consecutive. */
function findListing(pass, isBefore = false, model = state.model) {
  const {passes} = data.explanations[model];
  const {isa} = passes[pass] || {isa: ''};
  for (let i = isBefore ? pass - 1 : pass; i >= 0; --i)
    if (getMade(i, model) >= 0 && (passes[i].isa === '' || passes[i].isa === isa))
      return getMade(i, model);
  return getMade(-1, model);
}

/** Returns the pass in a compilation that matches the shown one or its closest predecessor in both, by flag and run; -1 for none. */
function findSame(pass, model) {
  if (pass < 0)
    return -1;
  const {passes} = getExplanation(), {pass: flag, isa} = passes[pass];
  let count = passes.slice(0, pass).filter(one => one.pass === flag && one.isa === isa).length;
  const found = data.explanations[model].passes.findIndex(one => one.pass === flag && one.isa === isa && count-- === 0);
  return found < 0 ? findSame(pass - 1, model) : found;
}

/** Returns the listings on both sides: before and after the pass, or after it in both compilations. */
const getSides = (pass = state.pass) => !state.across ? [findListing(pass, true), findListing(pass)] : [0, 1].map(model => findListing(findSame(pass, model), false, model));

const getListingOf = index => index < 0 ? null : getListing(index);
const getBefore = () => getListingOf(getSides()[0]);
const getAfter = () => getListingOf(getSides()[1]);
const getSide = where => where === 'before' ? getBefore() : getAfter();

/** Returns the summary of the module before a pass. */
function getSummaryBefore(pass, explanation = getExplanation()) {
  const {passes, imported} = explanation;
  const {isa} = passes[pass];
  for (let i = pass - 1; i >= 0; --i)
    if (passes[i].isa === '' || passes[i].isa === isa)
      return passes[i].after;
  return imported;
}

/** Returns the summaries on both sides. */
function getSummaries(pass) {
  if (!state.across)
    return [getSummaryBefore(pass), getPass(pass).after];
  return data.explanations.map((one, model) => (one.passes[findSame(pass, model)] || {after: one.imported}).after);
}

/** Counts computing operations after a pass, without definitions of weights, buffers and views; in LLVM dialect code all operations. */
const countOps = ({isa, after}) => isa ? Object.values(after.operations).reduce((sum, count) => sum + count, 0) : after.computing_operations;

/** Returns how many operations a pass adds; 0 for the pass that lowers kernels to code, since these are not comparable. */
function getDelta(index, explanation = getExplanation()) {
  const pass = explanation.passes[index], before = getSummaryBefore(index, explanation);
  const {isa} = explanation.passes.find(one => one.after === before) || {isa: ''};
  return isa === pass.isa ? countOps(pass) - countOps({isa, after: before}) : 0;
}

/** Returns operation counts that differ by name, as [name, before, after]. */
function compareOps(before, after) {
  return [...new Set([...Object.keys(before.operations), ...Object.keys(after.operations)])].sort()
    .map(name => [name, before.operations[name] || 0, after.operations[name] || 0]).filter(([, a, b]) => a !== b);
}

const alignments = new Map();  // listing pair to rows

function getAlignment(before, after) {
  const key = `${before} ${after}`;
  if (!alignments.has(key))
    alignments.set(key, alignStatements(getListing(before).statements, getListing(after).statements));
  return alignments.get(key);
}

/** Returns a formula symbol's value for call sizes, as the runtime computes it for a batch without padding. */
function getSymbol(name, {batch, length, past, workers}, isStep) {
  const toPanel = value => Math.ceil(value / 32) * 32;
  if (name === 'parts')
    return workers;
  if (name === 'batch')
    return batch;
  if (name.startsWith('pairs_of_')) {
    if (!isStep)
      return batch * length * length;
    const window = Number((/\d+$/.exec(name) || [Infinity])[0]);
    let sum = 0;
    for (let position = past; position < past + length; ++position)
      sum += Math.min(position + 1, window);
    return batch * sum;
  }
  if (name.startsWith('keys'))
    return isStep ? toPanel(past + length) : batch * toPanel(length);
  if (name.startsWith('rows'))
    return batch * length;
  return isStep ? batch : length;
}

/** Returns an amount for the selected sizes; its own value for the example sizes. */
function valueOf(amount, entry = getEntry(), sizes = state.sizes) {
  if (!sizes || Object.keys(sizes).every(name => sizes[name] === entry.example[name]))
    return amount.value === null ? NaN : amount.value;
  return evaluate(amount.formula, new Proxy({}, {get: (_, name) => getSymbol(name, sizes, entry.kind === 'step')}));
}

const knownSizes = new Map();  // entry to whether its formulas are computable for other sizes

/** Returns true if an entry's formulas return their values for the example sizes. */
function canResize(entry) {
  if (!knownSizes.has(entry)) {
    const symbols = new Proxy({}, {get: (_, name) => getSymbol(name, entry.example, entry.kind === 'step')});
    const amounts = [entry.flops, entry.arena_bytes, entry.arena_lower_bound, ...entry.buffers.flatMap(one => [one.offset, one.bytes]),
      ...entry.phases.flatMap(phase => [phase.flops, phase.bytes])];
    knownSizes.set(entry, amounts.every(({formula, value}) => value !== null && evaluate(formula, symbols) === value));
  }
  return knownSizes.get(entry);
}

/** Returns the live buffer bytes in each step of a call. */
const getLiveBytes = (entry, sizes = state.sizes) => entry.memory_steps.map((_, step) =>
  entry.buffers.filter(buffer => buffer.first <= step && step <= buffer.last).reduce((sum, buffer) => sum + valueOf(buffer.bytes, entry, sizes), 0));

/** Returns the lower bound for any memory plan with these sizes: the planner's bound, which holds for all sizes, or the live bytes in the fullest step. */
const getLeastMemory = (entry, sizes = state.sizes) => Math.max(valueOf(entry.arena_lower_bound, entry, sizes), ...getLiveBytes(entry, sizes));

/** Returns `2 sequences of 128 and 32 tokens`. */
const describeBatch = ({lengths}) => `${plural(lengths.length, 'sequence')} of ${lengths.join(' and ')} tokens`;

/** Creates controls for entry and sizes; `change` is called after a change. */
function sizeControls(change) {
  const box = make('div', 'sizes');
  const {entries} = getExplanation();
  if (entries.length > 1)
    box.append(make('div', 'switch', ...entries.map((entry, index) =>
      button(entry.name, () => { state.entry = index; state.sizes = null; change(); }, {pressed: index === state.entry}))));
  const entry = getEntry();
  const shown = state.sizes || entry.example;
  for (const [name, label] of [['batch', 'batch'], ['length', 'tokens'], ['past', 'past'], ['workers', 'threads']]) {
    if (name === 'past' && entry.kind !== 'step')
      continue;
    const input = make('input');
    Object.assign(input, {type: 'number', min: name === 'past' ? 0 : 1, value: shown[name], disabled: !canResize(entry), name});
    input.addEventListener('change', () => {
      const value = Math.min(1 << 20, Math.max(Number(input.min), Math.round(Number(input.value)) || 1));
      state.sizes = {...(state.sizes || entry.example), [name]: value};
      change(name);
    });
    box.append(make('label', '', label, input));
  }
  return box;
}

/** Merges remarks that differ only in the layer, ordered by the first one. */
function groupRemarks(remarks) {
  const groups = new Map();
  for (const remark of remarks) {
    const {location} = remark;
    const key = [remark.kind, remark.category, remark.name, ...[remark.message, location].map(text => text.replace(/(^|\.)\d+(?=\.|$)/g, '$1#'))].join('\n');
    const group = groups.get(key) || {remark, all: []};
    group.all.push(remark);
    groups.set(key, group);
  }
  return [...groups.values()].map(({remark, all}) => ({remark, all, location: mergeLocations(all.map(one => one.location)), message: mergeLocations(all.map(one => one.message))}));
}

/** Merges paths that differ in one number to one path with ranges. */
function mergeLocations(paths) {
  if (paths.length < 2)
    return paths[0];
  const parts = paths.map(path => path.split('.'));
  return parts[0].map((word, i) => {
    const words = [...new Set(parts.map(part => part[i]))];
    if (words.length === 1)
      return word;
    const numbers = words.map(Number).sort((a, b) => a - b);
    if (numbers.some(Number.isNaN))
      return `{${words.join(',')}}`;
    const ranges = [];
    for (let j = 0; j < numbers.length; ++j) {
      const first = numbers[j];
      while (numbers[j + 1] === numbers[j] + 1)
        ++j;
      ranges.push(first === numbers[j] ? String(first) : `${first}-${numbers[j]}`);
    }
    return `{${ranges.join(',')}}`;
  }).join('.');
}

const KINDS = ['failure', 'missed', 'passed', 'analysis'];
const isShownKind = kind => !state.kinds || state.kinds.has(kind);

/** Creates switches for remark kinds. */
function kindSwitches(remarks, change) {
  const present = KINDS.filter(kind => remarks.some(remark => remark.kind === kind));
  return make('div', 'kinds', ...present.map(kind => {
    const chip = button(kind, () => {
      const kinds = new Set(state.kinds || KINDS);
      kinds.has(kind) ? kinds.delete(kind) : kinds.add(kind);
      state.kinds = kinds.size === KINDS.length ? null : kinds;
      change();
    }, {pressed: isShownKind(kind), className: `kind ${kind}`});
    chip.append(make('span', '', formatExact(remarks.filter(remark => remark.kind === kind).length)));
    return chip;
  }));
}
