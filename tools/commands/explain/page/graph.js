// The graph before and after a pass, on canvases. Only visible nodes are drawn,
// and only a sample if nodes are less than two pixels high.

const MOST_SHAPES = 6000;  // max nodes and max edges per frame
const MOST_OPEN = 36;      // max initially visible nodes

class GraphPane {
  constructor(side, listing, isChanged, isShown) {
    this.side = side;
    this.tree = new GraphTree(listing, isShown);
    this.tree.markChanged(isChanged);
    this.openSome();
    this.canvas = make('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('aria-label', `Graph ${side} the pass; arrow keys move between nodes, Enter opens groups`);
    this.caption = make('div', 'caption', make('b', '', state.across ? side === 'before' ? 'A' : 'B' : side), ` ${plural(this.tree.root.size, 'node')}`, this.tree.root.changed ? make('i', '', ` · ${formatExact(this.tree.root.changed)} changed`) : null);
    this.box = make('div', 'graph-pane', this.caption, this.canvas);
    this.box.dataset.side = side;
    this.view = null;     // {x, y, scale} of the root's corner
    this.current = null;  // start node for keyboard moves
    this.pointers = new Map();
    this.stats = {nodes: 0, edges: 0, total: this.tree.root.size};
    this.listen();
  }

  /** Opens groups from the outside inwards, as long as few nodes are visible. */
  openSome() {
    const queue = [...this.tree.root.children].filter(child => child.op < 0);
    let seen = this.tree.root.children.length;
    for (let i = 0; i < queue.length; ++i) {
      const group = queue[i];
      if (seen + group.children.length > MOST_OPEN)
        continue;
      seen += group.children.length;
      group.isOpen = true;
      queue.push(...group.children.filter(child => child.op < 0));
    }
    this.tree.layAll();
  }

  listen() {
    this.canvas.addEventListener('wheel', event => {
      event.preventDefault();
      const {left, top} = this.canvas.getBoundingClientRect();
      if (event.ctrlKey || !event.shiftKey)
        this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? .01 : .0015)), event.clientX - left, event.clientY - top);
      else
        this.pan(-event.deltaY, 0);
    }, {passive: false});
    this.canvas.addEventListener('pointerdown', event => {
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
      this.moved = 0;
    });
    this.canvas.addEventListener('pointermove', event => this.onMove(event));
    for (const name of ['pointerup', 'pointercancel'])
      this.canvas.addEventListener(name, event => {
        if (name === 'pointerup' && this.pointers.size === 1 && this.moved < 5)
          this.onClick(event);
        this.pointers.delete(event.pointerId);
      });
    this.canvas.addEventListener('pointerleave', hideTip);
    this.canvas.addEventListener('keydown', event => this.onKey(event));
  }

  onMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before)
      return this.hover(event);
    const points = [...this.pointers.values()];
    const measure = ([a, b]) => b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
    const distance = measure(points);
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    this.moved += Math.abs(dx) + Math.abs(dy);
    before[0] = event.clientX;
    before[1] = event.clientY;
    if (points.length > 1 && distance) {
      const {left, top} = this.canvas.getBoundingClientRect();
      this.zoom(measure(points) / distance, (points[0][0] + points[1][0]) / 2 - left, (points[0][1] + points[1][1]) / 2 - top);
    }
    return this.pan(dx / points.length, dy / points.length);
  }

  hover(event) {
    const node = this.find(event);
    if (!node || node === this.tree.root)
      return hideTip();
    const op = node.op >= 0 ? this.tree.listing.ops[node.op] : null;
    return showTip(event, make('b', '', node.name), make('div', '', op ? op.location : `${plural(node.size, 'node')}${node.changed ? `, ${node.changed} changed` : ''}`),
      op ? make('div', 'note', this.tree.listing.statements[op.statement].text.slice(0, 160)) : null);
  }

  onClick(event) {
    const node = this.find(event);
    this.canvas.focus({preventScroll: true});
    if (!node || node === this.tree.root)
      return select({op: -1});
    this.current = node;
    if (node.op >= 0)
      return select({where: this.side, op: node.op});
    return this.toggle(node);
  }

  /** Opens or closes a group, which stays in its position. */
  toggle(node) {
    const before = this.tree.getPlace(node);
    this.tree.setOpen(node, !node.isOpen);
    const after = this.tree.getPlace(node), {scale} = this.view;
    this.view.x += (before.x + before.w / 2 - after.x - after.w / 2) * scale;
    this.view.y += (before.y - after.y) * scale;
    this.schedule();
  }

  onKey(event) {
    const {key} = event;
    const moves = {ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right'};
    if (moves[key] && !event.altKey)
      this.step(moves[key]);
    else if (key === 'Enter' || key === ' ')
      this.current && this.current.op < 0 ? this.toggle(this.current) : this.current && select({where: this.side, op: this.current.op});
    else if (/^[-+=]$/.test(key))
      this.zoom(key === '-' ? 1 / 1.3 : 1.3, this.width / 2, this.height / 2);
    else if (key === '0')
      this.fit();
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  step(way) {
    const at = this.current || this.tree.root.children[0];
    if (!at)
      return;
    const group = at.parent, row = group.ranks.findIndex(rank => rank.includes(at)), column = group.ranks[row].indexOf(at);
    let next = at;
    if (this.current && (way === 'left' || way === 'right'))
      next = group.ranks[row][column + (way === 'left' ? -1 : 1)];
    else if (this.current && way === 'down')
      next = at.isOpen && at.ranks.length ? at.ranks[0][0] : group.ranks[row + 1] ? group.ranks[row + 1][0] : null;
    else if (this.current)
      next = row > 0 ? group.ranks[row - 1][0] : group !== this.tree.root ? group : null;
    if (!next)
      return;
    this.current = next;
    this.center(next);
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.schedule();
  }

  zoom(factor, x, y) {
    const scale = Math.min(3, Math.max(this.fitScale() / 2, this.view.scale * factor));
    const ratio = scale / this.view.scale;
    this.view = {scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio};
    this.schedule();
  }

  fitScale() {
    const {root} = this.tree;
    return Math.min(1, (this.width - 30) / root.w, (this.height - 30) / root.h);
  }

  /** Shows the whole graph, as on paper, or its top if the whole is too small to read. */
  fit(isReadable = false) {
    const {root} = this.tree;
    const scale = isReadable && !isPrinting() ? Math.max(this.fitScale(), Math.min(.85, (this.width - 30) / root.w), .3) : this.fitScale();
    this.view = {scale, x: (this.width - root.w * scale) / 2, y: Math.max(15, (this.height - root.h * scale) / 2)};
    this.schedule();
  }

  center(node) {
    const {x, y, w} = this.tree.getPlace(node);
    const scale = Math.max(this.view.scale, .6);
    this.view = {scale, x: this.width / 2 - (x + w / 2) * scale, y: this.height / 3 - y * scale};
    this.schedule();
  }

  /** Shows an operation, and opens the groups around it. */
  reveal(op) {
    const index = this.tree.ofOp[op];
    if (index === undefined || index < 0)
      return;
    const node = this.tree.nodes[index];
    this.tree.reveal(node);
    const {x, y} = this.tree.getPlace(node), {view} = this;
    const [left, top] = [x * view.scale + view.x, y * view.scale + view.y];
    if (this.current !== node && (left < 0 || top < 0 || left > this.width - 60 || top > this.height - 30))
      this.center(node);
    this.current = node;
  }

  find(event) {
    const {left, top} = this.canvas.getBoundingClientRect();
    let x = (event.clientX - left - this.view.x) / this.view.scale, y = (event.clientY - top - this.view.y) / this.view.scale;
    let node = this.tree.root;
    while (node.isOpen && node.op < 0) {
      const inside = node.children.find(child => x >= child.x && x <= child.x + child.w && y >= child.y && y <= child.y + child.h);
      if (!inside)
        break;
      [x, y] = [x - inside.x, y - inside.y];
      node = inside;
    }
    return node;
  }

  schedule() {
    if (!this.asked)
      this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw(); });
  }

  resize() {
    const {width, height} = this.box.getBoundingClientRect();
    [this.width, this.height] = [Math.max(50, Math.floor(width)), Math.max(50, Math.floor(height))];
    this.context = fitCanvas(this.canvas, this.width, this.height);
    if (!this.view)
      this.fit(true);
    this.schedule();
  }

  draw() {
    if (!this.canvas.isConnected || !this.view)
      return;
    this.colors = Object.fromEntries(['text', 'muted', 'line', 'panel', 'raised', 'accent', 'back', 'more', 'less', 'edge'].map(name => [name, getColor(name)]));
    this.stats = {nodes: 0, edges: 0, total: this.tree.root.size, frames: (this.stats.frames || 0) + 1};
    const {context} = this;
    context.clearRect(0, 0, this.width, this.height);
    context.textBaseline = 'middle';
    this.related = this.findRelated();
    this.drawGroup(this.tree.root, this.view.x, this.view.y);
  }

  findRelated() {
    const listing = getSide(state.where);
    if (state.op < 0 || !listing || !listing.ops[state.op] || state.where === this.side)
      return new Set();
    return new Set(this.tree.listing.findRelated(listing.ops[state.op].location));
  }

  /** Draws the children in an open group whose corner is at (left, top) on the canvas. */
  drawGroup(group, left, top) {
    const {scale} = this.view, {rowTops, rowHeights, ranks} = group;
    // Find the first row that ends below the upper border.
    let low = 0, high = ranks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (top + (rowTops[middle] + rowHeights[middle]) * scale < 0)
        low = middle + 1;
      else
        high = middle;
    }
    const isCoarse = NODE.height * scale < 5;
    this.drawEdges(group, left, top, low, isCoarse);
    let drawn = -Infinity;
    for (let row = low; row < ranks.length && this.stats.nodes < MOST_SHAPES; ++row) {
      const y = top + rowTops[row] * scale;
      if (y > this.height)
        break;
      const bottom = y + rowHeights[row] * scale;
      if (bottom < drawn + 2)
        continue;
      drawn = bottom;
      this.drawRow(ranks[row], left, top);
    }
  }

  drawRow(rank, left, top) {
    const {scale} = this.view;
    let drawn = -Infinity;
    for (const node of rank) {
      const x = left + node.x * scale, y = top + node.y * scale, w = node.w * scale, h = node.h * scale;
      if (x > this.width)
        break;
      if (x + w < 0 || y + h < 0 || x + w < drawn + 2)
        continue;
      drawn = x + w;
      this.drawNode(node, x, y, w, h);
    }
  }

  drawNode(node, x, y, w, h) {
    const {context, colors} = this;
    const isGroup = node.op < 0, isOpen = isGroup && node.isOpen && h > 16;
    const isSelected = !isGroup && node.op === state.op && state.where === this.side;
    ++this.stats.nodes;
    if (h < 5) {
      context.fillStyle = node.changed ? colors[this.side === 'before' ? 'less' : 'more'] : isGroup ? colors.muted : colors.edge;
      context.fillRect(x, y, Math.max(1, w), Math.max(1, h));
      return;
    }
    const radius = Math.min(isOpen ? 10 : 7, h / 3);
    context.beginPath();
    context.roundRect(x, y, w, h, radius);
    context.fillStyle = isOpen ? colors.back : colors.panel;
    context.fill();
    if (node.changed && !isGroup) {
      context.globalAlpha = .16;
      context.fillStyle = colors[this.side === 'before' ? 'less' : 'more'];
      context.fill();
      context.globalAlpha = 1;
    }
    const isMarked = isSelected || this.related.has(node.op) && !isGroup;
    context.lineWidth = isMarked || node === this.current ? 2 : 1;
    context.strokeStyle = isMarked ? colors.accent : node === this.current ? colors.text : node.changed ? colors[this.side === 'before' ? 'less' : 'more'] : isOpen ? colors.line : colors.edge;
    context.stroke();
    if (isOpen)
      this.drawGroup(node, x, y);
    this.drawText(node, x, y, w, h, isOpen);
  }

  drawText(node, x, y, w, h, isOpen) {
    const {context, colors} = this, {scale} = this.view;
    const size = Math.min(13, 12 * scale);
    if (size < 4 || x + w < 0 || y > this.height)
      return;
    const isGroup = node.op < 0;
    const middle = isOpen ? y + Math.min(NODE.head * scale / 2 + 1, h / 2) : y + h / 2;
    const inset = 9 * Math.min(1, scale);
    context.fillStyle = colors.text;
    context.font = `${isGroup ? 600 : 500} ${size}px ${FONT}`;
    const label = isGroup ? `${node.isOpen ? '▾' : '▸'} ${node.name}` : node.name.replace(/^\w+\./, '');
    const text = this.cut(label, w - 2 * inset);
    context.fillText(text, x + inset, middle);
    const used = context.measureText(text).width;
    const note = isGroup ? `${formatExact(node.size)}${node.changed ? ` · ${formatExact(node.changed)} changed` : ''}` : this.tree.listing.ops[node.op].location.split('.').pop() || '';
    context.font = `${size * .86}px ${FONT}`;
    context.fillStyle = colors.muted;
    const rest = w - 2 * inset - used - 8;
    if (rest > 20)
      context.fillText(this.cut(note, rest), x + inset + used + 8, middle);
  }

  /** Truncates a text to the available width. */
  cut(text, width) {
    const {context} = this;
    if (context.measureText(text).width <= width)
      return text;
    const letter = context.measureText('n').width;
    let length = Math.max(0, Math.floor(width / letter) - 1);
    while (length > 0 && context.measureText(`${text.slice(0, length)}…`).width > width)
      --length;
    return length ? `${text.slice(0, length)}…` : '';
  }

  drawEdges(group, left, top, firstRow, isCoarse) {
    const {context, colors} = this, {scale} = this.view;
    context.lineWidth = Math.min(1.3, Math.max(.6, scale * 1.3));
    context.strokeStyle = colors.edge;
    const line = ([from, to]) => {
      const x0 = left + (from.x + from.w / 2) * scale, y0 = top + (from.y + from.h) * scale, x1 = left + (to.x + to.w / 2) * scale, y1 = top + to.y * scale;
      if (Math.max(y0, y1) < 0 || y0 > this.height || Math.max(x0, x1) < -80 || Math.min(x0, x1) > this.width + 80)
        return;
      ++this.stats.edges;
      const bend = Math.min(Math.abs(y1 - y0) / 2, 60 * scale);
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    };
    context.beginPath();
    if (!isCoarse)
      for (let row = Math.max(0, firstRow - 1); row < group.ranks.length && top + group.rowTops[row] * scale < this.height && this.stats.edges < MOST_SHAPES; ++row)
        group.outputs[row].forEach(line);
    if (!isCoarse)
      for (let i = 0; i < group.long.length && this.stats.edges < MOST_SHAPES; ++i)
        line(group.long[i]);
    context.stroke();
  }
}

const FONT = 'Inter, "Segoe UI", system-ui, -apple-system, "DejaVu Sans", sans-serif';

const graph = {
  panes: [],
  showsMinor: false,
  shown: 'both',

  show(view) {
    view.className = 'graph';
    const pass = getPass();
    const index = pass ? getSides() : [-1, getMade(-1)];
    const isSame = index[0] === index[1];
    const isNarrow = view.clientWidth < 900;
    const sides = isSame || !pass || index[0] < 0 ? ['after'] : this.shown === 'both' && !isNarrow ? ['before', 'after'] : [this.shown === 'before' ? 'before' : 'after'];
    const rows = isSame || index.includes(-1) ? [] : getAlignment(...index);
    const changed = {before: new Set(), after: new Set()};
    for (const {left, right, kind} of rows)
      if (kind === 'removed' || kind === 'added' || kind === 'changed') {
        changed.before.add(left);
        changed.after.add(right);
      }
    const isShown = op => this.showsMinor || !MINOR.test(op.name);
    this.panes = sides.filter(side => index[side === 'before' ? 0 : 1] >= 0).map(side =>
      new GraphPane(side, getListing(index[side === 'before' ? 0 : 1]), op => changed[side].has(op.statement), isShown));
    const tools = make('div', 'tools', make('b', 'pass-name', pass ? pass.pass : 'import'),
      make('div', 'switch', ...['before', 'both', 'after'].filter(name => name !== 'both' || !isNarrow).map(name =>
        button(name, () => { this.shown = name; this.show(view); }, {pressed: isSame ? name === 'after' : sides.length === 2 ? name === 'both' : name === sides[0]}))),
      button('open all', () => this.each(pane => { pane.tree.setAllOpen(true); pane.fit(true); }), {title: 'Open all groups (o)'}),
      button('close all', () => this.each(pane => { pane.tree.setAllOpen(false); pane.fit(true); }), {title: 'Close all groups (c)'}),
      button('fit', () => this.each(pane => pane.fit()), {title: 'Whole graph (0)'}),
      button('weights', () => { this.showsMinor = !this.showsMinor; this.show(view); }, {pressed: this.showsMinor, title: 'Also weights, constants and buffers'}));
    view.replaceChildren(tools, make('div', 'graph-panes', ...this.panes.map(pane => pane.box)));
    this.resize();
    this.refresh();
  },

  each(act) {
    this.panes.forEach(act);
  },

  resize() {
    // Whole pixels keep canvases sharp.
    const box = $('view').querySelector('.graph-panes');
    if (this.panes.length > 1)
      this.panes[0].box.style.flex = `0 0 ${Math.floor(box.clientWidth / 2)}px`;
    this.each(pane => pane.resize());
  },

  refresh() {
    for (const pane of this.panes) {
      if (pane.side === state.where && state.op >= 0)
        pane.reveal(state.op);
      pane.schedule();
    }
  },
};
