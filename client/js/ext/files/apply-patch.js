// What a patch makes of the text of a file, by the rules of server/tools/builtin/patch.py. Pure: the page shows with it
// what a call would do that waits for an approval.

yaa.define('ext/files/apply-patch', ['ext/files/patch-text'], ({ readPatch, trim, trimRight }) => {
  const MAX_STEPS = 5_000_000
  const [EXACT, LINE_ENDS, TRAILING, LEADING] = [0, 1, 2, 3]

  /** Thrown where the call will fail. @type {(why: EditProblem['why'], part?: number, lines?: number[]) => never} */
  function fail(why, part = 0, lines = []) {
    throw Object.assign(new Error(why), { problem: { why, part, lines } })
  }

  /**
   * @param {string | null} text null: there is no such file @param {string} patch @param {string} path
   * @returns {EditOutcome} `after` is null if the file is deleted
   */
  function applyPatch(text, patch, path) {
    try {
      return { after: applySections(text, patch, path) }
    } catch (error) {
      const { problem } = /** @type {any} */ (error)
      if (!problem) throw error
      return { after: text, problem }
    }
  }

  /** @param {string | null} text @param {string} patch @param {string} path */
  function applySections(text, patch, path) {
    const sections = readPatch(patch)
    if (!sections?.length || sections.some((section) => section.names.some((name) => !isSameFile(name, path)))) return fail('unfit')
    const of = { part: 0 }
    let after = text
    for (const section of sections) after = applySection(after, section, of)
    return after === text ? fail('nothing') : after
  }

  /** @param {string} name @param {string} path */
  function isSameFile(name, path) {
    const [one, other] = [name, path].map((each) => each.split('/').filter((part) => part && part !== '.').reverse())
    const most = Math.min(one.length, other.length)
    return most > 0 && one.slice(0, most).every((part, i) => part === other[i])
  }

  /** @param {string | null} text @param {PatchSection} section @param {{part: number}} of hunks before it */
  function applySection(text, { kind, hunks }, of) {
    const first = of.part
    of.part += hunks.length
    if (kind === 'Add' || (text === null && kind === 'Update' && hunks.length && !hunks.some((hunk) => before(hunk).length))) {
      if (text !== null) return fail('there')
      hunks.forEach((hunk, n) => before(hunk).length && fail('unfit', first + n + 1))
      const lines = hunks.flatMap((hunk) => after(hunk))
      return lines.join('\n') + (lines.length && !hunks[hunks.length - 1].unended[1] ? '\n' : '')
    }
    if (text === null) return fail('noFile')
    if (kind !== 'Delete') return applyHunks(text, hunks, first)
    const said = hunks.flatMap(before).map(trimRight)
    const there = splitLines(text.replace(/^\ufeff/, '')).lines.map(trimRight)
    const whole = said.length === there.length && said.every((line, i) => line === there[i])
    return hunks.some((hunk) => after(hunk).length) || (hunks.length && !whole) ? fail('missing', first + 1) : null
  }

  /** The lines that the file has, and those that are there afterwards. @param {PatchHunk} hunk */
  const before = (hunk) => hunk.lines.filter((line) => line.sign !== '+').map((line) => line.text)
  /** @param {PatchHunk} hunk */
  const after = (hunk) => hunk.lines.filter((line) => line.sign !== '-').map((line) => line.text)

  /** @param {string} text */
  function splitLines(text) {
    const lines = text.split('\n')
    const ended = lines[lines.length - 1] === ''
    if (ended) lines.pop()
    return { lines, ended }
  }

  /** @param {string} text whether all lines end in CRLF */
  const isCrlf = (text) => text.includes('\r\n') && !/(?<!\r)\n/.test(text)

  /** @param {string} line */
  const chop = (line) => (line.endsWith('\r') ? line.slice(0, -1) : line)

  /** @param {string} line @param {number} level */
  const keyOf = (line, level) => (level >= TRAILING ? trimRight(line) : level === LINE_ENDS ? chop(line) : line)

  /** @param {string} text @param {PatchHunk[]} hunks @param {number} first hunks before them */
  function applyHunks(text, hunks, first) {
    const mark = text.startsWith('\ufeff') ? '\ufeff' : ''
    const crlf = isCrlf(text)
    const { lines, ended } = splitLines(crlf ? text.slice(mark.length).replaceAll('\r\n', '\n') : text.slice(mark.length))
    for (const hunk of hunks) {
      if (crlf) hunk.lines = hunk.lines.map(({ sign, text: said, whole }) => ({ sign, text: chop(said), whole: chop(whole) }))
      const top = hunk.lines[0]
      if (mark && top?.text.startsWith(mark)) hunk.lines[0] = { sign: top.sign, text: top.text.slice(1), whole: top.whole.replace(mark, '') }
    }
    const file = linesOf(lines)
    const placed = hunks.map((hunk, n) => place(file, hunk, first + n + 1))
    const starts = choose(file, placed)
    const order = placed.map((one, n) => ({ one, start: starts[n], n }))
      .sort((a, b) => compare(span(a.one, a.start), span(b.one, b.start)) || a.n - b.n)
    const made = join(lines, ended, order)
    const whole = made.lines.join('\n') + (made.lines.length && made.ended ? '\n' : '')
    return mark + (crlf ? whole.replaceAll('\n', '\r\n') : whole)
  }

  /** The lines of a file, and where each occurs. @param {string[]} lines */
  function linesOf(lines) {
    /** @type {Map<number, {keys: string[], where: Map<string, number[]>}>} */
    const made = new Map()
    let steps = 0
    const spend = () => {
      steps += 1
      if (steps > MAX_STEPS) fail('large')
    }
    const at = (/** @type {number} */ level) => {
      const known = made.get(level)
      if (known) return known
      const keys = lines.map((line) => keyOf(line, level))
      /** @type {Map<string, number[]>} */
      const where = new Map()
      keys.forEach((key, n) => {
        const known = where.get(key)
        if (known) known.push(n)
        else where.set(key, [n])
      })
      made.set(level, { keys, where })
      return { keys, where }
    }
    const places = (/** @type {string[][]} */ wanted, /** @type {number} */ level) => {
      const { keys, where } = at(Math.min(level, TRAILING))
      const often = wanted.map((texts) => texts.reduce((sum, key) => sum + (where.get(key)?.length ?? 0), 0))
      const rarest = often.indexOf(often.reduce((least, one) => Math.min(least, one)))
      /** @type {Set<number>} */
      const found = new Set()
      for (const key of wanted[rarest]) {
        for (const n of where.get(key) ?? []) {
          const start = n - rarest
          if (start < 0 || start + wanted.length > keys.length) continue
          const fits = wanted.every((texts, offset) => {
            spend()
            return texts.includes(keys[start + offset])
          })
          if (fits) found.add(start)
        }
      }
      return [...found].sort((a, b) => a - b)
    }
    return { lines, spend, places }
  }

  /** Where a hunk's lines occur, compared as strictly as possible. @param {FileLines} file @param {PatchHunk} hunk @param {number} part @returns {PlacedHunk} */
  function place(file, hunk, part) {
    const changes = hunk.lines.flatMap((line, n) => (line.sign === ' ' ? [] : [n]))
    if (!changes.length) return fail('unfit', part)
    const last = changes[changes.length - 1]
    const core = [changes[0], hunk.lines.slice(0, last + 1).filter((line) => line.sign !== '+').length]
    const length = before(hunk).length
    if (!length) return file.lines.length && !hunk.atEnd ? fail('missing', part) : { hunk, part, core, last, level: EXACT, starts: [file.lines.length] }
    for (const level of [EXACT, LINE_ENDS, TRAILING, LEADING]) {
      let starts = file.places(keysOf(hunk, level), level)
      const ending = hunk.atEnd || hunk.unended[0] ? starts.filter((n) => n + length === file.lines.length) : []
      if (ending.length) starts = ending
      if (hunk.strict && hunk.headings.length) starts = below(file, hunk, starts)
      if (starts.length) return { hunk, part, core, last, level, starts }
    }
    return fail('missing', part)
  }

  /** For each line of the file in a hunk the texts that it may have. @param {PatchHunk} hunk @param {number} level */
  function keysOf(hunk, level) {
    return hunk.lines.filter((line) => line.sign !== '+').map(({ sign, text, whole }) => (
      level === LEADING && sign === ' ' && whole.startsWith(' ') ? [text, whole] : [text]).map((one) => keyOf(one, level)))
  }

  /** Those places that lie in the block that a hunk's headings name. @param {FileLines} file @param {PatchHunk} hunk @param {number[]} starts */
  function below(file, hunk, starts) {
    let blocks = [[0, file.lines.length]]
    for (const heading of hunk.headings) {
      const inner = blocks.flatMap(([start, end]) => {
        const found = []
        for (let n = start; n < end; n++) {
          file.spend()
          if (trim(file.lines[n]).startsWith(heading)) found.push([n, blockEnd(file, n, end)])
        }
        return found
      })
      if (!inner.length) return starts
      blocks = inner
    }
    const covered = new Uint8Array(file.lines.length + 1)
    for (const [start, end] of blocks) covered.fill(1, start, end)
    const inside = starts.filter((n) => covered[n])
    return inside.length || !hunk.strict ? inside : starts.filter((n) => n >= blocks[0][0])
  }

  /** @param {FileLines} file @param {number} number @param {number} end */
  function blockEnd(file, number, end) {
    const depth = depthOf(file.lines[number])
    for (let n = number + 1; n < end; n++) {
      file.spend()
      if (trim(file.lines[n]) && depthOf(file.lines[n]) <= depth) return n
    }
    return end
  }

  /** @param {string} line */
  const depthOf = (line) => /^[ \t]*/.exec(line)?.[0].length ?? 0

  /** The lines that a hunk changes, if it begins at `start`. @param {PlacedHunk} one @param {number} start */
  const span = (one, start) => [start + one.core[0], start + one.core[1]]

  /** @param {number[]} a @param {number[]} b */
  const compare = (a, b) => a[0] - b[0] || a[1] - b[1]

  /** @param {FileLines} file @param {PlacedHunk[]} placed @returns {number[]} */
  function choose(file, placed) {
    if (asStated(placed)) return placed.map(stated)
    for (const one of placed) {
      const inside = one.starts.length > 1 && one.hunk.headings.length ? below(file, one.hunk, one.starts) : []
      if (inside.length) one.starts = inside
    }
    if (placed.every((one) => one.starts.length === 1)) {
      const starts = placed.map((one) => one.starts[0])
      refuseOverlap(placed, starts)
      return starts
    }
    const often = (/** @type {PlacedHunk} */ one) => fail('often', one.part, one.starts.map((n) => n + 1))
    const numbers = placed.flatMap((one) => one.hunk.start ?? [])
    const first = inOrder(placed, false)
    if (!first || numbers.some((n, i) => i && n < numbers[i - 1])) return often(/** @type {any} */ (placed.find((one) => one.starts.length > 1)))
    const last = inOrder(placed, true) ?? []
    const unsure = placed.find((one, i) => first[i] !== last[i])
    return unsure ? often(unsure) : first
  }

  /** @param {PlacedHunk} one */
  const stated = (one) => (one.hunk.start ?? 0) - 1

  /** Whether all numbers and counts of the headers are right. @param {PlacedHunk[]} placed */
  function asStated(placed) {
    let [shift, edge] = [0, -1]
    for (const one of placed) {
      const { counted, start, newStart, counts } = one.hunk
      const [low, high] = span(one, stated(one))
      if (!counted || start === null || !one.starts.includes(stated(one)) || newStart !== start + shift || low < edge) return false
      shift += counts[1] - counts[0]
      edge = high
    }
    return true
  }

  /** The first (or last) places at which the hunks fit in their order. @param {PlacedHunk[]} placed @param {boolean} backward @returns {number[] | null} */
  function inOrder(placed, backward) {
    /** @type {number[]} */
    const found = []
    let edge = backward ? Infinity : -1
    const turned = (/** @type {any[]} */ list) => (backward ? [...list].reverse() : list)
    for (const one of turned(placed)) {
      const start = turned(one.starts).find((n) => (backward ? span(one, n)[1] <= edge : span(one, n)[0] >= edge))
      if (start === undefined) return null
      found.push(start)
      edge = span(one, start)[backward ? 0 : 1]
    }
    return turned(found)
  }

  /** @param {PlacedHunk[]} placed @param {number[]} starts */
  function refuseOverlap(placed, starts) {
    const spans = placed.map((one, n) => ({ at: span(one, starts[n]), part: one.part })).sort((a, b) => compare(a.at, b.at))
    spans.forEach((one, i) => i && one.at[0] < spans[i - 1].at[1] && fail('unfit', one.part))
  }

  /** @param {string[]} lines @param {boolean} ended @param {{one: PlacedHunk, start: number}[]} order */
  function join(lines, ended, order) {
    /** @type {string[]} */
    const made = []
    let at = 0
    const keep = (/** @type {number} */ end) => {
      for (; at < end; at++) made.push(lines[at])
    }
    for (const { one, start } of order) {
      keep(span(one, start)[0])
      for (const { sign, text } of one.hunk.lines.slice(one.core[0], one.last + 1)) {
        if (sign === '+') made.push(one.level === EXACT ? text : chop(text) + ((lines[at ? at - 1 : 0] ?? '').endsWith('\r') ? '\r' : ''))
        else if (sign === ' ') keep(at + 1)
        else at += 1
      }
      const [old, next] = one.hunk.unended
      if (start + before(one.hunk).length === lines.length) ended = old !== next ? !next : ended || !lines.length
    }
    keep(lines.length)
    return { lines: made, ended }
  }

  return { applyPatch, isCrlf }
})
