// The arena in a call: buffer offsets over the call's steps.

const memory = {
  show(view) {
    view.className = 'memory';
    const entry = getEntry();
    if (!entry || !entry.buffers.length) {
      view.replaceChildren(make('div', 'note', 'The explanation has no memory plan.'));
      return;
    }
    const arena = valueOf(entry.arena_bytes), bound = getLeastMemory(entry);
    this.buffers = entry.buffers.map((buffer, index) => ({...buffer, index, at: valueOf(buffer.offset), size: valueOf(buffer.bytes)}));
    this.steps = entry.memory_steps;
    this.live = getLiveBytes(entry);
    this.peak = this.live.indexOf(Math.max(...this.live));
    this.arena = Math.max(arena, ...this.buffers.map(buffer => buffer.at + buffer.size));
    const head = make('div', 'head', make('h1', '', `Memory of ${entry.name}`),
      make('p', '', 'Each box is a buffer: from its first step to its last, at its offset in the arena.'), sizeControls(() => this.show(view)));
    this.canvas = make('canvas');
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `Memory plan: ${formatBytes(arena)}, fullest in step ${this.steps[this.peak] || this.peak}`);
    const tiles = make('div', 'tiles', tile('Arena', numberNode(arena, formatBytes), make('span', '', ...formulaNodes(entry.arena_bytes.formula))), tile('Lower bound', numberNode(bound, formatBytes), `no plan takes less: what lives in the fullest step${bound > Math.max(...this.live) ? ', in multiples of 64 bytes' : ''}`),
      tile('Fullest step', make('span', '', ...pathNodes(this.steps[this.peak] || `step ${this.peak}`)), `${formatBytes(this.live[this.peak])} in ${plural(this.getLive(this.peak).length, 'buffer')}`), tile('Buffers', numberNode(entry.buffers.length, formatExact), `${formatBytes(this.buffers.reduce((sum, buffer) => sum + buffer.size, 0))} without sharing`));
    this.box = make('div', 'chart', this.canvas);
    view.replaceChildren(make('div', 'page', head, tiles, this.box, heading('Buffers', make('small', '', 'largest first')), this.makeTable()));
    this.canvas.addEventListener('pointermove', event => this.hover(event));
    this.canvas.addEventListener('pointerleave', () => { this.hovered = -1; hideTip(); this.draw(); });
    this.hovered = -1;
    this.resize();
  },

  getLive(step) {
    return this.buffers.filter(buffer => buffer.first <= step && step <= buffer.last);
  },

  resize() {
    if (!this.box || !this.box.isConnected)
      return;
    this.width = this.box.clientWidth;
    this.height = Math.max(280, Math.min(520, innerHeight * .5));
    this.context = fitCanvas(this.canvas, this.width, this.height);
    this.draw();
  },

  refresh() {
    this.draw();
  },

  getBox(buffer) {
    const left = 62, top = 18, bottom = this.height - 26;
    const column = (this.width - left - 8) / this.steps.length, scale = (bottom - top) / this.arena;
    return {x: left + buffer.first * column, w: (buffer.last - buffer.first + 1) * column, y: bottom - (buffer.at + buffer.size) * scale, h: buffer.size * scale, left, top, bottom, column, scale};
  },

  draw() {
    if (!this.canvas || !this.canvas.isConnected)
      return;
    const {context, width, height} = this;
    context.clearRect(0, 0, width, height);
    const {left, top, bottom, column, scale} = this.getBox({first: 0, last: 0, at: 0, size: 0});
    this.drawAxes(left, top, bottom, column, scale);
    for (const buffer of this.buffers) {
      const {x, y, w, h} = this.getBox(buffer);
      const isPeak = buffer.first <= this.peak && this.peak <= buffer.last;
      context.globalAlpha = this.hovered === buffer.index ? .95 : isPeak ? .62 : .3;
      context.fillStyle = getColor('accent');
      context.beginPath();
      context.roundRect(x + 1, y + .5, Math.max(1, w - 2), Math.max(1, h - 1), Math.min(4, h / 3));
      context.fill();
      context.globalAlpha = 1;
      if (h > 15 && w > 60) {
        context.fillStyle = this.hovered === buffer.index ? getColor('accent-text') : getColor('text');
        context.font = `11px ${FONT}`;
        context.fillText(this.fit(buffer.location, w - 16), x + 8, y + h / 2 + 4);
      }
    }
  },

  /** Returns the last names in a path that fit; a name that is too long is truncated. */
  fit(path, width) {
    const fits = text => this.context.measureText(text).width <= width;
    const parts = getParts(path), names = [parts.slice(-2).join('.'), parts.slice(-1)[0] || ''];
    let name = names.find(fits);
    for (let length = names[1].length; name === undefined; --length)
      if (length < 3 || fits(`${names[1].slice(0, length)}…`))
        name = length < 3 ? '' : `${names[1].slice(0, length)}…`;
    return name;
  },

  drawAxes(left, top, bottom, column, scale) {
    const {context, width} = this;
    const [line, muted, accent] = ['line', 'muted', 'accent'].map(getColor);
    context.font = `11px ${FONT}`;
    context.textBaseline = 'alphabetic';
    context.fillStyle = muted;
    context.textAlign = 'right';
    for (let i = 0; i <= 4; ++i) {
      const y = bottom - (bottom - top) * i / 4;
      context.strokeStyle = line;
      context.beginPath();
      context.moveTo(left, y + .5);
      context.lineTo(width - 8, y + .5);
      context.stroke();
      context.fillText(formatBytes(this.arena * i / 4), left - 8, y + 4);
    }
    context.textAlign = 'left';
    // The fullest step, and step names if there is room.
    context.fillStyle = accent;
    context.globalAlpha = .1;
    context.fillRect(left + this.peak * column, top, column, bottom - top);
    context.globalAlpha = 1;
    context.textAlign = this.peak * 2 > this.steps.length ? 'right' : 'left';
    context.fillText('peak', left + (this.peak + (this.peak * 2 > this.steps.length ? 1 : 0)) * column, top - 6);
    context.textAlign = 'left';
    context.fillStyle = muted;
    let end = 0;
    for (const [step, name] of this.steps.entries()) {
      const x = left + step * column, short = name.split('.').slice(-1)[0];
      if (!short || x < end)
        continue;
      context.fillText(short, x + 2, bottom + 16);
      end = x + context.measureText(short).width + 12;
    }
  },

  hover(event) {
    const {left, top} = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - left, event.clientY - top];
    const found = this.buffers.find(buffer => {
      const {x, y, w, h} = this.getBox(buffer);
      return px >= x && px <= x + w && py >= y && py <= y + Math.max(h, 2);
    });
    this.hovered = found ? found.index : -1;
    this.draw();
    if (!found)
      return hideTip();
    const name = step => this.steps[step] || `step ${step}`;
    return showTip(event, make('b', '', found.location || 'buffer'), make('div', '', `${formatBytes(found.size)} at ${formatBytes(found.at)}`),
      make('div', 'note', `${found.bytes.formula} bytes`), make('div', 'note', found.first === found.last ? name(found.first) : `${name(found.first)} → ${name(found.last)}`));
  },

  makeTable() {
    const rows = [...this.buffers].sort((a, b) => b.size - a.size).map(buffer => make('tr', '', make('td', 'path', ...pathNodes(buffer.location || 'buffer')), make('td', 'right', numberNode(buffer.size, formatBytes)),
      make('td', 'right', numberNode(buffer.at, formatBytes)), make('td', 'code', ...formulaNodes(buffer.bytes.formula)), make('td', '', this.steps[buffer.first] || `step ${buffer.first}`), make('td', '', this.steps[buffer.last] || `step ${buffer.last}`)));
    const names = ['buffer', 'size', 'offset', 'bytes', 'first', 'last'];
    return make('div', 'scrollable', make('table', 'buffers', make('thead', '', make('tr', '', ...names.map((name, index) => make('th', index === 1 || index === 2 ? 'right' : '', name)))), make('tbody', '', ...rows)));
  },
};
