// The text of a Mermaid sequence diagram → shapes, or null where something in it is not understood. Pure.

yaa.define('ext/diagram/sequence', ['ext/diagram/text'], ({ wrap, widthOf, textAt, round, LINE }) => {
  const MAX = { people: 30, steps: 300, label: 200, depth: 6 }
  const [MARGIN, STEP, HEAD] = [16, 30, 34]
  const BLOCKS = /^(loop|alt|opt|par|critical|break|rect)\b\s*(.*)$/
  const PARTS = /^(?:else|and|option)\b\s*(.*)$/
  const IGNORED = /^(?:%%|activate\s|deactivate\s|link\s|links\s|accTitle\b|accDescr\b)/
  const MESSAGE = /^(.{1,100}?)\s*(--?(?:>>|>|x|\)))\s*[+-]?\s*([^:]{1,100}?)\s*:\s*(.*)$/

  /** @param {string[]} lines without blank ones @returns {Diagram | null} */
  function draw(lines) {
    if (lines[0] !== 'sequenceDiagram') return null
    const steps = lines.slice(1).map((one) => one.replace(/;$/, '').trim()).filter((one) => one && !IGNORED.test(one))
    if (steps.length > MAX.steps) return null
    const names = people(steps)
    if (!names || !names.size || names.size > MAX.people) return null
    spread(names, steps)
    const places = [...names.values()].map(({ at }) => at)
    /** @type {any} */ const sheet = { names, y: MARGIN + HEAD + 10, shapes: [], words: [], open: [], number: 0, numbered: false, left: Math.min(...places), right: Math.max(...places) }
    for (const step of steps) if (!take(step, sheet)) return null
    if (sheet.open.length) return null
    const bottom = sheet.y + 10
    const lifelines = [...names.values()].map(({ at }) => ({ tag: 'path', kind: 'edge dotted', attrs: { d: `M${round(at)} ${MARGIN + HEAD}V${round(bottom)}` } }))
    const heads = [...names.values()].flatMap(({ label, at }) => headOf(label, at))
    const width = Math.max(sheet.right, ...[...names.values()].map(({ label, at }) => at + halfOf(label))) + MARGIN
    return { width: round(width), height: round(bottom + MARGIN), shapes: [...lifelines, ...sheet.shapes, ...heads, ...sheet.words] }
  }

  /** Who takes part, in order. @param {string[]} steps @returns {Map<string, {label: string[], at: number}> | null} */
  function people(steps) {
    const names = new Map()
    const add = (/** @type {string} */ id, /** @type {string} */ label = id) => names.has(id) || names.set(id, { label: wrap(label.replace(/<br\s*\/?>/gi, '\n').slice(0, MAX.label), 130), at: 0 })
    for (const step of steps) {
      const named = /^(?:participant|actor)\s+(.+?)(?:\s+as\s+(.+))?$/.exec(step)
      const message = MESSAGE.exec(step)
      const note = /^note\s+(?:over|left of|right of)\s+([^:]+):/i.exec(step)
      if (named) add(named[1], named[2])
      else if (message) [message[1], message[3]].forEach((id) => add(id))
      else if (note) note[1].split(',').forEach((id) => add(id.trim()))
      if (names.size > MAX.people) return null
    }
    return names
  }

  /** @param {string[]} label */
  const halfOf = (label) => Math.max(...label.map(widthOf)) / 2 + 14

  /** Far enough apart for heads and for what two neighbours say. @param {Map<string, {label: string[], at: number}>} names @param {string[]} steps */
  function spread(names, steps) {
    const all = [...names.values()]
    const index = new Map([...names.keys()].map((id, i) => [id, i]))
    const gaps = all.map((one, i) => (i ? halfOf(all[i - 1].label) + halfOf(one.label) + 16 : 0))
    for (const step of steps) {
      const message = MESSAGE.exec(step)
      const [a, b] = message ? [index.get(message[1]) ?? 0, index.get(message[3]) ?? 0].sort((x, y) => x - y) : [0, 0]
      if (!message || a === b) continue
      const wanted = Math.max(...wrap(message[4], 240).map(widthOf)) + 30
      const there = gaps.slice(a + 1, b + 1).reduce((sum, one) => sum + one, 0)
      if (wanted > there) gaps[b] += wanted - there
    }
    let at = MARGIN + (all[0] ? halfOf(all[0].label) : 0)
    all.forEach((one, i) => { one.at = at += gaps[i] })
  }

  /** @param {string[]} label @param {number} at @returns {DiagramShape[]} */
  function headOf(label, at) {
    const height = Math.max(HEAD, label.length * LINE + 8)
    return [
      { tag: 'rect', kind: 'node', attrs: { x: round(at - halfOf(label)), y: round(MARGIN + HEAD - height), width: round(halfOf(label) * 2), height: round(height), rx: 4 } },
      ...textAt(label, at, MARGIN + HEAD - height / 2),
    ]
  }

  /** One line of the text. @param {string} step @param {any} sheet @returns {boolean} */
  function take(step, sheet) {
    const note = /^note\s+(over|left of|right of)\s+([^:]+):\s*(.*)$/i.exec(step)
    const message = MESSAGE.exec(step)
    const [block, part] = [BLOCKS.exec(step), PARTS.exec(step)]
    if (/^(?:participant|actor)\s/.test(step)) return true
    if (step === 'autonumber') sheet.numbered = true
    else if (step === 'end') return close(sheet)
    else if (part) return split(part[1], sheet)
    else if (block) return open(block[1], block[2], sheet)
    else if (note) return noteOf(note, sheet)
    else if (message) return say(message, sheet)
    else return /^title\b/.test(step)
    return true
  }

  /** @param {string[]} message @param {any} sheet @returns {boolean} */
  function say([, from, line, to, words], sheet) {
    const [a, b] = [sheet.names.get(from), sheet.names.get(to)]
    if (!a || !b) return false
    const number = sheet.numbered ? `${++sheet.number}. ` : ''
    const text = wrap(number + words.replace(/<br\s*\/?>/gi, '\n').slice(0, MAX.label), Math.max(200, Math.abs(b.at - a.at) - 20))
    sheet.y += text.length * LINE
    const kind = `edge ${line.startsWith('--') ? 'dotted' : 'solid'}`
    if (a === b) {
      sheet.words.push(...textAt(text, a.at + 12, sheet.y - (text.length * LINE) / 2, 'words small', 'start'))
      sheet.shapes.push({ tag: 'path', kind, attrs: { d: `M${round(a.at)} ${round(sheet.y)}h34v14h-30` } }, arrow(a.at + 2, sheet.y + 14, -1, line))
      sheet.right = Math.max(sheet.right, a.at + 20 + Math.max(...text.map(widthOf)))
      sheet.y += 14 + 12
    } else {
      const way = Math.sign(b.at - a.at)
      sheet.words.push(...textAt(text, (a.at + b.at) / 2, sheet.y - (text.length * LINE) / 2 - 2, 'words small'))
      sheet.shapes.push({ tag: 'path', kind, attrs: { d: `M${round(a.at)} ${round(sheet.y)}H${round(b.at - way)}` } }, arrow(b.at - way, sheet.y, way, line))
      sheet.y += STEP - LINE + 4
    }
    return true
  }

  /** @param {number} x @param {number} y @param {number} way @param {string} line @returns {DiagramShape} */
  function arrow(x, y, way, line) {
    if (line.endsWith('x')) return { tag: 'path', kind: 'edge solid', attrs: { d: `M${round(x - 5)} ${round(y - 5)}l10 10m0 -10l-10 10` } }
    if (line.endsWith(')')) return { tag: 'path', kind: 'edge solid', attrs: { d: `M${round(x - way * 8)} ${round(y - 4)}L${round(x)} ${round(y)}L${round(x - way * 8)} ${round(y + 4)}` } }
    return { tag: 'polygon', kind: 'arrow', attrs: { points: `${round(x)},${round(y)} ${round(x - way * 8)},${round(y - 4)} ${round(x - way * 8)},${round(y + 4)}` } }
  }

  /** @param {string[]} note @param {any} sheet @returns {boolean} */
  function noteOf([, where, whom, words], sheet) {
    const at = whom.split(',').map((id) => sheet.names.get(id.trim())?.at)
    if (at.some((one) => one === undefined)) return false
    const lines = wrap(words.replace(/<br\s*\/?>/gi, '\n').slice(0, MAX.label), 180)
    const width = Math.max(Math.max(...lines.map(widthOf)) + 20, where.toLowerCase() === 'over' ? Math.max(...at) - Math.min(...at) + 40 : 0)
    const middle = (Math.max(...at) + Math.min(...at)) / 2
    const x = /left/i.test(where) ? Math.max(2, middle - width - 8) : /right/i.test(where) ? middle + 8 : Math.max(2, middle - width / 2)
    const height = lines.length * LINE + 8
    sheet.words.push({ tag: 'rect', kind: 'remark', attrs: { x: round(x), y: round(sheet.y + 4), width: round(width), height } }, ...textAt(lines, x + width / 2, sheet.y + 4 + height / 2, 'words small'))
    sheet.right = Math.max(sheet.right, x + width)
    sheet.y += height + 14
    return true
  }

  /** @param {string} kind @param {string} words @param {any} sheet @returns {boolean} */
  function open(kind, words, sheet) {
    if (sheet.open.length >= MAX.depth) return false
    sheet.y += 8
    sheet.open.push({ y: sheet.y, plain: kind === 'rect' })
    if (kind !== 'rect') {
      sheet.words.push(...textAt([`${kind} ${words ? `[${words.slice(0, MAX.label)}]` : ''}`], sheet.left - 8 + sheet.open.length * 4, sheet.y + 11, 'words small strong', 'start'))
      sheet.right = Math.max(sheet.right, sheet.left + widthOf(kind + words) + 20)
      sheet.y += LINE
    }
    return true
  }

  /** @param {string} words @param {any} sheet @returns {boolean} */
  function split(words, sheet) {
    if (!sheet.open.length) return false
    sheet.y += 6
    sheet.shapes.push({ tag: 'path', kind: 'edge dotted', attrs: { d: `M${round(sheet.left - 14 + sheet.open.length * 4)} ${round(sheet.y)}H${round(sheet.right + 14 - sheet.open.length * 4)}` } })
    if (words) sheet.words.push(...textAt([`[${words.slice(0, MAX.label)}]`], sheet.left - 8 + sheet.open.length * 4, sheet.y + 11, 'words small strong', 'start'))
    sheet.y += LINE
    return true
  }

  /** @param {any} sheet @returns {boolean} */
  function close(sheet) {
    const block = sheet.open.pop()
    if (!block) return false
    const inset = (sheet.open.length + 1) * 4
    sheet.y += 4
    sheet.shapes.unshift({ tag: 'rect', kind: 'group', attrs: { x: round(sheet.left - 16 + inset), y: round(block.y - 4), width: round(sheet.right - sheet.left + 32 - 2 * inset), height: round(sheet.y - block.y + 4), rx: 4 } })
    sheet.y += 8
    return true
  }

  return { draw }
})
