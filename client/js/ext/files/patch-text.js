// Reads a patch as models write it into sections, one for each file, and hunks: by the rules of
// server/tools/builtin/patch_text.py. Pure.

yaa.define('ext/files/patch-text', [], () => {
  const HEADER = /^@@+ *-([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? *@@+([^]*)/
  const NUMBERLESS = /^@@(?: ?\.\.\. ?@@)?([^]*)/
  const GIT = /^(?:index [0-9a-f]+\.\.|(?:old|new|deleted file|new file) mode |similarity )/
  const FILE = /^\*\*\* (Add|Update|Delete) File: *([^]*)/
  const NOT_APPLIED = ['rename from ', 'rename to ', 'copy from ', 'copy to ', '*** Move to:', 'GIT binary patch', 'Binary files ']
  const ENDS = ['@@', 'diff --git ', '*** Add File:', '*** Update File:', '*** Delete File:', '*** End Patch', '```']

  /** @param {string} text @param {readonly string[]} words */
  const startsWith = (text, words) => words.some((word) => text.startsWith(word))
  /** @param {string} line @param {string} end */
  const without = (line, end) => (line.endsWith(end) ? line.slice(0, -end.length) : line)
  /** @param {string} line @returns {any} */
  const signOf = (line) => line.slice(0, 1)

  /** Without spaces, tabs and carriage returns at the end: in linear time, whatever the line. @param {string} line */
  function trimRight(line) {
    let end = line.length
    while (end && ' \t\r'.includes(line[end - 1])) end -= 1
    return line.slice(0, end)
  }

  /** @param {string} line */
  function trim(line) {
    const kept = trimRight(line)
    let from = 0
    while (from < kept.length && ' \t\r'.includes(kept[from])) from += 1
    return kept.slice(from)
  }

  /** @param {string} patch @returns {PatchSection[] | null} null: it moves files or holds binary data, and is not applied */
  function readPatch(patch) {
    let lines = patch.split('\n')
    if (lines.length > 1 && lines.slice(0, -1).every((line) => line.endsWith('\r'))) lines = lines.map((line) => without(line, '\r'))
    const first = lines.findIndex((line) => line.trim())
    if (first > 0) lines = lines.slice(first)
    if (lines[0].startsWith('```')) lines = lines.slice(1)
    const found = read(lines)
    for (const section of found ?? []) section.hunks = section.hunks.filter((hunk) => hunk.lines.length)
    return found && found.filter((section) => section.hunks.length || section.kind !== 'Update')
  }

  /** @param {string[]} lines @returns {PatchSection[] | null} */
  function read(lines) {
    /** @type {PatchSection[]} */
    const sections = []
    let [at, fresh] = [0, true]
    const starred = lines.some((line) => FILE.test(line) || line === '*** Begin Patch')
    const begin = (/** @type {Partial<PatchSection>} */ section) => {
      sections.push({ kind: 'Update', names: [], hunks: [], ...section })
      fresh = true
    }
    const body = (/** @type {PatchHunk} */ hunk) => {
      if (!sections.length) begin({})
      sections[sections.length - 1].hunks.push(hunk)
      fresh = false
      at = readBody(lines, at, hunk)
    }
    const beginsBody = (/** @type {string} */ line) => (sections.length
      ? fresh && line !== '' && (starred || '+- '.includes(line[0]))
      : at === 1 && lines.every((one) => '+- '.includes(signOf(one))))
    while (at < lines.length) {
      const line = lines[at]
      if (startsWith(line, NOT_APPLIED)) return null
      if (line.trimEnd() === '*** End Patch' || (line.startsWith('```') && sections.length)) break
      at += 1
      const file = FILE.exec(line)
      if (file) {
        begin({ kind: /** @type {any} */ (file[1]), names: [unquoted(file[2].trim())] })
        if (file[1] === 'Add') body(newHunk())
      } else if (line.startsWith('diff --git ')) begin({ names: gitNames(line.slice(11)) })
      else if (line.startsWith('deleted file mode') && sections.length) sections[sections.length - 1].kind = 'Delete'
      else if (line.startsWith('new file mode') && sections.length) sections[sections.length - 1].kind = 'Add'
      else if (atNames(lines, at - 1)) {
        if (!sections.length || !fresh) begin({})
        readNames(sections[sections.length - 1], line, lines[at])
        fresh = true
        at += 1
      } else if (line.startsWith('@@')) {
        const hunk = newHunk()
        readHeader(hunk, line, starred)
        while (at < lines.length && lines[at].startsWith('@@')) readHeader(hunk, lines[at++], starred)
        body(hunk)
      } else if (beginsBody(line)) {
        at -= 1
        body(newHunk())
      }
    }
    return sections
  }

  /** @returns {PatchHunk} */
  const newHunk = () => ({ start: null, newStart: null, counts: [-1, -1], counted: false, headings: [], strict: false, lines: [], atEnd: false, unended: [false, false] })

  /** @param {string[]} lines @param {number} place */
  const atNames = (lines, place) => lines[place].startsWith('--- ') && (lines[place + 1] ?? '').startsWith('+++ ')

  /** @param {PatchSection} section @param {string} old @param {string} next */
  function readNames(section, old, next) {
    const names = [old, next].map((line) => unquoted(line.slice(4).split('\t')[0].trimEnd()))
    if (names[0] === '/dev/null') section.kind = 'Add'
    else if (names[1] === '/dev/null') section.kind = 'Delete'
    section.names = names.map((name, i) => (name.startsWith(['a/', 'b/'][i]) ? name.slice(2) : name)).filter((name) => name !== '/dev/null')
  }

  /** @param {PatchHunk} hunk @param {string} line @param {boolean} starred */
  function readHeader(hunk, line, starred) {
    const found = HEADER.exec(line)
    let rest = ''
    if (found) {
      [hunk.start, hunk.newStart] = [Number(found[1]), Number(found[3])]
      hunk.counts = [Number(found[2] || 1), Number(found[4] || 1)]
      rest = found[5]
    } else {
      rest = NUMBERLESS.exec(line)?.[1] ?? ''
      hunk.strict = starred
    }
    const heading = trim(without(trim(rest), '@@'))
    if (heading) hunk.headings.push(heading)
  }

  /** @param {string[]} lines @param {number} at @param {PatchHunk} hunk @returns {number} the index after it */
  function readBody(lines, at, hunk) {
    let end = countedEnd(lines, at, hunk)
    hunk.counted = end > 0
    if (!end) for (end = at; end < lines.length && !isEnd(lines, end);) end += 1
    const body = lines.slice(at, end)
    while (body.length && !body[body.length - 1]) {
      body.pop()
      hunk.counted = false
    }
    for (const line of body) {
      if (line.startsWith('\\')) {
        const sign = hunk.lines.at(-1)?.sign
        if (sign) hunk.unended = [hunk.unended[0] || sign !== '+', hunk.unended[1] || sign !== '-']
      } else if (line.trimEnd() === '*** End of File') hunk.atEnd = true
      else if (line && '+- '.includes(line[0])) hunk.lines.push({ sign: signOf(line), text: line.slice(1), whole: line })
      else hunk.lines.push({ sign: ' ', text: line, whole: line })
    }
    return end
  }

  /** @param {string[]} lines @param {number} at @param {PatchHunk} hunk @returns {number} 0: the header miscounts */
  function countedEnd(lines, at, hunk) {
    let [old, next] = hunk.counts
    let place = at
    for (; (old > 0 || next > 0) && place < lines.length; place++) {
      const sign = signOf(lines[place]) || ' '
      if (!'+- \\'.includes(sign)) return 0
      old -= ' -'.includes(sign) ? 1 : 0
      next -= ' +'.includes(sign) ? 1 : 0
    }
    while (place < lines.length && lines[place].startsWith('\\')) place += 1
    let after = place
    while (after < lines.length && !lines[after]) after += 1
    return old === 0 && next === 0 && (after === lines.length || isEnd(lines, after)) ? place : 0
  }

  /** @param {string[]} lines @param {number} place */
  function isEnd(lines, place) {
    const line = lines[place]
    if (startsWith(line, ENDS) || GIT.test(line)) return true
    if (line.trimEnd() === '--' && /^[0-9]+\.[0-9]/.test(lines[place + 1] ?? '')) return true
    return atNames(lines, place)
  }

  /** @param {string} both `a/x b/x` */
  function gitNames(both) {
    const half = Math.floor(both.length / 2)
    const [one, other] = [both.slice(0, half), both.slice(half + 1)].map(unquoted)
    if (one.startsWith('a/') && one.slice(2) === other.slice(2)) return [one.slice(2)]
    const name = unquoted(both.slice(both.lastIndexOf(' ') + 1))
    return [name.startsWith('b/') ? name.slice(2) : name]
  }

  /** Git quotes a name that is not ASCII, its bytes as octal numbers. @param {string} name */
  function unquoted(name) {
    if (name.length < 2 || !name.startsWith('"') || !name.endsWith('"')) return name
    const plain = name.slice(1, -1).replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8) & 255)).replaceAll('\\"', '"')
    if (/[^\0-\xff]/.test(plain)) return plain
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(plain, (char) => char.charCodeAt(0)))
    } catch {
      return plain
    }
  }

  return { readPatch, trim, trimRight }
})
