// Nodes and edges → places, in layers: edges go one way as far as they can, and long ones bend around what is between.
// Pure; the work is bounded by the number of nodes and of layers that edges cross.

yaa.define('ext/diagram/layers', ['ext/diagram/text'], ({ wrap, boxOf, textAt, widthOf, groupBy, round, LINE }) => {
  const [GAP, LAYER_GAP, MARGIN, ARROW] = [28, 46, 16, 7]
  /** Points on edges that cross layers, all together. */
  const MAX_BENDS = 3000
  const [SWEEPS, PULLS] = [6, 10]

  /**
   * A node, or a bend of an edge. `across` is its place in its layer, `along` the layer's.
   * @typedef {{lines: string[], shape: string, size: number, depth: number, layer: number, across: number, along: number, up: Spot[], down: Spot[], id: string}} Spot
   */

  /** @param {any} graph of core/diagram-graph @returns {Diagram | null} */
  function lay(graph) {
    const flat = graph.direction === 'LR' || graph.direction === 'RL'
    /** @type {Map<string, Spot>} */ const spots = new Map([...graph.nodes.values()].map((node) => [node.id, spotOf(node, flat)]))
    const edges = graph.edges.map((/** @type {any} */ edge) => ({ ...edge, a: spots.get(edge.from), b: spots.get(edge.to) }))
    turnBack(spots, edges)
    layer(spots, edges)
    const layers = fill(spots, edges)
    if (!layers) return null
    order(layers)
    place(layers, edges.some((/** @type {any} */ edge) => edge.label), MARGIN + (graph.groups.length ? LINE + 6 : 0))
    return draw(graph, layers, spots, edges, flat)
  }

  /** @param {any} node @param {boolean} flat @returns {Spot} */
  function spotOf({ id, label, shape }, flat) {
    const lines = wrap(label)
    const box = boxOf(lines)
    let [width, height] = [box.width + 28, box.height + 18]
    if (shape === 'diamond') [width, height] = [box.width * 1.4 + 44, box.height * 1.6 + 30]
    if (shape === 'circle') width = height = Math.max(width, height)
    if (shape === 'start' || shape === 'end') width = height = 18
    const [size, depth] = flat ? [height, width] : [width, height]
    return { id, lines, shape, size, depth, layer: 0, across: 0, along: 0, up: [], down: [] }
  }

  /** Edges that lead back to where they came from are laid the other way. @param {Map<string, Spot>} spots @param {any[]} edges */
  function turnBack(spots, edges) {
    /** @type {Map<Spot, any[]>} */ const out = groupBy(edges, (/** @type {any} */ edge) => edge.a)
    /** 1: on the way, 2: done @type {Map<Spot, number>} */ const seen = new Map()
    for (const root of spots.values()) {
      if (seen.has(root)) continue
      const stack = [{ spot: root, next: 0 }]
      seen.set(root, 1)
      while (stack.length) {
        const top = stack[stack.length - 1]
        const edge = out.get(top.spot)?.[top.next++]
        if (!edge) {
          seen.set(top.spot, 2)
          stack.pop()
        } else if (edge.b === edge.a) edge.loop = true
        else if (seen.get(edge.b) === 1) edge.back = true
        else if (!seen.has(edge.b)) {
          seen.set(edge.b, 1)
          stack.push({ spot: edge.b, next: 0 })
        }
      }
    }
    for (const edge of edges) if (edge.back) [edge.a, edge.b] = [edge.b, edge.a]
  }

  /** Each node below all that lead to it. @param {Map<string, Spot>} spots @param {any[]} edges */
  function layer(spots, edges) {
    const real = edges.filter((edge) => !edge.loop)
    const out = groupBy(real, (/** @type {any} */ edge) => edge.a)
    const waits = new Map([...spots.values()].map((spot) => [spot, 0]))
    for (const { b } of real) waits.set(b, (waits.get(b) ?? 0) + 1)
    const ready = [...spots.values()].filter((spot) => !waits.get(spot))
    for (const spot of ready) {
      for (const { b } of out.get(spot) ?? []) {
        b.layer = Math.max(b.layer, spot.layer + 1)
        waits.set(b, (waits.get(b) ?? 0) - 1)
        if (!waits.get(b)) ready.push(b)
      }
    }
  }

  /** The layers, with bends where edges cross them. @param {Map<string, Spot>} spots @param {any[]} edges @returns {Spot[][] | null} */
  function fill(spots, edges) {
    /** @type {Spot[][]} */ const layers = []
    const add = (/** @type {Spot} */ spot) => (layers[spot.layer] ??= []).push(spot)
    for (const spot of spots.values()) add(spot)
    let bends = 0
    for (const edge of edges) {
      edge.path = [edge.a]
      for (let at = edge.a.layer + 1; !edge.loop && at < edge.b.layer; at++) {
        if (++bends > MAX_BENDS) return null
        const bend = { id: '', lines: [], shape: 'bend', size: 12, depth: 0, layer: at, across: 0, along: 0, up: [], down: [] }
        edge.path.push(bend)
        add(bend)
      }
      edge.path.push(edge.b)
      for (let i = 1; !edge.loop && i < edge.path.length; i++) {
        edge.path[i - 1].down.push(edge.path[i])
        edge.path[i].up.push(edge.path[i - 1])
      }
    }
    return layers
  }

  /** Each layer in the order of what its nodes hang on: few edges cross. @param {Spot[][]} layers */
  function order(layers) {
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const down = sweep % 2 === 0
      for (const layer of down ? layers : layers.toReversed()) {
        const places = new Map(layer.map((spot, i) => [spot, i]))
        const middle = new Map(layer.map((spot) => [spot, mean((down ? spot.up : spot.down).map((one) => one.across)) ?? places.get(spot) ?? 0]))
        layer.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0))
        layer.forEach((spot, i) => { spot.across = i })
      }
    }
  }

  /** @param {number[]} all */
  const mean = (all) => (all.length ? all.reduce((sum, one) => sum + one, 0) / all.length : undefined)

  /** @param {Spot[][]} layers @param {boolean} labels @param {number} margin */
  function place(layers, labels, margin) {
    let along = margin
    for (const layer of layers) {
      const depth = Math.max(...layer.map((spot) => spot.depth))
      for (const spot of layer) spot.along = along + depth / 2
      along += depth + LAYER_GAP + (labels ? LINE : 0)
      let across = 0
      for (const spot of layer) {
        spot.across = across + spot.size / 2
        across += spot.size + GAP
      }
    }
    for (let pull = 0; pull < PULLS; pull++) for (const layer of pull % 2 ? layers.toReversed() : layers) straighten(layer)
    const least = Math.min(...layers.flat().map((spot) => spot.across - spot.size / 2))
    for (const spot of layers.flat()) spot.across += margin - least
  }

  /** Each as near to its neighbours as the order allows: the middle of two ways that keep it. @param {Spot[]} layer */
  function straighten(layer) {
    const wished = layer.map((spot) => mean([...spot.up, ...spot.down].map((one) => one.across)) ?? spot.across)
    const apart = layer.map((spot, i) => (i ? (spot.size + layer[i - 1].size) / 2 + GAP : 0))
    const left = [...wished]
    const right = [...wished]
    for (let i = 1; i < layer.length; i++) left[i] = Math.max(left[i], left[i - 1] + apart[i])
    for (let i = layer.length - 2; i >= 0; i--) right[i] = Math.min(right[i], right[i + 1] - apart[i + 1])
    layer.forEach((spot, i) => { spot.across = (left[i] + right[i]) / 2 })
  }

  // -- drawing --

  /** @param {any} graph @param {Spot[][]} layers @param {Map<string, Spot>} spots @param {any[]} edges @param {boolean} flat @returns {Diagram | null} */
  function draw(graph, layers, spots, edges, flat) {
    const all = layers.flat()
    const ends = [Math.max(...all.map((spot) => spot.across + spot.size / 2)) + MARGIN + (edges.some((edge) => edge.loop) ? 40 : 0), Math.max(...all.map((spot) => spot.along + spot.depth / 2)) + MARGIN]
    const turned = graph.direction === 'BT' || graph.direction === 'RL'
    /** @param {number} across @param {number} along @returns {[number, number]} */
    const point = (across, along) => {
      const way = turned ? ends[1] - along : along
      return flat ? [way, across] : [across, way]
    }
    const [width, height] = flat ? [ends[1], ends[0]] : ends
    /** @type {DiagramShape[]} */ const shapes = []
    for (const group of graph.groups) {
      const box = groupOf(group, spots, point, flat)
      if (!box) return null
      shapes.push(...box)
    }
    const pairs = groupBy(edges, (/** @type {any} */ { from, to }) => [from, to].sort().join('\n'))
    /** @type {DiagramShape[]} */ const words = []
    spreadEnds(edges)
    for (const edge of edges) edgeOf(edge, pairs.get([edge.from, edge.to].sort().join('\n')) ?? [], point, shapes, words)
    for (const spot of spots.values()) shapes.push(...nodeOf(spot, point, flat))
    return { width: round(width), height: round(height), shapes: [...shapes, ...words] }
  }

  /** @param {Spot} spot @param {(across: number, along: number) => [number, number]} point @param {boolean} flat @returns {DiagramShape[]} */
  function nodeOf(spot, point, flat) {
    const [x, y] = point(spot.across, spot.along)
    const [width, height] = flat ? [spot.depth, spot.size] : [spot.size, spot.depth]
    if (spot.shape === 'start' || spot.shape === 'end') return [
      { tag: 'circle', kind: 'dot', attrs: { cx: round(x), cy: round(y), r: 7 } },
      ...(spot.shape === 'end' ? [{ tag: 'circle', kind: 'ring', attrs: { cx: round(x), cy: round(y), r: 9 } }] : []),
    ]
    const text = textAt(spot.lines, x, y)
    if (spot.shape === 'circle') return [{ tag: 'circle', kind: 'node', attrs: { cx: round(x), cy: round(y), r: round(width / 2) } }, ...text]
    if (spot.shape === 'diamond') {
      const points = [[x, y - height / 2], [x + width / 2, y], [x, y + height / 2], [x - width / 2, y]]
      return [{ tag: 'polygon', kind: 'node', attrs: { points: points.map((one) => one.map(round).join(',')).join(' ') } }, ...text]
    }
    const rx = spot.shape === 'stadium' ? height / 2 : spot.shape === 'round' ? 10 : 3
    return [{ tag: 'rect', kind: 'node', attrs: { x: round(x - width / 2), y: round(y - height / 2), width: round(width), height: round(height), rx: round(rx) } }, ...text]
  }

  /**
   * @param {any} edge @param {any[]} beside edges between the same two @param {(across: number, along: number) => [number, number]} point
   * @param {DiagramShape[]} shapes @param {DiagramShape[]} words what stands over all lines
   */
  function edgeOf(edge, beside, point, shapes, words) {
    /** @type {[number, number][]} */ const places = edge.loop ? loopOf(edge.a) : edge.path.map((/** @type {Spot} */ spot) => [spot.across, spot.along])
    if (!edge.loop) {
      const last = places[places.length - 1]
      places[0][0] += edge.leaves
      places[0][1] += halfAt(edge.a, edge.leaves)
      last[0] += edge.arrives
      last[1] -= halfAt(edge.b, edge.arrives)
    }
    if (edge.back) places.reverse()
    const path = places.map(([across, along], i) => {
      if (!i) return `M${point(across, along).map(round).join(' ')}`
      const middle = (places[i - 1][1] + along) / 2
      const [one, other] = edge.loop ? [point(places[i - 1][0] + 34, places[i - 1][1]), point(across + 34, along)] : [point(places[i - 1][0], middle), point(across, middle)]
      return `C${[one, other, point(across, along)].map((each) => each.map(round).join(' ')).join(' ')}`
    }).join('')
    shapes.push({ tag: 'path', kind: `edge ${edge.style}`, attrs: { d: path } })
    const [last, first] = [places[places.length - 1], places[0]]
    const way = edge.loop ? 'side' : edge.back ? 'up' : 'down'
    if (edge.end) shapes.push(arrow(last, way, point))
    if (edge.start) shapes.push(arrow(first, way === 'down' ? 'up' : 'down', point))
    if (!edge.label) return
    const lines = wrap(edge.label, 160)
    const at = Math.floor((places.length - 1) / 2)
    const share = (beside.indexOf(edge) + 1) / (beside.length + 1) // edges between the same two say their words one below the other
    const [x, y] = point(places[at][0] + (places[at + 1][0] - places[at][0]) * share + (edge.loop ? 34 : 0), places[at][1] + (places[at + 1][1] - places[at][1]) * (edge.back ? 1 - share : share))
    const width = Math.max(...lines.map(widthOf)) + 8
    words.push({ tag: 'rect', kind: 'paper', attrs: { x: round(x - width / 2), y: round(y - lines.length * LINE / 2), width: round(width), height: lines.length * LINE } }, ...textAt(lines, x, y, 'words small'))
  }

  /** Edges leave and arrive side by side, in the order of where they lead. @param {any[]} edges */
  function spreadEnds(edges) {
    const real = edges.filter((edge) => !edge.loop)
    /** @param {string} end @param {string} name @param {(edge: any) => number} across */
    const spread = (end, name, across) => {
      for (const [spot, all] of groupBy(real, (/** @type {any} */ edge) => edge[end])) {
        const step = Math.min(16, (spot.size * 0.6) / all.length)
        all.sort((/** @type {any} */ a, /** @type {any} */ b) => across(a) - across(b))
        all.forEach((/** @type {any} */ edge, /** @type {number} */ i) => { edge[name] = (i - (all.length - 1) / 2) * step })
      }
    }
    spread('a', 'leaves', (edge) => edge.path[1].across)
    spread('b', 'arrives', (edge) => edge.path[edge.path.length - 2].across)
  }

  /** How far the border is from the middle, beside the middle. @param {Spot} spot @param {number} beside */
  function halfAt({ shape, size, depth }, beside) {
    const share = Math.min(1, Math.abs(beside) / (size / 2))
    if (shape === 'diamond') return (depth / 2) * (1 - share)
    return shape === 'circle' || shape === 'start' || shape === 'end' ? (depth / 2) * Math.sqrt(1 - share * share) : depth / 2
  }

  /** @param {Spot} spot @returns {[number, number][]} */
  const loopOf = (spot) => [[spot.across + spot.size / 2, spot.along - 6], [spot.across + spot.size / 2, spot.along + 6]]

  /** @param {[number, number]} tip @param {string} way @param {(across: number, along: number) => [number, number]} point @returns {DiagramShape} */
  function arrow([across, along], way, point) {
    const back = way === 'up' ? ARROW : -ARROW
    const corners = way === 'side' ? [[across, along], [across + ARROW, along - 4], [across + ARROW, along + 4]] : [[across, along], [across - 4, along + back], [across + 4, along + back]]
    return { tag: 'polygon', kind: 'arrow', attrs: { points: corners.map(([a, b]) => point(a, b).map(round).join(',')).join(' ') } }
  }

  /**
   * The frame around a group; null where something else is in it.
   * @param {{label: string, members: string[]}} group @param {Map<string, Spot>} spots @param {(across: number, along: number) => [number, number]} point @param {boolean} flat
   * @returns {DiagramShape[] | null}
   */
  function groupOf({ label, members }, spots, point, flat) {
    const boxOf = (/** @type {Spot} */ spot) => {
      const [x, y] = point(spot.across, spot.along)
      const [width, height] = flat ? [spot.depth, spot.size] : [spot.size, spot.depth]
      return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    }
    const own = new Set(members)
    if (!own.size) return []
    const boxes = [...own].map((id) => boxOf(/** @type {Spot} */ (spots.get(id))))
    const [left, top] = [Math.min(...boxes.map((one) => one[0])) - 10, Math.min(...boxes.map((one) => one[1])) - 12]
    const [right, bottom] = [Math.max(...boxes.map((one) => one[2])) + 10, Math.max(...boxes.map((one) => one[3])) + 10]
    for (const [id, spot] of spots) {
      const [a, b, c, d] = boxOf(spot)
      if (!own.has(id) && a < right && c > left && b < bottom && d > top) return null
    }
    return [
      { tag: 'rect', kind: 'group', attrs: { x: round(left), y: round(top), width: round(right - left), height: round(bottom - top), rx: 6 } },
      ...textAt([label], left + 6, top - 7, 'words small', 'start'),
    ]
  }

  return { lay }
})
