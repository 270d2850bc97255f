// What is striking about a call before it is allowed: deletion, the network, places outside of the workspace, signs that
// cannot be seen. A mark is a hint: a text without one may do the same in another way. Pure.

yaa.define('core/call-marks', [], () => {
  /** As much of a text as is looked at. */
  const MOST = 200_000
  /** Tools of the server that run programs; paths are only looked for in what they run and in named paths. */
  const RUNS = new Set(['command', 'cmd', 'code', 'script'])
  const PATHS = new Set(['path', 'file', 'folder', 'cwd', 'target', 'destination'])
  const DELETES = /(?<![\w./-])(?:rm|rmdir|unlink|shred|mkfs(?:\.\w+)?|truncate|git\s+clean|git\s+reset\s+--hard|git\s+push\s+(?:-f|--force)|drop\s+(?:table|database)|delete\s+from)(?=\s|$)|\s-delete\b|\b(?:rmtree|os\.remove|os\.unlink|os\.rmdir)\b|\.unlink\(|\bdd\s[^\n]{0,200}\bof=/i
  const NETWORK = /(?<![\w./-])(?:curl|wget|ssh|scp|rsync|sftp|nc|ncat|telnet|git\s+(?:clone|push|pull|fetch)|(?:pip3?|npm|npx|pnpm|yarn|cargo|gem|go)\s+(?:install|add|get|i))(?![\w-])|\b(?:requests\.\w+|urllib|urlopen|http\.client|socket\.\w+|fetch)\s?\(|\b(?:import|from)\s+(?:requests|urllib|socket|httpx|aiohttp)\b|\bhttps?:\/\/[^\s'"]/i
  const OUTSIDE = /(?<![\w:/.<-])(?:~(?:\/[^\s'";|&)]*|(?=[\s'";|&)]|$))|\/(?!workspace(?:\/|\b)|skills(?:\/|\b)|tmp(?:\/|\b)|dev\/(?:null|stdout|stderr|stdin)\b|\/|\*|>|[\s'"]|$)[A-Za-z][\w.-]*(?:\/[^\s'";|&)]*)?|[A-Za-z]:\\[^\s'"]*)|(?:\/\.\.){2}|(?<![\w./])\.\.(?:\/[^\s'";|&)]*|(?=[\s'";|&)]|$))|\$\{?HOME\b/
  /** Controls, and what has no width or turns the direction of text, but for what emoji are made of. */
  const INVISIBLE = /(?![\t\n\r])\p{Cc}|(?<![\p{ExtPict}\p{EMod}\ufe0f])\u200d|(?![\u200d\ufe0f])\p{DI}|\p{Cs}|[\u2028\u2029\ufff9-\ufffb]/gu

  /**
   * @param {any} args of a call
   * @returns {{kind: 'deletes' | 'network' | 'outside' | 'invisible', what: string}[]} `what`: the words that say so, or how many signs
   */
  function marksOf(args) {
    /** @type {Map<string, string>} */ const found = new Map()
    let invisible = 0
    for (const [key, value] of textsOf(args)) {
      const text = value.slice(0, MOST)
      invisible += text.match(INVISIBLE)?.length ?? 0
      if (RUNS.has(key)) for (const [kind, sign] of /** @type {const} */ ([['deletes', DELETES], ['network', NETWORK], ['outside', OUTSIDE]])) keep(found, kind, sign.exec(text)?.[0])
      if (PATHS.has(key)) keep(found, 'outside', OUTSIDE.exec(text)?.[0])
      if (key === 'url') keep(found, 'network', text)
    }
    if (invisible) found.set('invisible', String(invisible))
    return /** @type {any} */ ([...found].map(([kind, what]) => ({ kind, what })))
  }

  /** @param {Map<string, string>} found @param {string} kind @param {string | undefined} what */
  function keep(found, kind, what) {
    if (what !== undefined && !found.has(kind)) found.set(kind, what.trim().slice(0, 80))
  }

  /** Every text in it with the name it has, names as well. @param {any} value @param {string} [key] @param {number} [depth] @returns {Generator<[string, string]>} */
  function* textsOf(value, key = '', depth = 0) {
    if (typeof value === 'string') yield [key, value]
    else if (typeof value === 'object' && value !== null && depth < 20) {
      for (const [name, one] of Object.entries(value)) {
        if (!Array.isArray(value)) yield ['', name]
        yield* textsOf(one, Array.isArray(value) ? key : name, depth + 1)
      }
    }
  }

  return { marksOf }
})
