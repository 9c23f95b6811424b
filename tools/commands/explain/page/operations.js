// Operations in the code with their work, and their positions on a roofline.

const COLUMNS = [
  ['phase', row => row.phase.name], ['operation', row => describeOperation(row.operation)], ['module', row => row.operation.location], ['runs', row => row.runs],
  ['FLOP', row => row.flops], ['bytes', row => row.bytes], ['FLOP/byte', row => row.intensity], ['share', row => row.share],
];
const CHECKED = [['error', row => getError(row).absolute], ['relative error', row => getError(row).relative]];
const TIMED = [['time', row => row.seconds], ['of time', row => row.timeShare], ['GFLOP/s', row => row.speed], ['of limit', row => row.ofLimit]];

/** Returns the largest error in a row; infinite if only one side is a number. */
function getError({operation}) {
  const {absolute, relative} = findLargestError(operation) || {absolute: undefined, relative: undefined};
  return {absolute: absolute === null ? Infinity : absolute, relative: relative === null ? Infinity : relative};
}

/** Formats a power of ten. */
const formatTick = value => value < 1000 ? String(Number(value.toPrecision(1))) : formatCount(value).replace(/\.0+/, '').replace('\u202f', '');

const operations = {
  sort: null,  // the reader's choice: column and whether the largest come first

  /** Returns the `bench` rows that profile the entry. */
  getProfiles() {
    const rows = data.profiles[state.model] || [];
    return rows.filter(row => row.profile && (row.entry === undefined || row.entry === getEntry().name));
  },

  /** Returns the profile for the shown sizes; null without one. */
  getProfile() {
    const sizes = state.sizes || getEntry().example;
    return this.getProfiles().find(row => row.batch === sizes.batch && row.seq === sizes.length) || null;
  },

  /** Returns the table rows: one per operation, with the amounts over all its runs in a call. */
  getRows() {
    const entry = getEntry(), profile = this.getProfile();
    const lines = new Map(profile ? profile.profile.map(line => [line.phase, line]) : []);
    const rows = entry.phases.flatMap(phase => phase.operations.map(operation => {
      const flops = valueOf(operation.flops) * phase.runs, bytes = (valueOf(operation.bytes) + operation.weight_bytes) * phase.runs;
      return {phase, operation, runs: phase.runs, flops, bytes, intensity: bytes ? flops / bytes : 0};
    }));
    const total = rows.reduce((sum, row) => sum + row.flops, 0);
    for (const row of rows) {
      row.share = total ? row.flops / total : 0;
      // Times are measured per phase, and shown at its largest operation.
      const line = lines.get(row.phase.name);
      if (line && !row.phase.operations.some(other => valueOf(other.flops) > valueOf(row.operation.flops)) && !rows.some(other => other.line === line))
        Object.assign(row, {line, seconds: line.ms / 1e3, timeShare: line.ms / profile.ms_min, speed: line.gflops, ofPeak: line.peak_share, reached: line.gbps ? line.gflops / line.gbps : 0,
          ofLimit: Math.max(line.peak_share, profile.limit_gbps ? line.gbps / profile.limit_gbps : 0)});
    }
    return rows;
  },

  show(view) {
    view.className = 'operations';
    const entry = getEntry();
    if (!entry) {
      view.replaceChildren(make('div', 'note', 'The explanation has no entries.'));
      return;
    }
    this.rows = this.getRows();
    this.columns = [...COLUMNS, ...(getVerification() ? CHECKED : []), ...(this.getProfile() ? TIMED : [])];
    const profile = this.getProfile();
    const head = make('div', 'head', make('h1', '', `Operations of ${entry.name}`), make('p', '', profile ? 'Work of all runs in a call, and the time of each phase at its largest operation.' : 'Work of all runs in a call.', ' FLOP and shares count useful work, without columns that are computed and not used.', getVerification() ? ` Error: ${ERROR[0].toLowerCase()}${ERROR.slice(1)}` : ''), sizeControls(() => this.show(view)));
    if (this.getProfiles().length)
      head.append(make('div', 'measured', 'measured: ', ...this.getProfiles().map(row =>
        button(`${row.batch} × ${row.seq}, ${formatSeconds(row.ms_min / 1e3)}`, () => { state.sizes = {...entry.example, ...state.sizes, batch: row.batch, length: row.seq}; this.show(view); }, {pressed: row === profile}))));
    this.chart = make('div', 'chart');
    this.table = make('div', 'scrollable');
    view.replaceChildren(make('div', 'page', head, this.chart, this.table));
    this.fillTable();
    this.resize();
  },

  resize() {
    if (this.chart && this.chart.isConnected)
      this.chart.replaceChildren(this.makeChart(this.chart.clientWidth, Math.max(240, Math.min(400, innerHeight * .42))));
  },

  refresh() {
    this.fillTable();
  },

  fillTable() {
    const {column, isDown} = this.sort || {column: this.getProfile() ? 'time' : 'FLOP', isDown: true};
    const get = (this.columns.find(([name]) => name === column) || this.columns[0])[1];
    const missing = isDown ? -Infinity : Infinity;
    const sorted = [...this.rows].sort((a, b) => {
      const [x, y] = [get(a), get(b)].map(value => value === undefined || Number.isNaN(value) ? missing : value);
      return (isDown ? -1 : 1) * (typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : x - y);
    });
    const header = make('tr', '', ...this.columns.map(([name], index) => {
      const th = make('th', index > 2 ? 'right' : '', button(`${name}${name === column ? isDown ? ' ↓' : ' ↑' : ''}`, () => {
        this.sort = {column: name, isDown: name === column ? !isDown : index > 2};
        this.fillTable();
      }));
      th.setAttribute('aria-sort', name === column ? isDown ? 'descending' : 'ascending' : 'none');
      return th;
    }));
    this.table.replaceChildren(make('table', 'operations-table', make('thead', '', header), make('tbody', '', ...sorted.map(row => this.makeRow(row)))));
    const current = this.table.querySelector('.current');
    if (current)
      current.scrollIntoView({block: 'nearest'});
  },

  makeRow(row) {
    const {phase, operation} = row;
    const share = make('i', 'bar');
    share.style.setProperty('--size', row.share);
    const link = button('', () => this.open(operation), {className: 'link', title: `Show ${operation.location} in the IR`});
    link.append(...pathNodes(getPlaceName(operation) || 'no module'));
    const cells = [make('td', 'code', phase.name), make('td', '', describeOperation(operation)), make('td', 'path', link), make('td', 'right', formatExact(row.runs)),
      make('td', 'right', numberNode(row.flops, formatCount)), make('td', 'right', numberNode(row.bytes, formatBytes)), make('td', 'right', numberNode(row.intensity, formatRatio)),
      make('td', 'right', share, row.share >= .0005 ? `${(100 * row.share).toFixed(1)} %` : '')];
    if (getVerification())
      cells.push(make('td', 'right', errorNode(operation, 'absolute')), make('td', 'right', errorNode(operation, 'relative')));
    if (this.getProfile())
      cells.push(make('td', 'right', numberNode(row.seconds, formatSeconds)), make('td', 'right', row.timeShare === undefined ? '' : `${(100 * row.timeShare).toFixed(1)} %`), make('td', 'right', numberNode(row.speed, formatRatio)), make('td', 'right', row.ofLimit === undefined ? '' : numberNode(row.ofLimit, value => `${(100 * value).toFixed(0)} %`)));
    return make('tr', phase.name === state.phase ? 'current' : '', ...cells);
  },

  /** Shows an operation in the last IR that the page has. */
  open(operation) {
    const {passes} = getExplanation();
    const pass = passes.reduce((last, one, index) => getMade(index) >= 0 && !one.isa ? index : last, -1);
    const listing = pass < 0 ? null : getListing(getMade(pass));
    if (!listing)
      return;
    const related = listing.findRelated(operation.location);
    select({view: 'passes', pass, where: 'after', op: related.find(op => listing.ops[op].name === operation.name) ?? related[0] ?? -1});
  },

  /** Plots operations by intensity: phase speed below the host's limits with a profile, otherwise work. */
  makeChart(width, height) {
    const profile = this.getProfile();
    const points = this.rows.filter(row => profile ? row.speed > 0 && row.reached > 0 : row.flops > 0 && row.intensity > 0);
    const getX = row => profile ? row.reached : row.intensity, getY = row => profile ? row.speed * 1e9 : row.flops;
    const margin = {left: 64, right: 26, top: 34, bottom: 38};
    const limits = this.getLimits(points);
    const x = this.makeScale([...points.map(getX), ...(limits.ridge ? [limits.ridge] : [])], margin.left, width - margin.right);
    const y = this.makeScale([...points.map(getY), ...(limits.flops ? [limits.flops] : [])], height - margin.bottom, margin.top);
    const chart = svg('svg', {width, height, role: 'img', 'aria-label': profile ? 'Roofline' : 'Work by intensity'});
    for (const [scale, isX] of [[x, true], [y, false]])
      for (const tick of scale.ticks) {
        const at = scale.place(tick);
        chart.append(svg('line', isX ? {x1: at, x2: at, y1: margin.top, y2: height - margin.bottom} : {x1: margin.left, x2: width - margin.right, y1: at, y2: at}),
          svg('text', isX ? {x: at, y: height - margin.bottom + 16, 'text-anchor': 'middle'} : {x: margin.left - 8, y: at + 4, 'text-anchor': 'end'}, formatTick(tick)));
      }
    chart.append(svg('text', {x: width - margin.right, y: height - 6, 'text-anchor': 'end', class: 'axis'}, 'FLOP for each byte'),
      svg('text', {x: margin.left - 8, y: 12, 'text-anchor': 'end', class: 'axis'}, profile ? 'FLOP/s' : 'FLOP'));
    if (limits.flops) {
      const start = limits.bandwidth ? `M${x.place(Math.max(x.low, y.low / limits.bandwidth))},${y.place(Math.max(y.low, x.low * limits.bandwidth))} L${x.place(limits.ridge)}` : `M${x.place(x.low)}`;
      chart.append(svg('path', {d: `${start},${y.place(limits.flops)} L${x.place(x.high)},${y.place(limits.flops)}`, class: 'roof'}),
        svg('text', {x: width - margin.right, y: y.place(limits.flops) - 6, 'text-anchor': 'end'}, `${formatCount(limits.flops)}FLOP/s`));
    }
    for (const row of points.sort((a, b) => b.share - a.share))
      chart.append(this.makePoint(row, x.place(getX(row)), y.place(getY(row))));
    return chart;
  },

  /** Returns the host's limits in the profile; the multiply-add peak also follows from its shares. */
  getLimits(points) {
    const profile = this.getProfile();
    const known = points.filter(row => row.ofPeak > .01 && row.speed > 0);
    if (!profile || !known.length && !profile.limit_gflops)
      return {};
    const getPeak = () => known.reduce((a, b) => a.ofPeak > b.ofPeak ? a : b);
    const flops = profile.limit_gflops ? profile.limit_gflops * 1e9 : getPeak().speed * 1e9 / getPeak().ofPeak;
    const bandwidth = profile.limit_gbps ? profile.limit_gbps * 1e9 : 0;
    return {flops, bandwidth, ridge: bandwidth ? flops / bandwidth : 0};
  },

  makePoint(row, x, y) {
    const point = svg('circle', {cx: x, cy: y, r: 4 + 18 * Math.sqrt(row.timeShare ?? row.share), class: 'point', tabindex: 0});
    point.addEventListener('pointermove', event => showTip(event, make('b', '', describeOperation(row.operation)), make('div', '', row.operation.location), make('div', 'note', `${formatFlops(row.flops)} · ${formatBytes(row.bytes)} · ${formatRatio(row.intensity)} FLOP/byte`),
      row.seconds ? make('div', 'note', `${row.phase.name}: ${formatSeconds(row.seconds)}, ${formatRatio(row.speed)} GFLOP/s, ${(100 * row.ofLimit).toFixed(0)} % of the limit`) : null));
    point.addEventListener('pointerleave', hideTip);
    point.addEventListener('click', () => { hideTip(); this.open(row.operation); });
    return point;
  },

  /** Returns a logarithmic scale with ticks at powers of ten. */
  makeScale(values, from, to) {
    const low = 10 ** Math.floor(Math.log10(Math.min(...values, Infinity) || 1)), high = 10 ** Math.ceil(Math.log10(Math.max(...values, low * 10)));
    if (!Number.isFinite(low) || !low)
      return {low: 1, high: 10, ticks: [1, 10], place: () => from};
    const powers = Math.round(Math.log10(high / low)), step = Math.max(1, Math.ceil(powers / 7));
    const ticks = Array.from({length: Math.floor(powers / step) + 1}, (_, i) => low * 10 ** (i * step));
    return {low, high, ticks, place: value => from + (to - from) * Math.log10(value / low) / Math.log10(high / low || 10)};
  },
};
