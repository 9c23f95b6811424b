// Details on the selected operation: its model location, its origin, its later
// forms, and its code.

const MOST_LISTED = 12;

/** A button that shows an operation. */
function opLink(op, change) {
  const short = op.location.split('.').slice(-2).join('.');
  return button('', () => select({...change, op: op.index}), {className: 'op-link', title: op.location}).appendChild(
    make('span', '', make('b', '', op.name), short ? ` ${short}` : '')).parentNode;
}

function listOps(listing, indices, change) {
  const items = indices.slice(0, MOST_LISTED).map(index => opLink(listing.ops[index], change));
  if (indices.length > MOST_LISTED)
    items.push(make('div', 'note', `and ${formatExact(indices.length - MOST_LISTED)} more`));
  return items.length ? items : [make('div', 'note', 'none')];
}

/** Returns operation names with counts: `attn.linear ×3`. */
function countNames(ops) {
  const counts = new Map();
  for (const op of ops)
    counts.set(op.name, (counts.get(op.name) || 0) + 1);
  return [...counts].map(([name, count]) => count > 1 ? `${name} ×${count}` : name).join(', ');
}

/** Lists a module's operations after each pass that changed them. */
function trail(location) {
  const {passes} = getExplanation();
  const steps = [];
  const add = (listing, label, pass) => {
    if (listing < 0)
      return;
    const found = getListing(listing).findRelated(location).map(index => getListing(listing).ops[index]);
    const names = countNames(found);
    if (!steps.length || steps[steps.length - 1].names !== names)
      steps.push({label, names, pass, op: found.length ? found[0].index : -1});
  };
  add(getMade(-1), 'import', -1);
  for (const [index, pass] of passes.entries())
    add(getMade(index), pass.pass, index);
  return steps;
}

/** Returns phases with an operation from a module, or from the closest module around it, as [phase, operation]. */
function findPhases(location) {
  let found = [], nearest = 2;
  for (const phase of getExplanation().entries.flatMap(entry => entry.phases))
    for (const operation of phase.operations) {
      const nearness = relatePaths(operation.location, location);
      if (nearness > nearest)
        [found, nearest] = [[], nearness];
      if (nearness === nearest && !found.some(([other]) => other === phase))
        found.push([phase, operation]);
    }
  return found;
}

function kernelNodes(phase) {
  const kernels = getExplanation().kernels.filter(kernel => kernel.phases.includes(phase.name));
  return kernels.map(kernel => make('div', 'kernel', make('b', '', `${kernel.rows} × ${kernel.columns}`), ` ${kernel.isa}`, make('code', '', kernel.symbol), codeNode(kernel.symbol, kernel.isa), assemblyNode(kernel.symbol)));
}

/** Shows a symbol's assembly, if a listing was given. */
function assemblyNode(symbol) {
  const lines = data.assembly[state.model][symbol];
  return lines ? make('details', 'assembly', make('summary', '', `assembly of ${symbol}`), make('pre', '', lines.join('\n'))) : null;
}

function phaseNodes([phase, operation]) {
  const link = button('', () => select({view: 'operations', phase: phase.name}), {className: 'op-link'});
  link.append(make('span', '', make('b', '', phase.name), phase.runs > 1 ? ` ×${phase.runs}` : ''));
  const facts = [describeOperation(operation), operation.split && `split by ${operation.split}`, phase.schedule && `schedule ${phase.schedule}`, operation.errors.length && `relative error ${formatError(findLargestError(operation).relative)}`].filter(Boolean).join(' · ');
  const {isas} = getExplanation().compile;
  const isOf = (symbol, isa) => symbol === `transom.p.${isa}.${phase.name}` || symbol.startsWith(`transom.p.${isa}.${phase.name}.`);
  const code = isas.flatMap(isa => (getFunctions(isa) || {functions: []}).functions.filter(({symbol}) => isOf(symbol, isa)).map(one => functionNode(one, `LLVM dialect of ${one.symbol}`)));
  const symbols = Object.keys(data.assembly[state.model]).filter(symbol => isas.some(isa => isOf(symbol, isa)));
  return [link, make('div', 'facts', facts), ...kernelNodes(phase), ...code, ...symbols.map(assemblyNode)].filter(Boolean);
}

const inspector = {
  show() {
    const box = $('inspector');
    if (state.view === 'model')
      return this.showValue(box);
    const listing = state.view === 'passes' || state.view === 'graph' ? getSide(state.where) : null;
    const op = listing && state.op >= 0 ? listing.ops[state.op] : null;
    box.hidden = !op;
    document.documentElement.toggleAttribute('data-inspected', Boolean(op));
    if (!op)
      return box.replaceChildren();
    const close = button('×', () => select({op: -1}), {className: 'close', title: 'Close (Esc)'});
    const place = op.origins.length ? op.origins.flatMap(originNodes) : [make('div', 'note', 'made by a pass')];
    const other = state.where === 'before' ? 'after' : 'before', otherListing = getSide(other);
    box.replaceChildren(close, make('div', 'title', ...pathNodes(op.name)), make('div', 'path', ...pathNodes(op.location || 'no module')),
      heading('In the model'), ...place,
      heading(other === 'before' ? 'Before this pass' : 'After this pass'),
      ...(op.location && otherListing ? listOps(otherListing, otherListing.findRelated(op.location), {where: other}) : [make('div', 'note', 'none')]),
      heading('Reads'), ...listOps(listing, op.operands, {}), heading('Read by'), ...listOps(listing, op.users, {}));
    if (!op.location)
      return undefined;
    box.append(heading('Through the passes'), ...trail(op.location).map(step => this.makeStep(step)));
    const phases = findPhases(op.location);
    if (phases.length)
      box.append(heading('Code'), ...phases.slice(0, 4).flatMap(phaseNodes));
    const remarks = getExplanation().remarks.filter(remark => relatePaths(remark.location, op.location) === Infinity);
    if (remarks.length)
      box.append(heading('Remarks'), ...remarks.map(remark => make('div', `remark ${remark.kind}`, make('b', '', remark.category), ` ${remark.message}`)));
    return undefined;
  },

  /** Shows the operations that resulted from a value in the model's JSON. */
  showValue(box) {
    const {file, pointer} = state;
    box.hidden = !pointer;
    document.documentElement.toggleAttribute('data-inspected', Boolean(pointer));
    if (!pointer)
      return box.replaceChildren();
    const isHere = place => place.file === file && (place.pointer === pointer || place.pointer.startsWith(`${pointer}/`));
    const close = button('×', () => select({pointer: ''}), {className: 'close', title: 'Close (Esc)'});
    const ops = sourceView.findOps(file, pointer), listing = getListingOf(getMade(-1));
    const phases = getExplanation().entries.flatMap(entry => entry.phases.flatMap(phase => phase.operations.filter(isHere).slice(0, 1).map(operation => [phase, operation])));
    const remarks = getExplanation().remarks.filter(isHere);
    box.replaceChildren(close, make('div', 'title', ...pathNodes(pointer.split('/').pop())), make('div', 'path', ...pathNodes(`${file}: ${pointer}`)),
      heading('Operations', make('small', '', 'as imported')), ...(listing ? listOps(listing, ops.map(op => op.index), {view: 'passes', pass: findFirstPass(), where: 'before'}) : []));
    if (phases.length)
      box.append(heading('Code'), ...phases.slice(0, 4).flatMap(phaseNodes));
    if (remarks.length)
      box.append(heading('Remarks'), ...groupRemarks(remarks).map(({remark, message}) => make('div', `remark ${remark.kind}`, make('b', '', remark.category), ` ${message}`, remark.help && remark.kind !== 'passed' ? make('div', 'help', remark.help) : null)));
    return undefined;
  },

  makeStep({label, names, pass, op}) {
    const step = button('', () => pass >= 0 && select({pass, op, where: 'after'}), {className: pass === state.pass ? 'step current' : 'step'});
    step.append(make('b', '', label), make('span', '', names || 'nothing'));
    step.disabled = pass < 0;
    return step;
  },
};
