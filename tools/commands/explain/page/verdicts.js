// Results of the pass and machine code checks, and explanations of their words.

/** Pass verdicts: the sign and its meaning. */
const VERDICTS = {
  equal: ['✓', 'After this pass each result is the same function of weights and inputs as before it.'],
  different: ['✗', 'After this pass a result is another function of weights and inputs than before it.'],
  unchanged: ['', 'The pass left the model as it was: there was nothing to compare.'],
  'not run': ['–', 'Not compared: the pass comes after one that differs, or it lowers code, which is checked as a whole.'],
};
const ERROR = 'The largest |bits − float64| of the operation’s results: bits are what the machine code left, float64 is the phase evaluated from the same inputs.';
const RELATIVE = 'The error divided by the largest number of the result.';

const getVerification = () => getExplanation().verification;
const formatError = value => value === 0 ? '0' : isNumber(value) ? value.toExponential(1) : 'no number';

/** Shows a pass verdict as a sign, with its word if there is room; null without a verdict. */
function verdictNode({verdict}, hasWord = false) {
  if (!Object.hasOwn(VERDICTS, verdict) || !hasWord && verdict === 'unchanged')
    return null;
  const [sign, meaning] = VERDICTS[verdict];
  const node = make('span', `verdict ${verdict.replace(' ', '-')}`, hasWord ? `${sign} ${verdict}`.trim() : sign);
  node.title = `${verdict}: ${meaning}`;
  node.setAttribute('aria-label', verdict);
  return node;
}

/** Returns an operation's error on the instruction set with the largest one; undefined without measurements. */
function findLargestError({errors}) {
  const getSize = error => error.relative ?? Infinity;
  return errors.length ? errors.reduce((a, b) => getSize(b) > getSize(a) ? b : a) : undefined;
}

/** Formats a number in an operation's error, with all instruction sets as its tooltip. */
function errorNode(operation, key) {
  const error = findLargestError(operation);
  if (!error)
    return '';
  const node = numberNode(error[key], formatError);
  node.title = operation.errors.map(one => `${one.isa}: ${one.absolute}, relative ${one.relative}; ${plural(one.numbers, 'number')}; largest in ${one.call}`).join('\n');
  return node;
}

/** Shows a pass's difference: the model before and after it. */
function differenceBox({message, before, after, replay}) {
  const lines = [...before.map(line => `before  ${line}`), ...(after ? [`after   ${after}`] : []), ...(replay ? [`replay  ${replay}`] : [])];
  return make('div', 'difference', make('div', '', message), lines.length ? make('pre', '', lines.join('\n')) : null);
}

function codeLine({isa, entry, calls, dispatches, numbers, differences}) {
  const what = differences ? `other bits than the kern module in ${plural(differences, 'run')} of phases` : 'the bits of the kern module';
  return make('div', differences ? 'worse' : '', make('b', '', `${entry} on ${isa}`), ` ${what}: ${plural(calls, 'call')}, ${plural(dispatches, 'run')} of phases, ${plural(numbers, 'number')}`);
}

/** Creates the overview section on the checks. */
function verificationSection() {
  const {verdict, message, difference, code, code_difference: first, not_run: notRun, calls, end_calls: endCalls} = getVerification();
  const index = getExplanation().passes.findIndex(pass => pass.verdict === 'different');
  const line = make('div', '', verdictNode({verdict}, true), difference ? ' ' : ` ${message}`);
  if (index >= 0)
    line.append(button(getExplanation().passes[index].pass, () => select({view: 'passes', pass: index, op: -1}), {className: 'link flag', title: 'Show the pass'}));
  const legend = make('dl', 'legend', ...Object.entries(VERDICTS).flatMap(([word, [sign, meaning]]) => [make('dt', '', `${sign} ${word}`.trim()), make('dd', '', meaning)]),
    make('dt', '', 'error'), make('dd', '', ERROR), make('dt', '', 'relative error'), make('dd', '', RELATIVE));
  const list = make('ul', '', ...calls.map(call => make('li', '', call)), ...endCalls.map(call => make('li', '', `${call}, after all passes`)));
  return make('section', 'verification', heading('What was checked'),
    make('div', '', make('i', '', 'Passes')), line, difference ? differenceBox(difference) : null,
    code.length ? make('div', '', make('i', '', 'Machine code')) : null, ...code.map(codeLine), first ? make('div', 'difference', first) : null,
    notRun.length ? make('div', '', make('i', '', 'Not run')) : null, ...notRun.map(text => make('div', '', text)),
    make('details', 'more', make('summary', '', 'What the words mean'), legend),
    make('details', 'more', make('summary', '', 'Calls that compared the passes'), list));
}
