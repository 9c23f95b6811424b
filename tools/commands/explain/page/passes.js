// The list of passes, and the command that reruns a pass.

const passList = {
  /** Returns the indices of passes that match the search and the filter. */
  getShown() {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    return getExplanation().passes.map((pass, index) => ({pass, index})).filter(({pass, index}) => {
      if (state.changedOnly && !pass.changed && !pass.remarks.length && index !== state.pass)
        return false;
      const text = `${pass.pass} ${pass.stage} ${pass.isa} ${pass.verdict} ${pass.summary}`.toLowerCase();
      return words.every(word => text.includes(word) || this.isInIr(index, word));
    }).map(({index}) => index);
  },

  /** Returns true if a line in the IR after a pass contains a word. */
  isInIr(pass, word) {
    if (getMade(pass) < 0 || word.length < 3)
      return false;
    const {lines} = data.listings[getMade(pass)];
    const matches = this.findLines(word);
    for (let i = 0; i < lines.length; i += 2)
      for (let j = 0; j < lines[i + 1]; ++j)
        if (matches.has(lines[i] + j))
          return true;
    return false;
  },

  findLines(word) {
    if (this.word !== word) {
      this.word = word;
      this.found = new Set();
      for (const [index, line] of data.lines.entries())
        if (line.toLowerCase().includes(word))
          this.found.add(index);
    }
    return this.found;
  },

  show() {
    const {passes, remarks} = getExplanation();
    const items = [];
    let heading = '';
    for (const index of this.getShown()) {
      const pass = passes[index];
      const title = pass.isa ? `${pass.stage} · ${pass.isa}` : pass.stage;
      if (title !== heading)
        items.push(make('h2', '', heading = title));
      items.push(this.makeItem(pass, index, remarks));
    }
    if (!items.length)
      items.push(make('div', 'note', 'No pass matches.'));
    $('passes').replaceChildren(...items);
    const current = $('passes').querySelector('[aria-selected=true]');
    if (current)
      current.scrollIntoView({block: 'nearest'});
  },

  makeItem(pass, index, remarks) {
    const delta = getDelta(index);
    const item = make('div', pass.changed ? 'pass' : 'pass quiet', make('span', 'flag', pass.pass));
    const missed = pass.remarks.some(remark => remarks[remark].kind === 'missed' || remarks[remark].kind === 'failure');
    if (pass.remarks.length)
      item.append(make('span', missed ? 'dot missed' : 'dot', ''));
    const count = make('span', 'delta', !pass.changed ? '' : delta ? signed(delta) : '~');
    count.title = delta ? `${plural(Math.abs(delta), 'operation')} ${delta > 0 ? 'more' : 'less'}${pass.isa ? '' : ' that compute something'}` : '';
    item.append(...[verdictNode(pass)].filter(Boolean), count);
    item.setAttribute('role', 'option');
    item.setAttribute('aria-selected', index === state.pass);
    item.dataset.pass = index;
    item.title = `${pass.summary}${pass.changed ? '' : ' (changed nothing)'}`;
    item.addEventListener('click', () => select({pass: index, op: -1, ...(state.view === 'graph' ? {} : {view: 'passes'})}));
    return item;
  },

  /** Selects the pass at distance `by` from the selected one in the list. */
  move(by) {
    const shown = this.getShown();
    const at = shown.indexOf(state.pass);
    const next = shown[Math.min(shown.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    if (next !== undefined)
      select({pass: next, op: -1, ...(state.view === 'graph' ? {} : {view: 'passes'})});
  },
};

/** Quotes a word for a shell. */
const quote = word => /^[\w@%+=:,./{}-]+$/.test(word) && word ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Returns commands that write the imported module, run the pipeline up to a pass, and run only the pass. */
function getReplay(index) {
  const {passes, model, compile} = getExplanation();
  const {name, isa} = passes[index];
  const flags = compile.options.flatMap(({key, value}) => [`--${key.replace(/^--/, '').replaceAll('_', '-')}`, value]).filter(word => word !== '');
  const disabled = compile.disabled_passes.map(({pass}) => `--disable-pass=${pass}`);
  const range = [...disabled, ...(compile.backend === 'native' ? [] : [`--backend=${compile.backend}`]), ...(isa ? [`--isa=${isa}`] : [])];
  const before = passes.findLast((pass, i) => i < index && (pass.isa === '' || pass.isa === isa) && pass.name);
  return [
    ['transom', 'compile', model.name, ...flags, '--emit', 'attn', '--emit-locations', '-o', 'attn.mlir'],
    ...(before ? [['transom-opt', 'attn.mlir', `--stop-after=${before.name}`, ...range, '--mlir-print-debuginfo', '-o', 'before.mlir']] : []),
    ['transom-opt', before ? 'before.mlir' : 'attn.mlir', `--start-at=${name}`, `--stop-after=${name}`, ...range, '--mlir-print-debuginfo'],
  ].map(words => words.map(quote).join(' ')).join('\n');
}

/** Creates the box with the commands. */
function replayBox(index) {
  const text = getReplay(index);
  const code = make('pre', '', text);
  const copy = button('copy', () => copyText(text, code, copy), {className: 'copy', title: 'Copy the commands (y)'});
  const box = make('details', 'replay', make('summary', '', 'Run this pass again'), make('div', 'code', code, copy));
  box.id = 'replay';
  return box;
}
