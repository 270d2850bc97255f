// What changed between two sequences: the shortest edit (Myers, 1986), of lines, of words, or of anything that can be
// told apart. Rule of the file: whatever comes in, an answer comes out soon; two texts that have almost nothing in
// common are shown as one replaced by the other.

yaa.define('core/diff', [], () => {
  /** Edits after which a shortest one is no longer looked for. */
  const MAX_EDITS = 1200
  /** Lines longer than this are not compared word by word. */
  const MAX_WORDS_IN = 4000
  /** Two lines are shown word by word if they share at least this much. */
  const ALIKE = 0.35
  const WORD = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|[\p{L}\p{N}_]+|\s+|[^]/gu
  const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

  /**
   * @template A
   * @param {readonly A[]} before @param {readonly A[]} after @param {(a: A, b: A) => boolean} [same]
   * @returns {DiffStep[]} in order; an index is -1 where there is none
   */
  function align(before, after, same = Object.is) {
    let start = 0
    let [endA, endB] = [before.length, after.length]
    while (start < endA && start < endB && same(before[start], after[start])) start += 1
    while (endA > start && endB > start && same(before[endA - 1], after[endB - 1])) [endA, endB] = [endA - 1, endB - 1]
    /** @type {DiffStep[]} */
    const steps = []
    for (let i = 0; i < start; i++) steps.push({ op: 'same', before: i, after: i })
    steps.push(...middle(before, after, same, start, endA, endB))
    for (let i = 0; endA + i < before.length; i++) steps.push({ op: 'same', before: endA + i, after: endB + i })
    return steps
  }

  /**
   * @template A
   * @param {readonly A[]} before @param {readonly A[]} after @param {(a: A, b: A) => boolean} same
   * @param {number} start @param {number} endA @param {number} endB @returns {DiffStep[]}
   */
  function middle(before, after, same, start, endA, endB) {
    const [n, m] = [endA - start, endB - start]
    const trace = n && m ? search(n, m, (x, y) => same(before[start + x], after[start + y])) : null
    if (!trace) return replaced(start, endA, endB)
    /** @type {DiffStep[]} */
    const steps = []
    let [x, y] = [n, m]
    for (let d = trace.length - 1; d >= 0; d--) {
      const at = (/** @type {number} */ k) => trace[d][k + d + 1] ?? -1
      const k = x - y
      const down = k === -d || (k !== d && at(k - 1) < at(k + 1))
      const fromX = d ? (down ? at(k + 1) : at(k - 1)) : 0
      const fromY = d ? fromX - (down ? k + 1 : k - 1) : 0
      while (x > fromX && y > fromY) {
        x -= 1
        y -= 1
        steps.push({ op: 'same', before: start + x, after: start + y })
      }
      if (!d) break
      if (down) steps.push({ op: 'added', before: -1, after: start + fromY })
      else steps.push({ op: 'removed', before: start + fromX, after: -1 });
      [x, y] = [fromX, fromY]
    }
    return tidy(steps.reverse())
  }

  /**
   * The furthest points reached with each number of edits, before each round; null if there are too many edits.
   * @param {number} n @param {number} m @param {(x: number, y: number) => boolean} same @returns {Int32Array[] | null}
   */
  function search(n, m, same) {
    const most = Math.min(n + m, MAX_EDITS)
    const reach = new Int32Array(2 * most + 3)
    const zero = most + 1
    /** @type {Int32Array[]} */
    const trace = []
    for (let d = 0; d <= most; d++) {
      trace.push(reach.slice(zero - d - 1, zero + d + 2))
      for (let k = -d; k <= d; k += 2) {
        const down = k === -d || (k !== d && reach[zero + k - 1] < reach[zero + k + 1])
        let x = down ? reach[zero + k + 1] : reach[zero + k - 1] + 1
        let y = x - k
        while (x < n && y < m && same(x, y)) [x, y] = [x + 1, y + 1]
        reach[zero + k] = x
        if (x >= n && y >= m) return trace
      }
    }
    return null
  }

  /** Within a run of edits what was removed comes first, as people are used to. @param {DiffStep[]} steps */
  function tidy(steps) {
    /** @type {DiffStep[]} */
    const found = []
    /** @type {DiffStep[]} */
    let added = []
    for (const step of steps) {
      if (step.op === 'added') added.push(step)
      else {
        if (step.op === 'same') found.push(...added.splice(0))
        found.push(step)
      }
    }
    return [...found, ...added]
  }

  /** @param {number} start @param {number} endA @param {number} endB @returns {DiffStep[]} */
  function replaced(start, endA, endB) {
    /** @type {DiffStep[]} */
    const steps = []
    for (let i = start; i < endA; i++) steps.push({ op: 'removed', before: i, after: -1 })
    for (let i = start; i < endB; i++) steps.push({ op: 'added', before: -1, after: i })
    return steps
  }

  // -- texts --

  /** @param {string} text lines with their line break, which is a part of what is compared */
  const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

  /** @param {string} line */
  const bare = (line) => (line.endsWith('\n') ? line.slice(0, -1) : line)

  /**
   * Two texts line by line; what is the same and far from any change is one `gap` row. `unended`: the line has no line
   * break at its end, where the other text has one.
   * @param {string} before @param {string} after @param {number} [context] lines kept around a change @returns {DiffRow[]}
   */
  function rows(before, after, context = 3) {
    const [a, b] = [linesOf(before), linesOf(after)]
    const uneven = before && after && before.endsWith('\n') !== after.endsWith('\n')
    const all = align(a, b).map((step) => {
      const line = step.op === 'added' ? b[step.after] : a[step.before]
      const unended = uneven && !line.endsWith('\n') ? { unended: true } : {}
      return { kind: step.op, text: bare(line), ...numbersOf(step), ...unended }
    })
    return refine(folded(/** @type {DiffRow[]} */ (all), context))
  }

  /** @param {DiffStep} step line numbers, counted from 1 */
  const numbersOf = ({ before, after }) => ({ ...(before >= 0 ? { before: before + 1 } : {}), ...(after >= 0 ? { after: after + 1 } : {}) })

  /** @param {DiffRow[]} all @param {number} context */
  function folded(all, context) {
    const near = new Uint8Array(all.length)
    all.forEach((row, i) => {
      if (row.kind !== 'same') near.fill(1, Math.max(0, i - context), i + context + 1)
    })
    /** @type {DiffRow[]} */
    const found = []
    all.forEach((row, i) => {
      const last = found.at(-1)
      if (near[i]) found.push(row)
      else if (last?.kind === 'gap') last.count = (last.count ?? 0) + 1
      else found.push({ kind: 'gap', text: '', count: 1 })
    })
    return found
  }

  /** Rows of a unified diff, as `diff -u`, git and edit_file write it. @param {string} text @returns {DiffRow[]} */
  function parse(text) {
    /** @type {DiffRow[]} */
    const found = []
    let [before, after, endBefore, endAfter] = [0, 0, 0, 0]
    for (const line of linesOf(text).map(bare)) {
      const hunk = HUNK.exec(line)
      if (hunk) {
        if (found.length) found.push({ kind: 'gap', text: '' });
        [before, after] = [Number(hunk[1]), Number(hunk[3])];
        [endBefore, endAfter] = [before + Number(hunk[2] ?? 1), after + Number(hunk[4] ?? 1)]
      } else if (before >= endBefore && after >= endAfter) continue // between hunks: names of files
      else if (line.startsWith('+')) found.push({ kind: 'added', text: line.slice(1), after: after++ })
      else if (line.startsWith('-')) found.push({ kind: 'removed', text: line.slice(1), before: before++ })
      else if (!line.startsWith('\\')) found.push({ kind: 'same', text: line.slice(1), before: before++, after: after++ })
    }
    return refine(found)
  }

  /** Rows of a patch as models write it: whatever its headers say. @param {string} text @returns {DiffRow[]} */
  function parseLoose(text) {
    /** @type {DiffRow[]} */
    const found = []
    const lines = linesOf(text).map(bare)
    lines.forEach((line, i) => {
      const names = /^(?:--- |\+\+\+ )/.test(line) && (line[0] === '-' ? lines[i + 1]?.startsWith('+++ ') : lines[i - 1]?.startsWith('--- '))
      if (names || /^(?:\*\*\*|diff --git |index |```|\\)/.test(line)) return
      if (line.startsWith('@@')) found.push({ kind: 'gap', text: '' })
      else if (line.startsWith('+')) found.push({ kind: 'added', text: line.slice(1) })
      else if (line.startsWith('-')) found.push({ kind: 'removed', text: line.slice(1) })
      else found.push({ kind: 'same', text: line.replace(/^ /, '') })
    })
    return refine(found[0]?.kind === 'gap' ? found.slice(1) : found)
  }

  /**
   * Where a run of removed lines is followed by one of added lines, those that belong together say what changed in them.
   * @param {DiffRow[]} all
   */
  function refine(all) {
    for (let i = 0; i < all.length; i++) {
      if (all[i].kind !== 'removed') continue
      let added = i
      while (all[added]?.kind === 'removed') added += 1
      let end = added
      while (all[end]?.kind === 'added') end += 1
      for (let n = 0; n < Math.min(added - i, end - added); n++) {
        const [from, to] = [all[i + n], all[added + n]]
        const found = words(from.text, to.text)
        if (found.alike < ALIKE || found.alike === 1) continue
        from.parts = found.before
        to.parts = found.after
      }
      i = Math.max(i, end - 1)
    }
    return all
  }

  /**
   * Two texts word by word. `alike`: the share of characters they have in common.
   * @param {string} before @param {string} after @returns {{before: DiffPart[], after: DiffPart[], alike: number}}
   */
  function words(before, after) {
    if (before === after) return { before: [{ text: before, changed: false }], after: [{ text: after, changed: false }], alike: 1 }
    if (before.length + after.length > MAX_WORDS_IN) {
      return { before: [{ text: before, changed: true }], after: [{ text: after, changed: true }], alike: 0 }
    }
    const [a, b] = [before.match(WORD) ?? [], after.match(WORD) ?? []]
    /** @type {{before: DiffPart[], after: DiffPart[]}} */
    const found = { before: [], after: [] }
    let common = 0
    for (const step of align(a, b)) {
      const same = step.op === 'same'
      if (step.before >= 0) extend(found.before, a[step.before], !same)
      if (step.after >= 0) extend(found.after, b[step.after], !same)
      if (same && a[step.before].trim()) common += a[step.before].length
    }
    const solid = (/** @type {string} */ text) => text.replace(/\s+/g, '').length
    return { ...found, alike: (2 * common) / Math.max(1, solid(before) + solid(after)) * (1 - 1e-9) }
  }

  /** @param {DiffPart[]} parts @param {string} text @param {boolean} changed */
  function extend(parts, text, changed) {
    const last = parts.at(-1)
    if (last?.changed === changed) last.text += text
    else parts.push({ text, changed })
  }

  /** @param {DiffRow[]} all */
  const count = (all) => ({
    added: all.filter((row) => row.kind === 'added').length,
    removed: all.filter((row) => row.kind === 'removed').length,
  })

  return { align, rows, parse, parseLoose, words, count }
})
