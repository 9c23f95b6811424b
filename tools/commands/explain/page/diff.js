// The IR before and after a pass, side by side. Only visible lines are
// elements.

const ROW = 19;          // line height in pixels
const CONTEXT = 3;       // unfolded statements around a change
const LEAST_FOLDED = 4;  // min statements in a fold

/** Returns highlighting for an MLIR line: [text, class]; `name` is its operation's name. */
function markLine(line, name) {
  const found = [];
  const words = /"(?:[^"\\]|\\.)*"|%[\w$.-]+(?:#\d+)?|[@!#^][\w$.-]+|[a-z_]+\.[\w.]+|[^"%@!#^a-z]+|[a-z_][\w]*|./g;
  for (const [word] of line.matchAll(words)) {
    const kind = word[0] === '%' ? 'value' : word[0] === '"' || word[0] === '@' ? 'symbol' : '!#^'.includes(word[0]) ? 'type'
      : word === name ? 'op' : '';
    const last = found[found.length - 1];
    if (last && last[1] === kind && !kind)
      last[0] += word;
    else
      found.push([word, kind]);
  }
  return found;
}

/** Returns the range in a string that differs from another string, as [begin, end]. */
function findChange(text, other) {
  let begin = 0, end = 0;
  const most = Math.min(text.length, other.length);
  while (begin < most && text[begin] === other[begin])
    ++begin;
  while (end < most - begin && text[text.length - 1 - end] === other[other.length - 1 - end])
    ++end;
  return [begin, text.length - end];
}

/** Returns the elements in a line; `change` is the emphasized range. */
function lineNodes(line, name, change) {
  const nodes = [];
  let at = 0;
  for (const [word, kind] of markLine(line, name)) {
    const cuts = change ? [...new Set([0, ...change.map(cut => Math.min(word.length, Math.max(0, cut - at))), word.length])].sort((a, b) => a - b) : [0, word.length];
    for (let i = 0; i + 1 < cuts.length; ++i) {
      const piece = word.slice(cuts[i], cuts[i + 1]);
      const isChanged = change && at + cuts[i] >= change[0] && at + cuts[i + 1] <= change[1];
      nodes.push(kind || isChanged ? make('span', [kind, isChanged ? 'edit' : ''].filter(Boolean).join(' '), piece) : piece);
    }
    at += word.length;
  }
  return nodes;
}

const diff = {
  folds: new Map(),   // fold begin to whether it is open, for the shown pair
  closed: new Set(),  // pairs whose operation's region is folded

  show(view) {
    view.className = 'diff';
    const pass = getPass();
    if (!pass)
      return this.showEmpty(view, 'Choose a pass.');
    this.left = getBefore();
    this.right = getAfter();
    const head = make('div', 'head', make('div', 'title', make('h1', '', pass.pass), make('span', 'stage', pass.isa ? `${pass.stage} · ${pass.isa}` : pass.stage), verdictNode(pass, true)),
      make('p', '', `${pass.summary}.`));
    if (pass.verdict === 'different')
      head.append(differenceBox(getVerification().difference));
    head.append(this.makeDeltas(pass), replayBox(state.pass));
    if (!this.left || !this.right || !state.across && getMade(state.pass) < 0 && pass.changed) {
      this.rows = this.scroller = null;
      view.replaceChildren(head, make('div', 'scroller', this.makeCounts()));
      return;
    }
    const sides = getSides();
    this.pairs = sides[0] === sides[1] ? this.right.statements.map((_, index) => ({left: index, right: index, kind: 'same'})) : getAlignment(...sides);
    if (this.shownPass !== `${sides} ${state.pass}`) {
      this.folds = new Map();
      this.closed = new Set();
      this.shownPass = `${sides} ${state.pass}`;
    }
    this.makePanes(view, head);
    this.layRows();
    this.reveal();
  },

  showEmpty(view, text) {
    view.replaceChildren(make('div', 'note', text));
  },

  makeDeltas(pass) {
    const [before, after] = getSummaries(state.pass);
    const box = make('div', 'deltas');
    for (const [name, a, b] of compareOps(before, after))
      box.append(make('span', b > a ? 'delta more' : 'delta less', make('b', '', name), ` ${a} → ${b}`));
    if (before.weight_bytes !== after.weight_bytes)
      box.append(make('span', 'delta', make('b', '', 'weights'), ` ${formatBytes(before.weight_bytes)} → ${formatBytes(after.weight_bytes)}`));
    if (!pass.changed && !state.across)
      box.append(make('span', 'delta', 'changed nothing'));
    else if (!box.children.length)
      box.append(make('span', 'delta', 'no operation more or less'));
    return box;
  },

  /** For a pass whose IR is not in the page: the resulting code, and operation counts by name. */
  makeCounts() {
    const [before, after] = getSummaries(state.pass);
    const names = [...new Set([...Object.keys(before.operations), ...Object.keys(after.operations)])];
    const rows = names.map(name => [name, before.operations[name] || 0, after.operations[name] || 0]).sort((a, b) => Math.max(b[1], b[2]) - Math.max(a[1], a[2]))
      .map(([name, a, b]) => make('tr', a === b ? 'quiet' : '', make('td', 'code', name), ...[a, b].map(count => make('td', 'right', numberNode(count, formatExact))), make('td', 'right', a === b ? '' : signed(b - a))));
    const table = make('table', 'counts', make('thead', '', make('tr', '', ...['operation', 'before', 'after', ''].map((name, index) => make('th', index ? 'right' : '', name)))), make('tbody', '', ...rows));
    const {isa} = getPass(), code = isa ? codeList(isa) : null;
    return make('div', 'page', code, code ? heading('Operations before and after this pass') : make('p', 'lead', 'The page has no IR of this pass. The commands above print it.'), make('div', 'scrollable', table));
  },

  makePanes(view, head) {
    const tools = make('div', 'tools', make('span', 'count'), button('changes ↓', () => this.jump(1), {title: 'Next change (n)'}), button('↑', () => this.jump(-1), {title: 'Change before (p)'}),
      button('fold all', () => this.foldAll(true), {title: 'Fold what did not change (f)'}), button('unfold all', () => this.foldAll(false), {title: 'Show all lines (F)'}));
    if (data.explanations.length > 1)
      tools.append(button('A | B', () => select({across: !state.across, op: -1}), {pressed: state.across, title: 'After this pass in A and in B (b)'}));
    const remarks = getPass().remarks.map(index => getExplanation().remarks[index]);
    if (remarks.length)
      tools.append(kindSwitches(remarks, () => this.show($('view'))));
    this.scroller = make('div', 'scroller');
    this.spacer = make('div', 'spacer');
    this.panes = make('div', 'panes');
    this.isNarrow = view.clientWidth < 700 || isPrinting();
    const sides = this.isNarrow ? ['both'] : ['before', 'after'];
    this.columns = sides.map(side => {
      const rows = make('div', 'rows');
      const pane = make('div', 'pane', rows);
      pane.dataset.side = side;
      pane.addEventListener('scroll', () => this.columns.forEach(other => { if (other.pane !== pane) other.pane.scrollLeft = pane.scrollLeft; }));
      return {side, pane, rows};
    });
    this.panes.append(...this.columns.map(column => column.pane));
    this.spacer.append(this.panes);
    this.scroller.append(this.spacer);
    this.scroller.addEventListener('scroll', () => this.draw());
    this.panes.addEventListener('click', event => this.onClick(event));
    view.replaceChildren(head, tools, this.scroller);
  },

  /** Returns the location for each of the pass's remarks: the first pair with a changed operation in its module. */
  placeRemarks() {
    const placed = new Map();
    for (const group of getPass().remarks.map(index => getExplanation().remarks[index]).filter(remark => isShownKind(remark.kind))) {
      let best = 0, bestScore = -1;
      for (const [index, {left, right, kind}] of this.pairs.entries()) {
        const statement = right >= 0 ? this.right.statements[right] : this.left.statements[left];
        if (statement.op < 0 || !statement.place)
          continue;
        const nearness = relatePaths(statement.place, group.location);
        const score = nearness && Math.min(nearness, 99) * 4 + (kind === 'changed' || kind === 'added' ? 2 : kind === 'removed' ? 1 : 0) - (/^(builtin|func|\})/.test(statement.name) || MINOR.test(statement.name) ? 1.5 : 0);
        if (score > bestScore && score > 0)
          [best, bestScore] = [index, score];
      }
      if (!placed.has(best))
        placed.set(best, []);
      placed.get(best).push(group);
    }
    return placed;
  },

  /** Marks pairs that stay visible when unchanged ones are folded. */
  markContext(placed) {
    const kept = new Uint8Array(this.pairs.length);
    const keep = index => kept.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
    for (const [index, {kind}] of this.pairs.entries())
      if (kind === 'removed' || kind === 'added' || kind === 'changed' || placed.has(index))
        keep(index);
    const selected = this.findSelectedPair();
    if (selected >= 0)
      keep(selected);
    return kept;
  },

  findSelectedPair() {
    const listing = getSide(state.where);
    if (state.op < 0 || !listing || !listing.ops[state.op])
      return -1;
    const {statement} = listing.ops[state.op];
    return this.pairs.findIndex(pair => pair[state.where === 'before' ? 'left' : 'right'] === statement);
  },

  /** Returns the pair with the bracket that closes the region of a pair's operation; -1 for none. */
  findEnd(index) {
    const {left, right} = this.pairs[index];
    const side = right >= 0 ? 'right' : 'left';
    const statement = this[side].statements[side === 'right' ? right : left];
    const op = statement.op >= 0 ? this[side].ops[statement.op] : null;
    if (!op || op.end === undefined)
      return -1;
    for (let i = index + 1; i < this.pairs.length; ++i)
      if (this.pairs[i][side] === op.end)
        return i;
    return -1;
  },

  /** Creates the rows from pairs, folds and remarks. */
  layRows() {
    const placed = this.placeRemarks(), kept = this.markContext(placed);
    this.rows = [];
    this.firstRow = new Int32Array(this.pairs.length).fill(-1);
    for (let i = 0, isRunStart = true; i < this.pairs.length;) {
      let end = i;
      while (isRunStart && end < this.pairs.length && !kept[end])
        ++end;
      if (end - i >= LEAST_FOLDED && !this.folds.get(i)) {
        this.rows.push({fold: i, count: end - i});
        i = end;
        continue;
      }
      this.addPair(i);
      for (const remark of placed.get(i) || [])
        this.rows.push({remark});
      const regionEnd = this.closed.has(i) ? this.findEnd(i) : -1;
      isRunStart = regionEnd > i || Boolean(kept[i]);
      i = regionEnd > i ? regionEnd : i + 1;
    }
    this.changes = this.findChanges();
    const count = this.pairs.filter(pair => pair.kind !== 'same' && pair.kind !== 'renamed').length;
    const label = $('view').querySelector('.tools .count');
    label.textContent = count ? `${plural(this.changes.length, 'change')}, ${plural(count, 'statement')}` : 'nothing changed';
    this.spacer.style.height = `${this.rows.length * ROW + 40}px`;
    const widest = Math.max(40, ...this.rows.map(row => Math.max(row.left >= 0 ? this.left.lines[row.left].length : 0, row.right >= 0 ? this.right.lines[row.right].length : 0)));
    this.columns.forEach(({rows}) => { rows.style.minWidth = `calc(${Math.min(widest, 400)}ch + 5.5em)`; });
    this.draw();
  },

  addPair(index) {
    const {left, right, kind} = this.pairs[index];
    const a = left >= 0 ? this.left.statements[left] : null, b = right >= 0 ? this.right.statements[right] : null;
    this.firstRow[index] = this.rows.length;
    if (this.isNarrow && kind !== 'same' && kind !== 'renamed') {
      for (let i = 0; a && i < a.count; ++i)
        this.rows.push({pair: index, left: a.line + i, right: -1, kind: 'removed', first: i === 0});
      for (let i = 0; b && i < b.count; ++i)
        this.rows.push({pair: index, left: -1, right: b.line + i, kind: 'added', first: i === 0});
      return;
    }
    const count = Math.max(a ? a.count : 0, b ? b.count : 0);
    for (let i = 0; i < count; ++i)
      this.rows.push({pair: index, left: a && i < a.count ? a.line + i : -1, right: b && i < b.count ? b.line + i : -1, kind, first: i === 0});
  },

  /** Returns the rows at which changes begin. */
  findChanges() {
    const found = [];
    let isOpen = false;
    for (const [index, row] of this.rows.entries()) {
      if (row.remark)
        continue;
      const isChange = row.kind === 'removed' || row.kind === 'added' || row.kind === 'changed';
      if (isChange && !isOpen)
        found.push(index);
      isOpen = isChange;
    }
    return found;
  },

  draw() {
    if (!this.scroller || !this.scroller.isConnected)
      return;
    const {scrollTop, clientHeight} = this.scroller, isAll = isPrinting();
    this.panes.style.height = isAll ? '' : `${clientHeight}px`;
    const first = isAll ? 0 : Math.floor(scrollTop / ROW), last = isAll ? this.rows.length : Math.min(this.rows.length, first + Math.ceil(clientHeight / ROW) + 1);
    const marks = this.findMarks();
    for (const {side, rows} of this.columns) {
      rows.style.transform = isAll ? '' : `translateY(${-(scrollTop - first * ROW)}px)`;
      rows.replaceChildren(...this.rows.slice(first, last).map(row => this.makeRow(row, side, marks)));
    }
  },

  /** Returns the marked operations: the selected one, and those in its module on the other side. */
  findMarks() {
    const listing = getSide(state.where), marks = {before: new Map(), after: new Map()};
    if (state.op < 0 || !listing || !listing.ops[state.op])
      return marks;
    const op = listing.ops[state.op], other = state.where === 'before' ? 'after' : 'before';
    marks[state.where].set(op.index, 'selected');
    for (const related of getSide(other).findRelated(op.location))
      marks[other].set(related, 'related');
    for (const operand of op.operands)
      marks[state.where].set(operand, 'operand');
    return marks;
  },

  makeRow(row, side, marks) {
    if (row.remark)
      return this.makeRemark(row.remark, side);
    if (row.fold !== undefined) {
      const fold = make('div', 'row fold', side === 'after' ? '' : `⋯ ${plural(row.count, 'statement')} as before`);
      fold.dataset.fold = row.fold;
      return fold;
    }
    const isLeft = side === 'before' || side === 'both' && row.right < 0;
    const line = isLeft ? row.left : row.right;
    const element = make('div', `row ${row.kind}`);
    if (line < 0) {
      element.classList.add('none');
      return element;
    }
    const listing = isLeft ? this.left : this.right, pair = this.pairs[row.pair];
    const statement = listing.statements[isLeft ? pair.left : pair.right];
    const mark = statement.op >= 0 && marks[isLeft ? 'before' : 'after'].get(statement.op);
    if (mark)
      element.classList.add(mark);
    element.dataset.pair = row.pair;
    element.dataset.side = isLeft ? 'before' : 'after';
    const hasRegion = row.first && statement.op >= 0 && listing.ops[statement.op].end !== undefined && listing.ops[statement.op].parent >= 0;
    const text = listing.lines[line];
    const other = isLeft ? this.right : this.left, otherLine = isLeft ? row.right : row.left;
    const isOneOp = row.kind === 'changed' && this.left.statements[pair.left].name === this.right.statements[pair.right].name;
    const change = isOneOp && otherLine >= 0 ? findChange(text, other.lines[otherLine]) : null;
    element.append(make('span', 'line', String(line + 1)), make('span', hasRegion ? 'gutter region' : 'gutter', hasRegion ? this.closed.has(row.pair) ? '▸' : '▾' : ''),
      make('span', 'text', ...lineNodes(text, row.first ? statement.name : '', change), hasRegion && this.closed.has(row.pair) ? make('span', 'hidden-lines', ' ⋯ ') : null));
    return element;
  },

  makeRemark(remark, side) {
    const row = make('div', `row remark ${remark.kind}`);
    if (side !== 'before')
      row.append(make('span', 'bubble', make('b', '', remark.kind), ` ${remark.message}`, remark.location ? make('i', '', ` ${remark.location}`) : null));
    row.title = remark.help || '';
    return row;
  },

  onClick(event) {
    const fold = event.target.closest('[data-fold]'), row = event.target.closest('[data-pair]');
    if (fold) {
      this.folds.set(Number(fold.dataset.fold), true);
      return this.layRows();
    }
    if (!row)
      return;
    const pair = Number(row.dataset.pair), {side} = row.dataset;
    if (event.target.classList.contains('region'))
      return this.toggleRegion(pair);
    const statement = side === 'before' ? this.left.statements[this.pairs[pair].left] : this.right.statements[this.pairs[pair].right];
    const op = statement.op >= 0 ? statement.op : statement.closes;
    if (op >= 0 && !String(getSelection()))
      select({where: side, op: state.op === op && state.where === side ? -1 : op});
  },

  toggleRegion(pair) {
    this.closed.has(pair) ? this.closed.delete(pair) : this.closed.add(pair);
    this.layRows();
  },

  foldAll(isFolded) {
    this.closed = new Set();
    this.folds = new Map();
    if (!isFolded)
      for (let i = 0; i <= this.pairs.length; ++i)
        this.folds.set(i, true);
    this.layRows();
  },

  /** Scrolls to the next or previous change. */
  jump(by) {
    const at = Math.round(this.scroller.scrollTop / ROW) + 3;
    const next = by > 0 ? this.changes.find(row => row > at) : this.changes.filter(row => row < at).pop();
    if (next !== undefined)
      this.scroller.scrollTop = (next - 3) * ROW;
  },

  refresh() {
    if (!this.scroller || !this.scroller.isConnected)
      return this.show($('view'));
    const pair = this.findSelectedPair();
    if (pair >= 0 && this.firstRow[pair] < 0)
      this.layRows();
    this.reveal();
    this.draw();
  },

  /** Scrolls the selected operation into view. */
  reveal() {
    const pair = this.pairs ? this.findSelectedPair() : -1;
    if (pair < 0 || this.firstRow[pair] < 0)
      return;
    const top = this.firstRow[pair] * ROW, {scrollTop, clientHeight} = this.scroller;
    if (top < scrollTop + ROW || top > scrollTop + clientHeight - 3 * ROW)
      this.scroller.scrollTop = top - clientHeight / 3;
  },

  /** Selects the operation in the next or previous statement. */
  step(by) {
    if (!this.rows)
      return;
    const side = state.where === 'before' ? 'left' : 'right';
    const listing = getSide(state.where);
    let pair = this.findSelectedPair();
    if (pair < 0 && this.changes.length)
      pair = this.rows[this.changes[0]].pair - 1;
    for (let i = pair + by; i >= 0 && i < this.pairs.length; i += by) {
      const statement = listing.statements[this.pairs[i][side]];
      if (statement && statement.op >= 0 && this.firstRow[i] >= 0)
        return select({op: statement.op});
    }
  },
};
