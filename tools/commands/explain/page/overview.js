// The first view: the model, its compiled form, and the passes' remarks.

function tile(label, value, note) {
  return make('div', 'tile', make('div', 'label', label), make('div', 'value', value), make('div', 'note', note || ''));
}

const overview = {
  show(view) {
    view.className = 'overview';
    const {model, compile, passes, remarks} = getExplanation();
    const layers = Math.max(0, ...getExplanation().entries.map(entry => entry.layers));
    const facts = [model.architecture || model.family, layers && plural(layers, 'layer'), model.parameters && `${formatCount(model.parameters)} parameters`,
      compile.dtype, compile.backend, compile.isas.join(', ')].filter(Boolean).join(' · ');
    const page = make('div', 'page', make('h1', '', model.name), make('p', 'lead', facts));
    if (getEntry())
      page.append(sizeControls(() => this.show(view)), this.makeTiles());
    if (data.findings[state.model].length)
      page.append(this.makeFindings());
    if (getVerification())
      page.append(verificationSection());
    page.append(this.makeSteps(passes));
    if (remarks.length)
      page.append(this.makeRemarks());
    page.append(this.makeFooter());
    view.replaceChildren(page);
  },

  refresh() {},

  makeTiles() {
    const entry = getEntry(), {passes, remarks} = getExplanation();
    const call = state.sizes || entry.example;
    const flops = valueOf(entry.flops), arena = valueOf(entry.arena_bytes), bound = getLeastMemory(entry);
    const changed = passes.filter(pass => pass.changed).length;
    const missed = remarks.filter(remark => remark.kind === 'missed' || remark.kind === 'failure').length;
    return make('div', 'tiles',
      tile('Work of a call', numberNode(flops, formatFlops), `${call.batch} × ${plural(call.length, 'token')}${entry.kind === 'step' ? ` after ${formatExact(call.past)}` : ''}`),
      ...this.makePaddedTile(entry),
      tile('Weights read', numberNode(entry.streamed_bytes, formatBytes), `${formatRatio(flops / entry.streamed_bytes)} FLOP for each byte`),
      tile('Memory of a call', numberNode(arena, formatBytes), bound > 0 ? `${(100 * (arena / bound - 1)).toFixed(1)} % over the lower bound` : ''),
      tile('Barriers', numberNode(entry.barriers, formatExact), `${plural(entry.phases.length, 'phase')}, ${formatExact(entry.order.length)} runs`),
      tile('Passes', `${formatExact(changed)}`, `of ${formatExact(passes.length)} changed something`),
      tile('Not done', numberNode(missed, formatExact), missed ? 'missed remarks below' : 'no missed remark'));
  },

  /** Shows the cost for a batch with different lengths; padding costs nothing if it is removed. */
  makePaddedTile({padded}) {
    if (!padded || padded.flops === null || padded.flops_alone === null)
      return [];
    const share = 1 - padded.flops_alone / padded.flops;
    return [tile('Work with padding', numberNode(padded.flops, formatFlops), `${describeBatch(padded)}; ${share > 0 ? `${(100 * share).toFixed(0)} %` : 'nothing'} of it for padding`)];
  },

  /** Lists findings that slow the model down. */
  makeFindings() {
    const {passes} = getExplanation();
    const items = data.findings[state.model].map(({what, why, advice, pass, file, pointer}) => {
      const index = passes.findIndex(one => one.pass === pass && one.remarks.length);
      const links = make('div', 'links', index < 0 ? null : button(pass, () => select({view: 'passes', pass: index, op: -1}), {className: 'link', title: 'Show the pass'}),
        getSource(file) ? button(`${file} ${pointer}`, () => sourceView.open(file, pointer), {className: 'link', title: 'Show in the model'}) : null);
      return make('div', 'finding', make('b', '', what), why ? make('div', '', make('i', '', 'Why '), why) : null, advice ? make('div', '', make('i', '', 'What to do '), advice) : null, links.children.length ? links : null);
    });
    return make('section', 'findings', heading('What makes it slower than it has to be'), ...items);
  },

  /** Returns the number of computing operations after each pass that changed the module. */
  makeSteps(passes) {
    const {imported} = getExplanation();
    const steps = [{label: 'import', count: countOps({isa: '', after: imported}), stage: 'attn', index: -1},
      ...passes.map((pass, index) => ({label: pass.pass, count: countOps(pass), stage: pass.stage, index, pass})).filter(({pass}) => pass.changed && !pass.isa)];
    const most = Math.max(...steps.map(step => step.count), 1);
    const box = make('div', 'steps');
    let stage = '';
    for (const step of steps) {
      const bar = make('i', 'bar');
      bar.style.setProperty('--size', step.count / most);
      const item = button('', () => step.index >= 0 && select({view: 'passes', pass: step.index, op: -1}), {className: step.stage === stage ? 'pass-step' : 'pass-step first', title: step.pass ? `${step.pass.summary}` : 'the imported model'});
      item.disabled = step.index < 0;
      item.append(make('span', 'stage', step.stage === stage ? '' : step.stage), make('span', 'flag', step.label), bar, make('span', 'count', step.pass ? verdictNode(step.pass) : null, ` ${formatExact(step.count)}`));
      stage = step.stage;
      box.append(item);
    }
    return make('section', '', heading('From model to kernels', make('small', '', 'operations that compute, after each pass that changed something')), box);
  },

  makeRemarks() {
    const {remarks, passes} = getExplanation();
    const passOf = new Map(passes.flatMap((pass, index) => pass.remarks.map(remark => [remarks[remark], index])));
    const list = make('div', 'remarks');
    const order = remark => KINDS.indexOf(remark.kind);
    const groups = groupRemarks(remarks.filter(remark => isShownKind(remark.kind))).sort((a, b) => order(a.remark) - order(b.remark));
    // Analysis remarks are shown on request.
    const found = make('details', 'more', make('summary', '', `${formatExact(groups.filter(({remark}) => remark.kind === 'analysis').length)} more that passes found out`));
    for (const {remark, all, location, message} of groups) {
      const item = button('', () => this.openRemark(remark, passOf.get(remark)), {className: `remark-item ${remark.kind}`, title: remark.help});
      item.append(make('span', 'kind', remark.kind), make('span', 'message', message, all.length > 1 ? make('i', '', ` ×${all.length}`) : null),
        make('span', 'category', remark.category), make('span', 'path', ...pathNodes(location), remark.pointer ? make('i', '', ' ', ...pathNodes(`${remark.file}${remark.pointer}`)) : null));
      if (remark.help && remark.kind !== 'passed')
        item.append(make('span', 'help', remark.help));
      (remark.kind === 'analysis' ? found : list).append(item);
    }
    return make('section', '', heading('What the passes say', kindSwitches(remarks, () => this.show($('view')))), list, found.children.length > 1 ? found : null);
  },

  /** Shows a remark's pass with its operation selected. */
  openRemark(remark, pass) {
    if (pass === undefined)
      return;
    Object.assign(state, {pass, across: false});
    const listing = getAfter();
    const related = listing ? listing.findRelated(remark.location) : [];
    select({view: 'passes', pass, where: 'after', op: related.find(op => !MINOR.test(listing.ops[op].name)) ?? -1});
  },

  makeFooter() {
    const {compile, notes} = getExplanation();
    const options = compile.options.map(({key, value}) => `${key} ${value}`.trim()).join(', ');
    return make('footer', '', make('div', '', `transom ${compile.transom}`), options ? make('div', '', options) : null,
      compile.disabled_passes.length ? make('div', '', `without ${compile.disabled_passes.map(({pass}) => pass).join(', ')}`) : null, ...notes.map(note => make('div', '', note)));
  },
};
