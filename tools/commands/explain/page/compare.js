// Compares two compilations: options, passes, remarks, costs and code.

/** Returns an entry's number rows: [label, format, value, true if more is neither worse nor better]. */
function getCosts(explanation, name) {
  const entry = explanation.entries.find(one => one.name === name);
  if (!entry)
    return [];
  const {flops, padded, example} = entry;
  const call = `${plural(example.batch, 'sequence')} of ${plural(example.length, 'token')}${example.past ? ` after ${formatExact(example.past)}` : ''}`;
  const moved = entry.phases.reduce((sum, phase) => sum + (phase.bytes.value + phase.weight_bytes) * phase.runs, 0);
  return [[`work of ${call}`, formatFlops, flops.value], ['of it in bf16', formatFlops, entry.bf16_flops.value, true],
    ['of it of whole numbers', formatFlops, entry.int8_flops.value, true], ['weights read', formatBytes, entry.streamed_bytes], ['weights and buffers moved', formatBytes, moved], ['memory', formatBytes, entry.arena_bytes.value], ['least memory of any plan', formatBytes, getLeastMemory(entry, null)],
    ...padded ? [[`work of ${describeBatch(padded)} in a batch`, formatFlops, padded.flops], ['of it for padding', formatFlops, padded.flops - padded.flops_alone],
      ['weights and buffers moved by the batch', formatBytes, padded.bytes], ['memory of the batch', formatBytes, padded.arena_bytes]] : [],
    ['phases', formatExact, entry.phases.length, true], ['barriers', formatExact, entry.barriers], ['buffers', formatExact, entry.buffers.length, true]];
}

const remarkKey = ({remark, location, message}) => [remark.kind, remark.category, message, location].join('\n');

const compare = {
  show(view) {
    view.className = 'compare';
    const [a, b] = data.explanations;
    const page = make('div', 'page', make('h1', '', 'Two compilations'),
      make('p', 'lead', make('b', 'side-a', 'A'), ` ${this.describe(a)}`), make('p', 'lead', make('b', 'side-b', 'B'), ` ${this.describe(b)}`));
    for (const [index, {notes}] of [a, b].entries())
      page.append(...notes.map(note => make('p', 'lead', make('b', '', `Note on ${'AB'[index]} `), note)));
    page.append(heading('Costs'), this.makeCosts(a, b), heading('Phases', make('small', '', 'by module, in all layers; work, bytes moved, runs')), this.makePhases(a, b),
      heading('Passes', make('small', '', 'operations after those that did something else')), this.makePasses(a, b), heading('Remarks', make('small', '', 'of one compilation alone')), this.makeRemarks(a, b));
    view.replaceChildren(page);
  },

  refresh() {},

  describe({model, compile}) {
    const options = compile.options.map(({key, value}) => `${key} ${value}`.trim());
    return [model.name, compile.dtype, compile.backend, compile.isas.join(', '), ...options, ...compile.disabled_passes.map(({pass}) => `without ${pass}`)].filter(Boolean).join(' · ');
  },

  makeTable(rows, names) {
    return make('div', 'scrollable', make('table', 'comparison', make('thead', '', make('tr', '', ...names.map((name, index) => make('th', index ? 'right' : '', name)))), make('tbody', '', ...rows)));
  },

  makeCosts(a, b) {
    const rows = [];
    const add = (label, format, x, y, isNeutral = false) => {
      if (!x && !y)
        return;
      const change = isNumber(x) && isNumber(y) && x ? 100 * (y / x - 1) : NaN;
      const text = x === y ? '' : isNumber(change) ? `${change > 0 ? '+' : '\u2212'}${Math.abs(change) >= 1000 ? formatRatio(y / x) + '×' : Math.abs(change).toFixed(1) + ' %'}` : isNumber(x) && isNumber(y) ? 'new' : `only ${isNumber(x) ? 'A' : 'B'}`;
      rows.push(make('tr', x === y ? 'quiet' : '', make('td', '', label), make('td', 'right', numberNode(x, format)), make('td', 'right', numberNode(y, format)), make('td', `right change ${isNeutral ? '' : change > 0 || text === 'new' ? 'worse' : change < 0 ? 'better' : ''}`, text)));
    };
    const names = [...new Set([...a.entries, ...b.entries].map(entry => entry.name))];
    for (const name of names) {
      const [left, right] = [getCosts(a, name), getCosts(b, name)];
      const find = (costs, label) => (costs.find(cost => cost[0] === label) || [])[2] ?? NaN;
      for (const [label, format, , isNeutral] of [...left, ...right.filter(cost => !left.some(([other]) => other === cost[0]))])
        add(names.length > 1 ? `${name}: ${label}` : label, format, find(left, label), find(right, label), isNeutral);
    }
    add('packed weights', formatBytes, a.weight_bytes, b.weight_bytes);
    const measured = this.findMeasured();
    if (measured)
      add(`time of ${measured[0].batch} × ${measured[0].seq}`, formatSeconds, ...measured.map(row => row.ms_min / 1e3));
    return this.makeTable(rows, ['', 'A', 'B', 'B − A']);
  },

  /** Lists passes that only one compilation has, or that changed the operation count differently. */
  makePasses(a, b) {
    const list = explanation => {
      const seen = new Map();
      return new Map(explanation.passes.map((pass, index) => {
        const key = `${pass.pass} ${pass.isa}`, count = seen.get(key) || 0;
        seen.set(key, count + 1);
        return [`${key}#${count}`, {pass, delta: getDelta(index, explanation)}];
      }));
    };
    const [left, right] = [list(a), list(b)];
    const describe = one => !one ? 'not run' : one.pass.changed ? `${plural(countOps(one.pass), 'operation')}${one.delta ? `, ${signed(one.delta)}` : ''}` : 'changed nothing';
    // Lowered code differs wherever kernels differ.
    const rows = [...new Set([...left.keys(), ...right.keys()])].map(key => [key, left.get(key), right.get(key)])
      .filter(([, x, y]) => !x || !y || x.pass.changed !== y.pass.changed || !x.pass.isa && x.delta !== y.delta)
      .map(([, x, y]) => make('tr', '', make('td', 'code', this.linkPass((x || y).pass, x ? a : b)), make('td', 'right', describe(x)), make('td', 'right', describe(y))));
    return rows.length ? this.makeTable(rows, ['', 'A', 'B']) : make('div', 'note', 'All passes did the same.');
  },

  /** A button that shows the IR after a pass in both compilations. */
  linkPass(pass, explanation) {
    const model = data.explanations.indexOf(explanation);
    return button(`${pass.pass}${pass.isa ? ` ${pass.isa}` : ''}`, () => {
      select({model});
      select({view: 'passes', pass: explanation.passes.indexOf(pass), across: true, op: -1});
    }, {className: 'link', title: 'After this pass in A and in B'});
  },

  makeRemarks(a, b) {
    const [left, right] = [a, b].map(({remarks}) => groupRemarks(remarks));
    const [inLeft, inRight] = [left, right].map(groups => new Set(groups.map(remarkKey)));
    const only = [...left.filter(group => !inRight.has(remarkKey(group))).map(group => ['A', group]), ...right.filter(group => !inLeft.has(remarkKey(group))).map(group => ['B', group])];
    if (!only.length)
      return make('div', 'note', 'All remarks are the same.');
    const show = all => make('div', 'remarks', ...all.map(([side, {remark, location, message}]) => make('div', `remark-item ${remark.kind}`, make('span', `kind side-${side.toLowerCase()}`, `only ${side}`),
      make('span', 'message', `${remark.kind}: ${message}`), make('span', 'category', remark.category), make('span', 'path', ...pathNodes(location)))));
    // Analysis remarks follow from other passes.
    const [found, done] = [only.filter(([, {remark}]) => remark.kind === 'analysis'), only.filter(([, {remark}]) => remark.kind !== 'analysis')];
    return make('div', '', done.length ? show(done) : null, found.length ? make('details', 'more', make('summary', '', `${formatExact(found.length)} more that passes found out`), show(found)) : null);
  },

  /** Lists phases by their model module, in all layers: paired if they share a module. */
  makePhases(a, b) {
    const measured = this.findMeasured();
    const groups = [];
    for (const [side, explanation] of [a, b].entries())
      for (const entry of explanation.entries)
        for (const phase of entry.phases)
          this.addPhase(groups, side, entry, phase, measured && measured[side]);
    const difference = ({sides: [x, y]}) => (y.seconds || 0) - (x.seconds || 0);
    if (measured)
      groups.sort((x, y) => Math.abs(difference(y)) - Math.abs(difference(x)));
    const describe = sum => !sum.runs ? '–' : [measured && formatSeconds(sum.seconds), formatFlops(sum.flops), formatBytes(sum.bytes), plural(sum.runs, 'run')].filter(Boolean).join(' · ');
    const signedAs = (format, value) => value ? `${value > 0 ? '+' : '\u2212'}${format(Math.abs(value))}` : '';
    const rows = groups.map(({rest, titles, layers, entry, sides: [x, y]}) => {
      const isSame = x.texts.join() === y.texts.join() && x.runs === y.runs && x.bytes === y.bytes && x.flops === y.flops;
      const seconds = measured ? difference({sides: [x, y]}) : 0;
      // Each amount is colored by its own change.
      const paint = (format, value) => value ? make('span', value > 0 ? 'worse' : 'better', signedAs(format, value)) : null;
      const changes = (measured ? [paint(formatSeconds, Math.abs(seconds) < 1e-9 ? 0 : seconds)]
        : [paint(formatFlops, y.flops - x.flops), paint(formatBytes, y.bytes - x.bytes), paint(value => plural(value, 'run'), y.runs - x.runs)]).filter(Boolean);
      const [onlyX, onlyY] = [x.texts.filter(text => !y.texts.includes(text)), y.texts.filter(text => !x.texts.includes(text))];
      const what = [...x.texts.filter(text => y.texts.includes(text)), ...onlyX.map(text => `A: ${text}`), ...onlyY.map(text => `B: ${text}`)].join('; ');
      return make('tr', isSame && !measured ? 'quiet' : '', make('td', '', make('b', '', commonPath(rest) || titles.join('; ') || 'layer'), [...layers].length ? ` layers ${[...layers].join(', ')}` : '', make('div', 'note', a.entries.length > 1 ? `${entry}: ${what}` : what)),
        make('td', 'right', describe(x)), make('td', 'right', describe(y)), make('td', 'right', ...changes.flatMap((node, index) => index ? [' · ', node] : [node])));
    });
    return this.makeTable(rows, ['', 'A', 'B', 'B \u2212 A']);
  },

  addPhase(groups, side, entry, phase, measured) {
    const {rest, layers} = splitLayer(phase.location);
    let group = groups.find(one => one.entry === entry.name && Boolean(one.layers.size) === Boolean(layers) && (one.rest === rest || relatePaths(one.rest, rest) === Infinity));
    if (!group)
      groups.push(group = {entry: entry.name, rest, titles: [], layers: new Set(), sides: [0, 1].map(() => ({runs: 0, flops: 0, bytes: 0, seconds: NaN, texts: []}))});
    if (layers)
      group.layers.add(layers);
    const sum = group.sides[side], line = measured && measured.entry === entry.name && measured.profile.find(one => one.phase === phase.name);
    sum.runs += phase.runs;
    sum.flops += phase.flops.value * phase.runs;
    sum.bytes += (phase.bytes.value + phase.weight_bytes) * phase.runs;
    if (line)
      sum.seconds = (sum.seconds || 0) + line.ms / 1e3;
    const title = getPlaceName(phase.operations.find(({joined}) => joined.length) || {location: rest, joined: []});
    if (!group.titles.includes(title))
      group.titles.push(title);
    // GEMMs and attention, otherwise all operations.
    const computing = phase.operations.filter(({columns}) => columns), shown = (computing.length ? computing : phase.operations).map(describeOperation);
    sum.texts.push(...new Set(shown.filter(text => !sum.texts.includes(text))));
  },

  /** Returns the rows in both profiles with equal entry and sizes; null without them. */
  findMeasured() {
    const [left, right] = data.profiles.map(rows => (rows || []).filter(row => row.profile));
    const key = row => [row.entry, row.batch, row.seq, row.depth].join(' ');
    for (const row of left || []) {
      const other = (right || []).find(one => key(one) === key(row));
      if (other)
        return [row, other];
    }
    return null;
  },
};
