// The text of a Mermaid diagram → shapes to draw: flowcharts, states, sequences, pies. Null where something is not
// understood, or too large: then the text itself is shown. Pure, and bounded: a text is anybody's.

yaa.define('ext/diagram/diagram', ['ext/diagram/graph', 'ext/diagram/layers', 'ext/diagram/sequence', 'ext/diagram/text'], (graphs, layers, sequences, { textAt, widthOf, wrap, round }) => {
  const MAX = { letters: 20_000, lines: 500, slices: 24 }
  const PIE = /^pie(?:\s+(showData))?(?:\s+title\s+(.{1,200}))?$/
  const RADIUS = 110

  /** @param {string} text @returns {Diagram | null} */
  function parse(text) {
    if (text.length > MAX.letters) return null
    const lines = text.replace(/^---\n[^]*?\n---\n/, '').split('\n').map((line) => line.trim()).filter((line) => line && !line.startsWith('%%'))
    if (!lines.length || lines.length > MAX.lines) return null
    if (lines[0] === 'sequenceDiagram') return sequences.draw(lines)
    if (/^pie\b/.test(lines[0])) return pie(lines)
    const graph = graphs.parse(lines)
    return graph && layers.lay(graph)
  }

  /** @param {string[]} lines @returns {Diagram | null} */
  function pie(lines) {
    const head = PIE.exec(lines[0])
    if (!head) return null
    let title = head[2] ?? ''
    /** @type {{label: string, value: number}[]} */ const slices = []
    for (const line of lines.slice(1)) {
      const slice = /^"([^"]{1,100})"\s*:\s*(\d{1,15}(?:\.\d{1,6})?)$/.exec(line)
      if (slice) slices.push({ label: slice[1], value: Number(slice[2]) })
      else if (line.startsWith('title ')) title = line.slice(6, 206)
      else if (line !== 'showData') return null
    }
    const total = slices.reduce((sum, { value }) => sum + value, 0)
    if (!(total > 0) || slices.length > MAX.slices) return null
    return drawPie(title, slices, total, Boolean(head[1]) || lines[1] === 'showData')
  }

  /** @param {string} title @param {{label: string, value: number}[]} slices @param {number} total @param {boolean} data @returns {Diagram} */
  function drawPie(title, slices, total, data) {
    const head = title ? wrap(title, 400) : []
    const [x, y] = [RADIUS + 16, Math.max(RADIUS, slices.length * 11) + 16 + head.length * 20]
    const right = x + RADIUS + 28
    let angle = -Math.PI / 2
    const shapes = slices.flatMap(({ label, value }, i) => {
      const share = value / total
      const from = angle
      angle += share * 2 * Math.PI
      const at = (/** @type {number} */ turn) => `${round(x + RADIUS * Math.cos(turn))} ${round(y + RADIUS * Math.sin(turn))}`
      const kind = `slice slice-${i % 8}`
      const row = y - slices.length * 11 + i * 22 + 11
      const words = `${label}${data ? ` · ${value}` : ''} · ${Math.round(share * 1000) / 10}%`
      return [
        share >= 0.9999 ? { tag: 'circle', kind, attrs: { cx: x, cy: y, r: RADIUS } }
          : { tag: 'path', kind, attrs: { d: `M${x} ${y}L${at(from)}A${RADIUS} ${RADIUS} 0 ${Number(share > 0.5)} 1 ${at(angle)}Z` } },
        { tag: 'rect', kind, attrs: { x: right, y: round(row - 6), width: 12, height: 12, rx: 2 } },
        ...textAt([words], right + 20, row, 'words small', 'start'),
      ]
    })
    const wide = Math.max(...slices.map(({ label, value }) => widthOf(`${label}${data ? ` · ${value}` : ''} · 100.0%`)), ...head.map((/** @type {string} */ line) => widthOf(line) - right))
    const tall = Math.max(y + RADIUS + 16, y + slices.length * 11 + 16)
    return { width: round(right + 20 + wide + 16), height: round(tall), shapes: [...textAt(head, 16, 10 + head.length * 10, 'words strong', 'start'), ...shapes] }
  }

  return { parse }
})
