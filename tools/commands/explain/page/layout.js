// Lays out a listing's graph as a tree of groups. Each group has its own ranks,
// so that opening it moves only the nodes around it.

const NODE = {width: 148, height: 34, gapX: 18, gapY: 26, head: 26, margin: 14};
const MOST_IN_ROW = 48;
const CONTAINERS = /^(builtin\.module|func\.func|kern\.phase)$/;

/** Returns the names of the groups around an operation. */
function getGroups(listing, op) {
  const path = getParts(op.location);
  const groups = [];
  let inPhase = false;
  for (let at = op.parent; at >= 0; at = listing.ops[at].parent) {
    const {name, statement} = listing.ops[at];
    const {text} = listing.statements[statement];
    if (name === 'func.func')
      groups.unshift((/@("[^"]*"|[\w$.-]+)/.exec(text) || [])[1] || name);
    if (name === 'kern.phase') {
      groups.unshift((/"((?:[^"\\]|\\.)*)"/.exec(text) || [])[1] || name);
      inPhase = true;
    }
  }
  if (!inPhase)
    for (const word of path)
      // A number belongs to the word before it: layer.0. A name equal to the
      // function's name is not a separate group.
      if (/^(\d+|\{[\d,-]+\})$/.test(word) && groups.length > 1)
        groups.push(`${groups.pop()}.${word}`);
      else if (groups.length !== 1 || groups[0] !== word)
        groups.push(word);
  return groups;
}

class GraphTree {
  /** `isShown(op)` returns whether an operation is a node. */
  constructor(listing, isShown) {
    this.listing = listing;
    this.nodes = [];
    this.root = this.add(null, '', -1);
    this.root.isOpen = true;
    const ofOp = new Int32Array(listing.ops.length).fill(-1), groups = new Map();
    for (const op of listing.ops) {
      if (CONTAINERS.test(op.name) || !isShown(op) || !this.isTop(op))
        continue;
      let parent = this.root, key = '';
      for (const name of getGroups(listing, op)) {
        key += `/${name}`;
        if (!groups.has(key))
          groups.set(key, this.add(parent, name, -1));
        parent = groups.get(key);
      }
      ofOp[op.index] = this.add(parent, op.name, op.index).index;
    }
    this.joinChains(this.root);
    this.connect(ofOp);
    this.ofOp = ofOp;
    this.count(this.root);
  }

  /** Returns true for operations whose parents are all containers. */
  isTop(op) {
    return op.parent < 0 || CONTAINERS.test(this.listing.ops[op.parent].name);
  }

  add(parent, name, op) {
    const node = {index: this.nodes.length, name, op, parent, children: [], edges: [], isOpen: false, size: 0, changed: 0, depth: parent ? parent.depth + 1 : 0, x: 0, y: 0, w: NODE.width, h: NODE.height, ranks: null};
    this.nodes.push(node);
    if (parent)
      parent.children.push(node);
    return node;
  }

  /** Merges a group with its only child: `encoder` with `layer`. */
  joinChains(group) {
    for (let i = 0; i < group.children.length; ++i) {
      let child = group.children[i];
      while (child.op < 0 && child.children.length === 1 && child.children[0].op < 0) {
        const [only] = child.children;
        only.name = `${child.name}.${only.name}`;
        only.parent = group;
        child = group.children[i] = only;
      }
      child.depth = group.depth + 1;
      this.joinChains(child);
    }
  }

  /** Assigns to each group the edges between its children. */
  connect(ofOp) {
    const {ops} = this.listing;
    const seen = new Set();
    for (const op of ops) {
      if (ofOp[op.index] < 0)
        continue;
      for (const operand of op.operands) {
        if (ofOp[operand] < 0)
          continue;
        let from = this.nodes[ofOp[operand]], to = this.nodes[ofOp[op.index]];
        while (from.depth > to.depth)
          from = from.parent;
        while (to.depth > from.depth)
          to = to.parent;
        while (from.parent !== to.parent)
          [from, to] = [from.parent, to.parent];
        const key = from.index * this.nodes.length + to.index;
        if (from === to || seen.has(key))
          continue;
        seen.add(key);
        from.parent.edges.push([from, to]);
      }
    }
  }

  /** Counts the operations in a node; the last one determines its order. */
  count(node) {
    node.children.forEach(child => this.count(child));
    node.size = node.op >= 0 ? 1 : node.children.reduce((sum, child) => sum + child.size, 0);
    node.last = node.op >= 0 ? node.op : node.children.reduce((last, child) => Math.max(last, child.last), -1);
  }

  /** Counts the operations with changed statements in each group. */
  markChanged(isChanged) {
    const mark = node => {
      node.changed = node.op >= 0 ? Number(isChanged(this.listing.ops[node.op])) : node.children.reduce((sum, child) => sum + mark(child), 0);
      return node.changed;
    };
    mark(this.root);
  }

  /** Computes the ranks of a group's children: each below all its inputs. Runs once per group. */
  rank(group) {
    const rankOf = new Map(group.children.map(child => [child, 0]));
    const children = [...group.children].sort((a, b) => a.last - b.last);
    const order = new Map(children.map((child, index) => [child, index]));
    const inputs = new Map();
    group.forward = group.edges.filter(([from, to]) => order.get(from) < order.get(to));
    for (const [from, to] of group.forward) {
      if (!inputs.has(to))
        inputs.set(to, []);
      inputs.get(to).push(from);
    }
    for (const [index, child] of children.entries()) {
      for (const from of inputs.get(child) || [])
        rankOf.set(child, Math.max(rankOf.get(child), rankOf.get(from) + 1));
      // Functions are stacked.
      if (group === this.root && child.op < 0)
        rankOf.set(child, index);
    }
    const ranks = [];
    for (const child of children)
      (ranks[rankOf.get(child)] ||= []).push(child);
    group.inputs = inputs;
    group.ranks = this.orderRanks(ranks, inputs);
  }

  /** Orders each rank by the mean position of its nodes' inputs; splits wide ranks. */
  orderRanks(ranks, inputs) {
    const place = new Map(), cut = [];
    for (const rank of ranks) {
      const wish = new Map(rank.map((node, index) => {
        const from = inputs.get(node) || [];
        return [node, from.length ? from.reduce((sum, one) => sum + place.get(one), 0) / from.length : (index + .5) / rank.length];
      }));
      rank.sort((a, b) => wish.get(a) - wish.get(b) || a.index - b.index);
      rank.forEach((node, index) => place.set(node, (index + .5) / rank.length));
      for (let i = 0; i < rank.length; i += MOST_IN_ROW)
        cut.push(rank.slice(i, i + MOST_IN_ROW));
    }
    return cut;
  }

  /** Places the children of an open group, whose sizes are known, relative to it, and sets its size. */
  lay(group) {
    if (!group.isOpen || group.op >= 0) {
      group.w = NODE.width;
      group.h = NODE.height;
      return;
    }
    if (!group.ranks)
      this.rank(group);
    let y = group === this.root ? 0 : NODE.head, left = Infinity, right = -Infinity;
    for (const rank of group.ranks) {
      this.placeRow(rank, group.inputs, y);
      y += Math.max(...rank.map(node => node.h)) + NODE.gapY;
      left = Math.min(left, rank[0].x);
      right = Math.max(right, rank[rank.length - 1].x + rank[rank.length - 1].w);
    }
    if (!group.ranks.length)
      [left, right] = [0, NODE.width];
    for (const child of group.children)
      child.x += NODE.margin - left;
    group.w = Math.max(NODE.width, right - left + 2 * NODE.margin);
    group.h = y - NODE.gapY + NODE.margin;
    group.rowTops = group.ranks.map(rank => rank[0].y);
    group.rowHeights = group.ranks.map(rank => Math.max(...rank.map(node => node.h)));
    // Edges that pass other ranks, which are drawn if any part is visible.
    const rankOf = new Map(group.ranks.flatMap((rank, index) => rank.map(node => [node, index])));
    group.outputs = group.ranks.map(() => []);
    group.long = [];
    for (const edge of group.forward)
      if (rankOf.get(edge[1]) - rankOf.get(edge[0]) > 1)
        group.long.push(edge);
      else
        group.outputs[rankOf.get(edge[0])].push(edge);
  }

  /** Places a row below its inputs, without overlaps. */
  placeRow(rank, inputs, y) {
    let x = -Infinity, drift = 0;
    const total = rank.reduce((sum, node) => sum + node.w + NODE.gapX, -NODE.gapX);
    let start = -total / 2;
    for (const node of rank) {
      const from = inputs.get(node) || [];
      const wish = from.length ? from.reduce((sum, one) => sum + one.x + one.w / 2, 0) / from.length - node.w / 2 : start;
      node.x = Math.max(x, wish);
      node.y = y;
      drift += node.x - wish;
      x = node.x + node.w + NODE.gapX;
      start += node.w + NODE.gapX;
    }
    for (const node of rank)
      node.x -= drift / rank.length;
  }

  /** Repeats the layout around an opened or closed group. */
  update(node) {
    for (let at = node; at; at = at.parent)
      this.lay(at);
  }

  setOpen(node, isOpen) {
    if (node.op >= 0 || node === this.root || node.isOpen === isOpen)
      return;
    node.isOpen = isOpen;
    this.update(node);
  }

  /** Opens or closes all groups. */
  setAllOpen(isOpen) {
    for (const node of this.nodes)
      if (node.op < 0 && node !== this.root)
        node.isOpen = isOpen;
    this.layAll();
  }

  /** Lays out all groups, the inner ones first. */
  layAll(node = this.root) {
    node.children.forEach(child => this.layAll(child));
    this.lay(node);
  }

  /** Returns a node's position relative to the root's corner. */
  getPlace(node) {
    let [x, y] = [node.x, node.y];
    for (let at = node.parent; at; at = at.parent)
      [x, y] = [x + at.x, y + at.y];
    return {x, y, w: node.w, h: node.h};
  }

  /** Opens the groups around a node. */
  reveal(node) {
    const closed = [];
    for (let at = node.parent; at && at !== this.root; at = at.parent)
      if (!at.isOpen)
        closed.push(at);
    for (const group of closed)
      group.isOpen = true;
    if (closed.length)
      this.update(node);
  }
}
