// Views, controls, keys and the address.

const VIEWS = {overview, passes: diff, graph, memory, operations, ...(data.explanations.length > 1 ? {compare} : {}),
  ...(data.sources.some(files => Object.keys(files).length) ? {model: sourceView} : {})};
const NAMES = {overview: 'Overview', passes: 'Passes', graph: 'Graph', memory: 'Memory', operations: 'Operations', compare: 'Compare', model: 'Model'};
const hasList = () => state.view === 'passes' || state.view === 'graph';

/** Returns true while the page is laid out for paper. */
const isPrinting = () => matchMedia('print').matches;

/** Changes the selection and updates the views. */
function select(change) {
  const before = {...state};
  Object.assign(state, change);
  if (state.model !== before.model)
    Object.assign(state, {pass: findFirstPass(), op: -1, entry: 0, sizes: null, pointer: ''});
  writeHash();
  controls();
  hideTip();
  if (state.view !== before.view || state.model !== before.model || state.across !== before.across || hasList() && state.pass !== before.pass)
    show();
  else
    VIEWS[state.view].refresh();
  inspector.show();
  if (state.view === 'passes' && document.documentElement.hasAttribute('data-inspected') !== (before.op >= 0))
    diff.draw();
}

function show() {
  delete document.documentElement.dataset.ready;
  const view = $('view');
  view.scrollTo(0, 0);
  try {
    VIEWS[state.view].show(view);
  } catch (error) {
    view.replaceChildren(make('div', 'note', `This view cannot be shown: ${error.message}`));
    console.error(error);
  }
  document.documentElement.dataset.ready = state.view;
}

function controls() {
  const {model, compile} = getExplanation();
  document.documentElement.dataset.view = state.view;
  $('model').textContent = model.name;
  $('shape').textContent = [compile.dtype, compile.isas.join(' ')].filter(Boolean).join(' · ');
  $('views').replaceChildren(...Object.keys(VIEWS).map((name, index) =>
    button(NAMES[name], () => select({view: name, op: -1}), {pressed: name === state.view, title: `${NAMES[name]} (${index + 1})`})));
  $('models').replaceChildren(...(data.explanations.length < 2 || state.view === 'compare' ? [] : data.explanations.map((_, index) =>
    button('AB'[index], () => select({model: index}), {pressed: index === state.model, title: 'Compilation (a)'}))));
  $('views').querySelector('[aria-pressed=true]').scrollIntoView({block: 'nearest', inline: 'nearest'});
  $('side').hidden = !hasList();
  $('changed').checked = state.changedOnly;
  if ($('search').value !== state.query)
    $('search').value = state.query;
  if (hasList())
    passList.show();
}

/** Returns the pass that differs, otherwise the first whose missed optimization a finding names, otherwise the one that changed the operation count most. */
function findFirstPass() {
  const {passes, remarks, findings} = {...getExplanation(), findings: data.findings[state.model]};
  const different = passes.findIndex(pass => pass.verdict === 'different');
  if (different >= 0)
    return different;
  const blamed = passes.findIndex(pass => findings.some(finding => finding.pass === pass.pass) && pass.remarks.some(remark => remarks[remark].kind === 'missed'));
  if (blamed >= 0)
    return blamed;
  const change = index => passes[index].isa || !passes[index].changed ? -1 : Math.abs(getDelta(index));
  return passes.reduce((best, _, index) => change(index) > change(best) ? index : best, 0);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $('theme').textContent = theme === 'dark' ? '☀' : '☾';
}

function toggleTheme() {
  setTheme(isDark() ? 'light' : 'dark');
  show();
}

let screenTheme = '';

/** On paper, views are light and complete, independent of the window size. */
function preparePaper({matches}) {
  if (matches)
    screenTheme = document.documentElement.dataset.theme;
  setTheme(matches ? 'light' : screenTheme);
  show();
}

const inGraph = () => state.view === 'graph';
const KEYS = [
  [Object.keys(VIEWS).map((_, index) => index + 1).join(' '), Object.keys(VIEWS).map(name => NAMES[name].toLowerCase()).join(', '), event => select({view: Object.keys(VIEWS)[event.key - 1] || state.view, op: -1}), /^[1-7]$/],
  ['j k', 'next pass, pass before', event => passList.move(event.key === 'j' ? 1 : -1), /^[jk]$/],
  ['/', 'search', () => { if (!hasList()) select({view: 'passes'}); $('search').focus(); }, /^\/$/],
  ['x', 'all passes, or those that changed something', () => select({changedOnly: !state.changedOnly}), /^x$/],
  ['n p', 'next change, change before', event => state.view === 'passes' && diff.jump(event.key === 'n' ? 1 : -1), /^[np]$/],
  ['↓ ↑', 'operation after, operation before', event => state.view === 'passes' && diff.step(event.key === 'ArrowDown' ? 1 : -1), /^Arrow(Down|Up)$/],
  ['← →', 'before the pass, after the pass', event => switchSide(event.key === 'ArrowLeft' ? 'before' : 'after'), /^Arrow(Left|Right)$/],
  ['f F', 'fold, unfold what did not change', event => state.view === 'passes' && diff.foldAll(event.key === 'f'), /^[fF]$/],
  ['o c', 'open, close all groups', event => inGraph() && graph.each(pane => { pane.tree.setAllOpen(event.key === 'o'); pane.fit(true); }), /^[oc]$/],
  ['+ − 0', 'zoom of the graph', event => inGraph() && graph.each(pane => event.key === '0' ? pane.fit() : pane.zoom(event.key === '-' ? 1 / 1.3 : 1.3, pane.width / 2, pane.height / 2)), /^[-+=0]$/],
  ['g', 'operation in the graph, or in the IR', () => hasList() && select({view: inGraph() ? 'passes' : 'graph'}), /^g$/],
  ['m', 'operation in the JSON of the model', () => showOrigin(), /^m$/],
  ['y', 'copy the commands that run the pass again', () => copyReplay(), /^y$/],
  ...(data.explanations.length > 1 ? [['a', 'the other compilation', () => select({model: 1 - state.model}), /^a$/],
    ['b', 'both compilations side by side', () => select({across: !state.across, op: -1, view: hasList() ? state.view : 'passes'}), /^b$/]] : []),
  ['t', 'light or dark', toggleTheme, /^t$/],
  ['Esc', 'no operation', () => select({op: -1, pointer: ''}), /^Escape$/],
  ['?', 'these keys', () => $('keys').showModal(), /^\?$/],
];

/** Selects the operation's counterpart on the other side. */
function switchSide(where) {
  if (state.where === where || state.op < 0 || !hasList())
    return;
  const listing = getSide(where), op = getSide(state.where).ops[state.op];
  const related = listing ? listing.findRelated(op.location) : [];
  if (related.length)
    select({where, op: related.find(index => listing.ops[index].name === op.name) ?? related[0]});
}

/** Shows the model location that describes the selected operation. */
function showOrigin() {
  const listing = hasList() ? getSide(state.where) : null;
  const op = listing && state.op >= 0 ? listing.ops[state.op] : null;
  if (op && op.origins.length && VIEWS.model) {
    const {file, pointer} = splitOrigin(op.origins[0]);
    sourceView.open(file, pointer);
  }
}

function copyReplay() {
  const box = $('replay');
  if (!box)
    return;
  box.open = true;
  box.querySelector('.copy').click();
}

function onKey(event) {
  const isInput = event.target.tagName === 'INPUT' && event.target.type !== 'checkbox';
  if (isInput && event.key === 'Escape')
    return event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || $('keys').open || isInput)
    return undefined;
  const entry = KEYS.find(([, , , pattern]) => pattern.test(event.key));
  if (!entry)
    return undefined;
  event.preventDefault();
  return entry[2](event);
}

/** Writes the selection to the address, so that a link shows the same. */
function writeHash() {
  const {view, model, pass, where, op} = state;
  try {
    history.replaceState(null, '', `#${view},${model},${pass}${op < 0 ? '' : `,${where},${op}`}`);
  } catch {
    // In some environments a page has no address.
  }
}

function readHash() {
  const [view, model, pass, where, op] = location.hash.slice(1).split(',');
  const isIndex = (text, count) => /^\d+$/.test(text || '') && Number(text) < count;
  if (Object.hasOwn(VIEWS, view))
    state.view = view;
  if (isIndex(model, data.explanations.length))
    state.model = Number(model);
  state.pass = isIndex(pass, getExplanation().passes.length) ? Number(pass) : findFirstPass();
  if (where === 'before' || where === 'after')
    state.where = where;
  const listing = hasList() && where ? getSide(state.where) : null;
  if (listing && isIndex(op, listing.ops.length))
    state.op = Number(op);
}

function start() {
  setTheme(matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark');
  readHash();
  $('keys').append(make('div', '', ...KEYS.flatMap(([keys, text]) => [make('kbd', '', keys), text])));
  $('keys').addEventListener('click', () => $('keys').close());
  $('theme').addEventListener('click', toggleTheme);
  $('help').addEventListener('click', () => $('keys').showModal());
  $('search').addEventListener('input', event => { state.query = event.target.value; passList.show(); });
  $('search').addEventListener('keydown', event => { if (event.key === 'Enter') passList.move(0); });
  $('changed').addEventListener('change', event => select({changedOnly: event.target.checked}));
  addEventListener('resize', () => {
    const view = VIEWS[state.view];
    if (state.view === 'passes')
      show();
    else if (view.resize)
      view.resize();
  });
  matchMedia('print').addEventListener('change', preparePaper);
  addEventListener('hashchange', () => { readHash(); controls(); show(); inspector.show(); });
  addEventListener('keydown', onKey);
  controls();
  show();
  inspector.show();
}

window.explanation = {data, state, select, getListing, getAlignment, valueOf, diff, graph, memory, operations, sourceView};
start();
