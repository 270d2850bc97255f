// Names of files: shown so that nothing in them is invisible or turns what stands beside them, found by some of their
// letters, and named in a message after an @. They come from a workspace, so any byte may be in them. Pure.

yaa.define('core/file-names', ['core/search'], ({ rank }) => {
  /** Control characters, halves of pairs (bytes that are no UTF-8), what has no width or turns the direction of text. */
  const HIDDEN = /\p{Cc}|\p{Cs}|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu
  /** Spaces that look like the usual one, and one at the edge of a name. */
  const SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|^ +| +$/gu
  /** An @ that begins a word, up to the caret. */
  const MENTION = /(?:^|[\s([{"'`，。、（「])@([^\s@]*)$/
  /** What is not an address: a path of this kind is written as it is. */
  const PLAIN = /^[^\s"'`()[\]{}]+$/
  /** @type {[FileKind, RegExp][]} */
  const KINDS = [
    ['image', /\.(?:png|jpe?g|gif|webp|avif|bmp|svg)$/i], ['pdf', /\.pdf$/i], ['csv', /\.(?:csv|tsv)$/i], ['markdown', /\.(?:md|markdown)$/i],
    ['other', /\.(?:zip|gz|tgz|bz2|xz|7z|rar|exe|dll|so|dylib|o|a|pyc|class|jar|wasm|mp[34]|m4a|ogg|opus|wav|flac|mov|mkv|webm|avi|sqlite3?|db|woff2?|ttf|otf|docx?|xlsx?|pptx?|od[stp]|bin|ico)$/i],
  ]
  /** What an <img> may hold: nothing in it runs or is loaded. @type {Record<string, string>} */
  const PICTURES = { png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', avif: 'image/avif', bmp: 'image/bmp', svg: 'image/svg+xml' }

  /** What programs make for themselves: caches, what is installed, the inside of a repository. */
  const JUNK = /(?:^|\/)(?:\.git|\.hg|\.svn|__pycache__|node_modules|\.venv|venv|\.tox|\.nox|\.cache|\.\w+_cache|\.DS_Store|Thumbs\.db)(?:\/|$)|\.py[co]$/

  /** Is it nothing that a person means by a file? @param {string} path */
  const isJunk = (path) => JUNK.test(path)

  /** @param {string} sign */
  const escaped = (sign) => [...sign].map((one) => `\\u{${one.codePointAt(0)?.toString(16)}}`).join('')

  /** A name as it may be shown: what cannot be seen is written as `\u{…}`. @param {string} name */
  const visible = (name) => name.replace(HIDDEN, escaped).replace(SPACES, escaped)

  /** Usual in a text: ends of lines, tabs, and what many emoji are made of. */
  const USUAL = /^[\n\r\t\u200d\ufe0f]$/

  /**
   * A text in parts: what cannot be seen in it is written as `\u{…}`, each in a part of its own.
   * @param {string} words @returns {{text: string, hidden: boolean}[]}
   */
  function hiddenParts(words) {
    /** @type {{text: string, hidden: boolean}[]} */ const parts = []
    let at = 0
    for (const { 0: sign, index } of words.matchAll(HIDDEN)) {
      if (USUAL.test(sign)) continue
      if (index > at) parts.push({ text: words.slice(at, index), hidden: false })
      parts.push({ text: escaped(sign), hidden: true })
      at = index + sign.length
    }
    if (at < words.length) parts.push({ text: words.slice(at), hidden: false })
    return parts
  }

  /** @param {string} path @returns {string} its last part */
  const baseName = (path) => path.split('/').at(-1) ?? ''

  /** @param {string} path @returns {string} the folder it is in, '' for the topmost */
  const folderOf = (path) => path.split('/').slice(0, -1).join('/')

  /** How a file is best looked at, by its name. @param {string} path @returns {FileKind} */
  const kindOf = (path) => KINDS.find(([, pattern]) => pattern.test(path))?.[0] ?? 'text'

  /** @param {string} path @returns {string} the media type of a picture, '' where it is none */
  const pictureType = (path) => PICTURES[path.split('.').at(-1)?.toLowerCase() ?? ''] ?? ''

  /** Are these bytes of a text? No zero byte is in their beginning, and they are UTF-8. @param {Uint8Array} bytes */
  function isText(bytes) {
    const start = bytes.subarray(0, 8192)
    if (start.includes(0)) return false
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true })
      return true
    } catch {
      return false
    }
  }

  /**
   * What is being named before the caret.
   * @param {string} text @param {number} caret @returns {{from: number, typed: string} | null} `from`: where the @ is
   */
  function mentionAt(text, caret) {
    const found = MENTION.exec(text.slice(Math.max(0, caret - 300), caret))
    return found ? { from: caret - found[1].length - 1, typed: found[1] } : null
  }

  /** A path as it is written into a message. @param {string} path */
  const mentionOf = (path) => (PLAIN.test(path) ? path : `\`${path.replaceAll('`', '')}\``)

  /**
   * The path of a file that an answer links to, '' where it is another kind of address. Models write `./plot.png`,
   * `sandbox:/mnt/data/plot.png` and whole paths, of which the known file at their end is meant.
   * @param {string} address @param {readonly string[]} [known] the paths of the session's files
   */
  function linkedPath(address, known = []) {
    const [, scheme, path] = /^(?:([a-z][a-z\d+.-]*):)?([^?#]*)/i.exec(address) ?? []
    if ((scheme && !/^(?:sandbox|file)$/i.test(scheme)) || /^www\./i.test(path) || path.startsWith('//') !== /^file$/i.test(scheme ?? '')) return ''
    let whole = path
    try { whole = decodeURIComponent(path) } catch { /* a % that is meant */ }
    const end = known.filter((one) => `/${whole}`.endsWith(`/${one}`)).sort((a, b) => b.length - a.length)[0]
    return end ?? whole.replace(/^\/*(?:mnt\/data\/)?(?:\.\/)*/, '')
  }

  /**
   * The paths that fit best what was typed; the last part of a path counts more.
   * @param {readonly string[]} paths @param {string} typed @param {number} most @returns {string[]}
   */
  function bestMatches(paths, typed, most) {
    return paths.map((path) => ({ path, score: Math.max(rank(baseName(path), typed) * 1.5, rank(path, typed)) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
      .slice(0, most).map(({ path }) => path)
  }

  return { isJunk, visible, hiddenParts, baseName, folderOf, kindOf, pictureType, isText, mentionAt, mentionOf, linkedPath, bestMatches }
})
