// Two compilations: what differs in options, passes, remarks, costs and code.

/** Rows of numbers of an entry: [label, format, value]. */
function getCosts(explanation, name) {
  const entry = explanation.entries.find(one => one.name === name);
  if (!entry)
    return [];
  const {value: flops} = entry.flops;
  return [['work of a call', formatFlops, flops], ['of it in bf16', formatFlops, entry.bf16_flops.value], ['weights read', formatBytes, entry.streamed_bytes], ['memory of a call', formatBytes, entry.arena_bytes.value],
    ['its lower bound', formatBytes, entry.arena_lower_bound.value], ['phases', formatExact, entry.phases.length], ['barriers', formatExact, entry.barriers], ['buffers', formatExact, entry.buffers.length]];
}

const remarkKey = ({remark, location, message}) => [remark.kind, remark.category, message, location].join('\n');

const compare = {
  show(view) {
    view.className = 'compare';
    const [a, b] = data.explanations;
    const page = make('div', 'page', make('h1', '', 'Two compilations'),
      make('p', 'lead', make('b', 'side-a', 'A'), ` ${this.describe(a)}`), make('p', 'lead', make('b', 'side-b', 'B'), ` ${this.describe(b)}`));
    page.append(heading('Costs', make('small', '', 'of the example calls')), this.makeCosts(a, b), heading('Passes'), this.makePasses(a, b), heading('Remarks'), this.makeRemarks(a, b),
      heading('Phases'), this.makePhases(a, b));
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
    const add = (label, format, x, y) => {
      if (!x && !y)
        return;
      const change = isNumber(x) && isNumber(y) && x ? 100 * (y / x - 1) : NaN;
      const text = x === y ? '' : isNumber(change) ? `${change > 0 ? '+' : '\u2212'}${Math.abs(change) >= 1000 ? formatRatio(y / x) + '×' : Math.abs(change).toFixed(1) + ' %'}` : isNumber(x) && isNumber(y) ? '' : `only ${isNumber(x) ? 'A' : 'B'}`;
      rows.push(make('tr', x === y ? 'quiet' : '', make('td', '', label), make('td', 'right', numberNode(x, format)), make('td', 'right', numberNode(y, format)), make('td', `right ${change > 0 ? 'worse' : change < 0 ? 'better' : ''}`, text)));
    };
    const names = [...new Set([...a.entries, ...b.entries].map(entry => entry.name))];
    for (const name of names) {
      const [left, right] = [getCosts(a, name), getCosts(b, name)];
      for (const [index, [label, format]] of (left.length ? left : right).entries())
        add(names.length > 1 ? `${name}: ${label}` : label, format, left.length ? left[index][2] : NaN, right.length ? right[index][2] : NaN);
    }
    add('packed weights', formatBytes, a.weight_bytes, b.weight_bytes);
    return this.makeTable(rows, ['', 'A', 'B', 'B − A']);
  },

  /** Passes that are in one only, or changed the module in one only, or left different numbers of operations. */
  makePasses(a, b) {
    const list = ({passes}) => {
      const seen = new Map();
      return new Map(passes.map(pass => {
        const key = `${pass.pass} ${pass.isa}`, count = seen.get(key) || 0;
        seen.set(key, count + 1);
        return [`${key}#${count}`, pass];
      }));
    };
    const [left, right] = [list(a), list(b)];
    const describe = pass => !pass ? 'not run' : `${pass.changed ? '' : 'changed nothing, '}${plural(countOps(pass.after), 'operation')}`;
    const rows = [...new Set([...left.keys(), ...right.keys()])].map(key => [key, left.get(key), right.get(key)])
      .filter(([, x, y]) => !x || !y || x.changed !== y.changed || countOps(x.after) !== countOps(y.after))
      .map(([, x, y]) => make('tr', '', make('td', 'code', this.linkPass(x || y, x ? a : b)), make('td', 'right', describe(x)), make('td', 'right', describe(y))));
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
    return make('div', 'remarks', ...only.map(([side, {remark, location, message}]) => make('div', `remark-item ${remark.kind}`, make('span', `kind side-${side.toLowerCase()}`, `only ${side}`),
      make('span', 'message', `${remark.kind}: ${message}`), make('span', 'category', remark.category), make('span', 'path', location))));
  },

  makePhases(a, b) {
    const list = ({entries}) => new Map(entries.flatMap(entry => entry.phases.map(phase => [phase.name, {phase, entry}])));
    const [left, right] = [list(a), list(b)];
    const describe = one => !one ? '–' : `${one.phase.runs > 1 ? `${one.phase.runs} × ` : ''}${formatFlops(one.phase.flops.value)}`;
    const rows = [...new Set([...left.keys(), ...right.keys()])].map(name => [name, left.get(name), right.get(name)])
      .map(([name, x, y]) => make('tr', describe(x) === describe(y) ? 'quiet' : '', make('td', 'code', name), make('td', 'right', describe(x)), make('td', 'right', describe(y))));
    return this.makeTable(rows, ['', 'A', 'B']);
  },
};
