// Finding words in sessions. There is no index: a scan of every message takes milliseconds. Case, accents and the
// width of letters make no difference, and languages without spaces are matched as they are written.

yaa.define('core/search', ['core/session'], (sessions) => {
  const MARKS = /[\u0300-\u036f]/g
  const ASCII = /^[\0-\x7f]*$/
  const WORD = /[\p{L}\p{N}]/u
  const SNIPPET = 110
  const LEAD = 32
  const HERE = (/** @type {number} */ i) => i
  const NEXT = (/** @type {number} */ i) => i + 1

  /** A text as it is compared. @param {string} text */
  function foldCase(text) {
    if (ASCII.test(text)) return text.toLowerCase()
    return text.normalize('NFKD').toLowerCase().replace(MARKS, '').replaceAll('ς', 'σ')
  }

  /** The words that all have to be there; "words in quotes" are one. @param {string} query */
  function terms(query) {
    const found = query.matchAll(/"([^"]+)"?|([^\s"]+)/g)
    return [...new Set([...found].map(([, quoted, word]) => foldCase(quoted ?? word).trim()).filter(Boolean))]
  }

  /**
   * Where each of the terms is, as places in the text itself: folding can change its length.
   * @param {string} text @param {string[]} words folded @returns {[number, number][]} sorted, not overlapping
   */
  function ranges(text, words) {
    const { folded, from, to } = mapped(text)
    /** @type {[number, number][]} */ const all = []
    for (const word of words) {
      for (let at = folded.indexOf(word); word && at >= 0; at = folded.indexOf(word, at + word.length)) {
        all.push([from(at), to(at + word.length - 1)])
      }
    }
    all.sort((a, b) => a[0] - b[0] || b[1] - a[1])
    /** @type {[number, number][]} */ const joined = []
    for (const [start, end] of all) {
      const last = joined.at(-1)
      if (last && start < last[1]) last[1] = Math.max(last[1], end)
      else joined.push([start, end])
    }
    return joined
  }

  /** The folded text, and for each of its letters where the original begins and ends. @param {string} text */
  function mapped(text) {
    if (ASCII.test(text)) return { folded: text.toLowerCase(), from: HERE, to: NEXT }
    let folded = ''
    /** @type {number[]} */ const starts = []
    /** @type {number[]} */ const ends = []
    let at = 0
    for (const letter of text) {
      const plain = foldCase(letter)
      for (let i = 0; i < plain.length; i++) starts.push(at), ends.push(at + letter.length)
      // an accent written apart belongs to the letter before it
      if (!plain && ends.length) ends[ends.length - 1] = at + letter.length
      folded += plain
      at += letter.length
    }
    return { folded, from: (/** @type {number} */ i) => starts[i], to: (/** @type {number} */ i) => ends[i] }
  }

  /**
   * A text cut into what matches and what does not. @param {string} text @param {string[]} words
   * @returns {[string, boolean][]}
   */
  function splitMatches(text, words) {
    /** @type {[string, boolean][]} */ const parts = []
    let at = 0
    for (const [start, end] of ranges(text, words)) {
      if (start > at) parts.push([text.slice(at, start), false])
      parts.push([text.slice(start, end), true])
      at = end
    }
    if (at < text.length) parts.push([text.slice(at), false])
    return parts
  }

  /** The surroundings of the first match, on one line. @param {string} text @param {string[]} words */
  function snippet(text, words) {
    const near = text.slice(0, 200_000)
    const first = ranges(near, words)[0]?.[0] ?? 0
    let start = Math.max(0, first - LEAD)
    const space = near.slice(start, first).search(/\s/)
    if (start > 0 && space >= 0) start += space + 1
    const cut = near.slice(start, start + SNIPPET).replace(/\s+/g, ' ').replace(/[\ud800-\udbff]$/, '')
    return splitMatches(`${start > 0 ? '… ' : ''}${cut.trim()}${start + SNIPPET < text.length ? ' …' : ''}`, words)
  }

  /** JSON with its escapes read, so that a line's end is not shown as `\n`; any other text stays as it is. @param {string} text */
  function decoded(text) {
    if (!/^\s*[{[]/.test(text) || !text.includes('\\')) return text
    try {
      JSON.parse(text)
    } catch {
      return text
    }
    return text.replace(/\\(?:u.{4}|.)/g, (escape) => JSON.parse(`"${escape}"`))
  }

  /**
   * What can be found in a session: a text for each article of the thread, its calls and their results with it.
   * @param {Session} session @returns {Page[]}
   */
  function pages(session) {
    return sessions.items(session).filter(({ message }) => message.role !== 'system').map(({ message, calls }) => {
      const ran = calls.map(({ call, result }) => `${call.function.name} ${decoded(`${call.function.arguments}`)}\n${decoded(textOf(result?.content))}`)
      const text = [message.reasoning?.text, textOf(message.content), ...ran].filter(Boolean).join('\n')
      return { id: message.id, role: message.role, text, folded: foldCase(text) }
    })
  }

  /**
   * What can be found on every path of a session; a page that is not on the active one names its branch.
   * @param {Session} session @returns {Page[]}
   */
  function allPages(session) {
    const aside = sessions.treeOf(session).branches.flatMap(({ id, messages }) => (
      pages({ ...session, messages, interrupts: [] }).map((page) => ({ ...page, branch: id }))
    ))
    return [...pages(session), ...aside]
  }

  /** @param {any} content @returns {string} */
  function textOf(content) {
    if (typeof content === 'string') return content
    if (!Array.isArray(content)) return ''
    return content.map((part) => (typeof part === 'string' ? part : part?.text ?? '')).filter(Boolean).join('\n')
  }

  /**
   * Is every word in this session, and where best? @param {{title: string, pages: Page[]}} session
   * @param {string[]} words @param {number} [most] @returns {Found | null}
   */
  function searchSession({ title, pages: all }, words, most = 3) {
    const name = foldCase(title)
    const missing = new Set(words.filter((word) => !name.includes(word)))
    const inTitle = words.length - missing.size
    const hits = []
    for (const page of all) {
      const has = words.filter((word) => page.folded.includes(word))
      has.forEach((word) => missing.delete(word))
      if (has.length) hits.push({ page, score: has.reduce((sum, word) => sum + weight(page.folded, word), 0) })
    }
    if (!words.length || missing.size) return null
    hits.sort((a, b) => b.score - a.score)
    const head = words.reduce((sum, word) => sum + (name.includes(word) ? 10 * weight(name, word) : 0), 0)
    return {
      score: head + (hits[0]?.score ?? 0) + Math.log2(1 + hits.length), inTitle: inTitle === words.length, count: hits.length,
      hits: hits.slice(0, most).map(({ page: { id, role, branch, text } }) => ({ id, role, branch, parts: snippet(text, words) })),
    }
  }

  /** A word counts more where it begins a word, and most where it is one. @param {string} text @param {string} word */
  function weight(text, word) {
    const at = text.indexOf(word)
    const opens = !WORD.test(text[at - 1] ?? '')
    return 1 + (opens ? 1 : 0) + (opens && !WORD.test(text[at + word.length] ?? '') ? 1 : 0)
  }

  /**
   * How well a short name answers what was typed: its letters in order, better together and at the beginnings of words,
   * best when it is the whole name.
   * @param {string} name @param {string} typed @returns {number} 0: not at all
   */
  function rank(name, typed) {
    const text = foldCase(name)
    const wanted = foldCase(typed).trim()
    if (!wanted) return 1
    if (text.trim() === wanted) return 200
    const at = text.indexOf(wanted)
    if (at >= 0) return 100 + 10 * weight(text, wanted) - Math.min(at, 9)
    let score = 0
    let from = 0
    for (const letter of wanted.replace(/\s+/g, '')) {
      const found = text.indexOf(letter, from)
      if (found < 0) return 0
      score += found === from && from > 0 ? 3 : !WORD.test(text[found - 1] ?? '') ? 4 : 1
      from = found + 1
    }
    // letters strewn over a long name mean nothing
    return score >= wanted.length * 2 ? score : 0
  }

  return { foldCase, terms, ranges, splitMatches, snippet, pages, allPages, searchSession, rank, textOf }
})
