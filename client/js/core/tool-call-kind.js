// Tells the kind of a tool call from its name, arguments and result, and parses the parts its picture needs. Results of the
// same form are shown the same way, whatever the tool. Nothing throws: what does not fit is `generic`.

yaa.define('core/tool-call-kind', ['core/diff', 'core/patch'], (diff, { isObject }) => {
  const NUMBERED = /^ {0,7}(\d+)\t/
  const HIT = /^(.+?):(\d+): ?(.*)$/s
  const AROUND = /^(.+?)-(\d+)- ?(.*)$/s
  /** What the server writes where it left something out of the middle (server/tools/result.py, builtin/shell.py). */
  const LEFT_OUT = /\n?… (\d+) (bytes|characters) left out …\n?/
  const MAX_COLUMNS = 12
  /** @type {DiffRow} */
  const GAP = { kind: 'gap', text: '' }

  /**
   * @param {{name?: string, args?: any, result?: any}} call
   * @returns {ToolKind}
   */
  function kindOf({ name = '', args, result }) {
    if (isObject(result)) {
      if ('exit_code' in result && ('output' in result || 'stdout' in result)) return 'shell'
      if (isText(result.diff)) return 'diff'
      if (isText(result.lines) && Number.isInteger(result.matches)) return 'search'
      if (Array.isArray(result.files) && result.files.every((one) => isText(one?.path))) return 'tree'
      if (isText(result.content) && parseNumberedLines(result.content)) return 'file'
      if (isText(result.text) && isText(args?.url)) return 'page'
      if (Array.isArray(result.results) && result.results.every((one) => isText(one?.url) && isText(one?.text))) return 'results'
    }
    const byArgs = kindOfArgs(name, args)
    if (byArgs) return byArgs
    return tableOf(result) ? 'table' : 'generic'
  }

  /** What is known before there is a result. @param {string} name @param {any} args @returns {ToolKind | null} */
  function kindOfArgs(name, args) {
    if (!isObject(args)) return null
    if (isText(args.path) && (isText(args.content) || isText(args.patch) || editsOf(args).length)) return 'diff'
    if (/^(?:shell|bash|sh|python|exec)$/.test(name) && (isText(args.command) || isText(args.code))) return 'shell'
    return null
  }

  /**
   * `     1\tfirst line` and so on, as read_file returns it.
   * @param {string} content @returns {{start: number, lines: string[]} | null}
   */
  function parseNumberedLines(content) {
    const lines = content.split('\n')
    const start = Number(NUMBERED.exec(lines[0])?.[1] ?? NaN)
    if (!(start >= 0)) return null
    if (!lines.every((line, i) => Number(NUMBERED.exec(line)?.[1]) === start + i)) return null
    return { start, lines: lines.map((line) => line.slice(line.indexOf('\t') + 1)) }
  }

  /** grep's way of writing: `file:12: text`, `file-13- text`, `--`. @param {string} text @returns {FoundFile[]} */
  function parseGrep(text) {
    /** @type {FoundFile[]} */
    const files = []
    let gap = false
    for (const line of text.split('\n')) {
      if (line === '--') gap = true
      const found = HIT.exec(line) ?? AROUND.exec(line)
      if (line === '--' || !found) continue
      const [, file, number, words] = found
      if (files.at(-1)?.file !== file) files.push({ file, lines: [] })
      files.at(-1)?.lines.push({ number: Number(number), text: words, hit: HIT.test(line), gap })
      gap = false
    }
    return files
  }

  /** Paths as a tree, in the order they came. @param {{path: string, type?: string, size?: number}[]} files @returns {TreeNode[]} */
  function treeOf(files) {
    /** @type {TreeNode} */
    const root = { name: '', type: 'folder', children: [] }
    for (const { path, type, size } of files) {
      const parts = path.split('/').filter(Boolean)
      let node = root
      parts.forEach((name, depth) => {
        const last = depth === parts.length - 1
        let next = node.children.find((child) => child.name === name)
        if (!next) {
          next = { name, type: last ? type ?? (path.endsWith('/') ? 'folder' : 'file') : 'folder', children: [] }
          if (last && size !== undefined) next.size = size
          node.children.push(next)
        }
        node = next
      })
    }
    return root.children
  }

  /**
   * An array of objects, or an object with such an array and nothing else that is large.
   * @param {any} value @returns {{columns: string[], rows: any[][], rest: Record<string, any>, name: string} | null}
   */
  function tableOf(value) {
    const lists = isObject(value) ? Object.entries(value).filter(([, one]) => isRows(one)) : []
    const [name, list] = isRows(value) ? ['', value] : lists.length === 1 ? lists[0] : ['', null]
    if (!list) return null
    const columns = [...new Set(list.flatMap((/** @type {any} */ row) => Object.keys(row)))]
    if (!columns.length || columns.length > MAX_COLUMNS) return null
    const rest = isRows(value) ? {} : Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
    if (Object.values(rest).some((one) => typeof one === 'object' && one !== null)) return null
    return { columns, rows: list.map((/** @type {any} */ row) => columns.map((column) => row[column])), rest, name }
  }

  /** @param {any} value */
  const isRows = (value) => Array.isArray(value) && value.length > 0 && value.every(isObject)

  /** A file as it was and as it is, as far as the call says. @param {any} args @param {any} result @returns {DiffRow[]} */
  function changeOf(args, result) {
    if (isText(result?.diff) && result.diff) return diff.parse(result.diff)
    if (isText(args?.patch)) return diff.parseLoose(args.patch)
    const edits = editsOf(args)
    if (edits.length) return edits.flatMap((one, i) => [...(i ? [GAP] : []), ...diff.rows(one.old, one.new)])
    return diff.rows('', isText(args?.content) ? args.content : '')
  }

  /** The replacements that a call asks for, in one of the two ways to write them. @param {any} args @returns {{old: string, new: string}[]} */
  function editsOf(args) {
    const edits = Array.isArray(args?.edits) && args.edits.length ? args.edits : [args]
    return edits.every((/** @type {any} */ one) => isText(one?.old) && isText(one?.new)) ? edits : []
  }

  /**
   * What a call returned, as it is shown: the text that the model read, where the result says less than that or only how it
   * came, as that of a skill and the content of an MCP server.
   * @param {any} result the tool message
   */
  function shownResult(result) {
    const value = result?.result ? result.result.result : result?.content
    const blocks = Array.isArray(value?.content) && value.content.length && value.content.every((/** @type {any} */ one) => isText(one?.type))
    const skill = isText(value?.skill) && isText(value?.hash)
    return (blocks || skill) && isText(result.content) && result.content ? result.content : value
  }

  /** An output with a hole in it. @param {string} text @returns {{head: string, left: number, unit: string, tail: string}} */
  function splitTruncated(text) {
    const hole = LEFT_OUT.exec(text)
    if (!hole) return { head: text, left: 0, unit: '', tail: '' }
    return { head: text.slice(0, hole.index), left: Number(hole[1]), unit: hole[2], tail: text.slice(hole.index + hole[0].length) }
  }

  /** The limit a call ran into, if it did. @param {any} envelope @returns {{limit: string, allowed: any, observed: any} | null} */
  function breachOf(envelope) {
    const details = envelope?.error?.details
    if (!isObject(details) || !isText(details.limit)) return null
    return { limit: details.limit, allowed: details.allowed, observed: details.observed }
  }

  /** @param {any} value @returns {value is string} */
  const isText = (value) => typeof value === 'string'

  return { kindOf, parseNumberedLines, parseGrep, treeOf, tableOf, changeOf, shownResult, splitTruncated, breachOf }
})
