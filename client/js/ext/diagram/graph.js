// The text of a Mermaid flowchart or state diagram → nodes and edges, or null where something in it is not understood.
// Pure. What would run or fetch something (click, links, HTML in a label) is left out or is text.

yaa.define('ext/diagram/graph', [], () => {
  const MAX = { nodes: 150, edges: 300, groups: 30, label: 200 }
  const ID = /[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/uy
  /** @type {[string, string, string][]} how a label begins and ends, and the shape: longer ones first */
  const SHAPES = [
    ['([', '])', 'stadium'], ['((', '))', 'circle'], ['[[', ']]', 'box'], ['[(', ')]', 'stadium'], ['{{', '}}', 'stadium'], ['[/', '/]', 'box'], ['[\\', '\\]', 'box'],
    ['(', ')', 'round'], ['[', ']', 'box'], ['{', '}', 'diamond'], ['>', ']', 'box'],
  ]
  /** @type {[RegExp, string][]} links with words in them, then those without */
  const LINKS = [
    [/(<)?--\s*([^\s>|-](?:(?!--).){0,200}?)\s*--+(>|[xo](?=[\s|]))?/y, 'solid'], [/(<)?-\.\s*([^\s>.-](?:(?!\.-).){0,200}?)\s*\.-+(>)?/y, 'dotted'], [/(<)?==\s*([^\s>=](?:(?!==).){0,200}?)\s*==+(>)?/y, 'thick'],
    [/(<)?--+()(>|-|[xo](?=[\s|]))/y, 'solid'], [/(<)?-\.+-()(>)?/y, 'dotted'], [/(<)?==+()(>|=)/y, 'thick'],
  ]
  const LINK_WORDS = /\|\s*("?)([^|]{0,200}?)\1\s*\|/y
  const IGNORED = /^(?:%%|classDef\b|class\s|style\s|linkStyle\b|click\s|accTitle\b|accDescr\b|direction\s)/
  const HEAD = /^(?:graph|flowchart)(?:\s+(TB|TD|BT|LR|RL))?\s*$/i

  /**
   * @typedef {{id: string, label: string, shape: string}} GraphNode
   * @typedef {{from: string, to: string, label: string, style: string, start: boolean, end: boolean}} GraphEdge
   * @typedef {{direction: string, nodes: Map<string, GraphNode>, edges: GraphEdge[], groups: {label: string, members: string[]}[]}} Graph
   */

  /** @param {string[]} lines without blank ones @returns {Graph | null} */
  function parse(lines) {
    const head = HEAD.exec(lines[0])
    const graph = empty(head?.[1]?.toUpperCase() === 'TD' ? 'TB' : head?.[1]?.toUpperCase() ?? 'TB')
    if (/^stateDiagram(?:-v2)?$/.test(lines[0])) return states(lines.slice(1), graph) ? whole(graph) : null
    if (!head) return null
    /** @type {{id: string, label: string, members: string[]}[]} */ const open = []
    const groupIds = new Set()
    for (const line of lines.slice(1).flatMap(statementsOf)) {
      const text = line.trim()
      if (!text || IGNORED.test(text)) continue
      const group = /^subgraph(?:\s+(.*))?$/.exec(text)
      if (group) {
        const named = /^([\p{L}\p{N}_-]+)\s*\[\s*"?(.*?)"?\s*\]$/u.exec(group[1] ?? '')
        open.push({ id: named?.[1] ?? group[1] ?? '', label: labelOf(named?.[2] ?? (group[1] ?? '').replace(/^"|"$/g, '')), members: [] })
        groupIds.add(open.at(-1)?.id)
      } else if (text === 'end') {
        const one = open.pop()
        if (!one || graph.groups.push(one) > MAX.groups) return null
        open.at(-1)?.members.push(...one.members)
      } else if (!statement(text, graph, (id) => open.at(-1)?.members.push(id))) return null
    }
    if (open.length || [...groupIds].some((id) => graph.nodes.has(id))) return null
    return whole(graph)
  }

  /** Of a line with words in quotes only the end is looked at. @param {string} line */
  const statementsOf = (line) => (line.includes('"') ? [line.replace(/;$/, '')] : line.split(/;(?:\s+|$)/))

  /** @param {string} direction @returns {Graph} */
  const empty = (direction) => ({ direction, nodes: new Map(), edges: [], groups: [] })

  /** @param {Graph} graph */
  const whole = (graph) => (graph.nodes.size && graph.nodes.size <= MAX.nodes && graph.edges.length <= MAX.edges ? graph : null)

  /**
   * `A[words] --> B & C -->|words| D`
   * @param {string} text @param {Graph} graph @param {(id: string) => void} seen @returns {boolean}
   */
  function statement(text, graph, seen) {
    const reader = { text, at: 0 }
    let before = nodesAt(reader, graph, seen)
    if (!before) return false
    for (skip(reader); reader.at < text.length; skip(reader)) {
      const link = linkAt(reader)
      const after = link && (skip(reader), nodesAt(reader, graph, seen))
      if (!after || graph.edges.length > MAX.edges || graph.nodes.size > MAX.nodes) return false
      for (const from of before) for (const to of after) graph.edges.push({ ...link, from, to })
      before = after
    }
    return true
  }

  /** @param {{text: string, at: number}} reader */
  function skip(reader) {
    while (reader.text[reader.at] === ' ' || reader.text[reader.at] === '\t') reader.at++
  }

  /** @param {{text: string, at: number}} reader @param {Graph} graph @param {(id: string) => void} seen @returns {string[] | null} */
  function nodesAt(reader, graph, seen) {
    /** @type {string[]} */ const ids = []
    for (;;) {
      const id = nodeAt(reader, graph)
      if (id === null) return null
      seen(id)
      ids.push(id)
      skip(reader)
      if (reader.text[reader.at] !== '&') return ids
      reader.at++
      skip(reader)
    }
  }

  /** @param {{text: string, at: number}} reader @param {Graph} graph @returns {string | null} */
  function nodeAt(reader, { nodes }) {
    const id = take(reader, ID)?.[0]
    if (!id) return null
    const shape = SHAPES.find(([begins]) => reader.text.startsWith(begins, reader.at))
    const node = nodes.get(id) ?? { id, label: id, shape: 'box' }
    nodes.set(id, node)
    if (shape) {
      const from = reader.at + shape[0].length
      const quoted = reader.text[from] === '"'
      const end = reader.text.indexOf(quoted ? `"${shape[1]}` : shape[1], from + Number(quoted))
      if (end < 0) return null
      Object.assign(node, { label: labelOf(reader.text.slice(from + Number(quoted), end)), shape: shape[2] })
      reader.at = end + Number(quoted) + shape[1].length
    }
    take(reader, /:::[\w-]+/y)
    return id
  }

  /** @param {{text: string, at: number}} reader @returns {Omit<GraphEdge, 'from' | 'to'> | null} */
  function linkAt(reader) {
    for (const [pattern, style] of LINKS) {
      const found = take(reader, pattern)
      if (!found) continue
      skip(reader)
      const words = take(reader, LINK_WORDS)?.[2] ?? found[2]
      return { label: labelOf(words), style, start: Boolean(found[1]), end: found[3] !== undefined && !'-='.includes(found[3]) }
    }
    return null
  }

  /** @param {{text: string, at: number}} reader @param {RegExp} pattern sticky */
  function take(reader, pattern) {
    pattern.lastIndex = reader.at
    const found = pattern.exec(reader.text)
    if (found) reader.at = pattern.lastIndex
    return found
  }

  /** Words of a label: line breaks are those of HTML, other tags are text. @param {string} source */
  const labelOf = (source) => source.replace(/<br\s*\/?>|\\n/gi, '\n').replace(/#quot;|&quot;/g, '"').trim().slice(0, MAX.label)

  // -- states --

  /** @param {string[]} lines @param {Graph} graph @returns {boolean} */
  function states(lines, graph) {
    const node = (/** @type {string} */ id, /** @type {string} */ end) => {
      const key = id === '[*]' ? `[*] ${end}` : id
      if (!graph.nodes.has(key)) graph.nodes.set(key, { id: key, label: id === '[*]' ? '' : id, shape: id === '[*]' ? end : 'round' })
      return key
    }
    for (const line of lines) {
      const text = line.trim()
      const direction = /^direction\s+(TB|BT|LR|RL)$/.exec(text)?.[1]
      const move = /^(\[\*\]|[\p{L}\p{N}_.-]+?)\s*-->\s*(\[\*\]|[\p{L}\p{N}_.-]+)\s*(?::\s*(.*))?$/u.exec(text)
      const named = /^state\s+"([^"]*)"\s+as\s+([\p{L}\p{N}_.-]+)$/u.exec(text)
      const kind = /^state\s+([\p{L}\p{N}_.-]+)(?:\s+<<(choice|fork|join)>>)?$/u.exec(text)
      const about = /^([\p{L}\p{N}_.-]+)\s*:\s*(.+)$/u.exec(text)
      if (direction) graph.direction = direction
      else if (!text || IGNORED.test(text)) continue
      else if (move) graph.edges.push({ from: node(move[1], 'start'), to: node(move[2], 'end'), label: labelOf(move[3] ?? ''), style: 'solid', start: false, end: true })
      else if (named) Object.assign(graph.nodes.get(node(named[2], '')) ?? {}, { label: labelOf(named[1]) })
      else if (kind) Object.assign(graph.nodes.get(node(kind[1], '')) ?? {}, kind[2] ? { shape: 'diamond', label: '' } : {})
      else if (about) Object.assign(graph.nodes.get(node(about[1], '')) ?? {}, { label: labelOf(about[2]) })
      else return false
      if (graph.edges.length > MAX.edges || graph.nodes.size > MAX.nodes) return false
    }
    return true
  }

  return { parse }
})
