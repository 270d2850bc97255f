// Neighbouring tool calls as one group: which calls belong together, and what they did in numbers. Pure.

yaa.define('core/call-groups', ['core/patch'], ({ parseJson }) => {
  /** Fewer calls are shown one by one. */
  const FEWEST = 3
  /** What the calls of a tool are counted as; any other tool is counted as a call. @type {Record<string, string>} */
  const KINDS = {
    read_file: 'read', list_files: 'listed', search_files: 'searched', glob: 'searched', grep: 'searched',
    write_file: 'changed', edit_file: 'changed', apply_patch: 'changed', shell: 'ran', bash: 'ran', python: 'ran',
    fetch_url: 'fetched', web_search: 'looked', plan_set: 'plan', plan_update: 'plan', calculator: 'computed',
  }
  /** The order in which they are told. */
  const ORDER = ['read', 'listed', 'searched', 'looked', 'fetched', 'computed', 'changed', 'ran', 'called', 'plan']
  /** Of these, files are counted and not calls. */
  const OF_FILES = new Set(['read', 'changed'])
  /** Stay in sight: an answer of the person, and what a person decided about. */
  const ALONE = new Set(['ask_user', 'finish'])

  /**
   * Which articles of a thread are one group of calls.
   * @param {readonly any[]} items of the thread, in order: {message, calls, cut, siblings}
   * @returns {{id: string, items: any[]}[]} with the id of the first message
   */
  function groupsOf(items) {
    /** @type {{id: string, items: any[]}[]} */ const groups = []
    /** @type {any[]} */ let run = []
    const end = () => {
      if (run.reduce((n, item) => n + item.calls.length, 0) >= FEWEST) groups.push({ id: run[0].message.id, items: run })
      run = []
    }
    for (const item of items) {
      if (!isSettled(item)) end()
      else {
        if (hasWords(item.message)) end()
        run.push(item)
      }
    }
    end()
    return groups
  }

  /** Has each of its calls come to an end that needs nobody? @param {any} item */
  function isSettled({ message, calls, cut, siblings }) {
    if (message.role !== 'assistant' || message.media?.length || message.open || cut || !calls.length || message.meta?.edited_from || siblings?.has(message.id)) return false
    return calls.every((/** @type {CallItem} */ { call, result, interrupt }) => (
      result && !interrupt && !ALONE.has(call.function.name) && !siblings?.has(result.id) && !isShown(result)
    ))
  }

  /** Does the result have pictures or sounds to look at? @param {any} result */
  function isShown({ result }) {
    const files = Array.isArray(result?.attachments) ? result.attachments : []
    return Boolean(result?.media?.length) || files.some((/** @type {any} */ one) => /^(?:image|audio|video)\//.test(one?.media_type ?? ''))
  }

  /** @param {Message} message */
  function hasWords({ content }) {
    return typeof content === 'string' ? Boolean(content.trim()) : Boolean(content?.length)
  }

  /**
   * What a group did. A call that was denied did nothing, and one that failed only counts where it ran a program.
   * @param {readonly any[]} items of a group
   * @returns {{counts: [kind: string, n: number][], failed: CallItem[], denied: number, ms: number}} `ms`: of models and tools, without waiting for a person
   */
  function summaryOf(items) {
    /** @type {Map<string, Set<string>>} */ const seen = new Map()
    /** @type {CallItem[]} */ const failed = []
    let [ms, denied, n] = [0, 0, 0]
    for (const { message, calls } of items) {
      let tools = 0
      for (const one of calls) {
        const name = one.call.function.name
        const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : 'called'
        const [stopped, wrong] = [one.entry?.state === 'denied' || one.entry?.state === 'skipped', hasFailed(one.result)]
        if (stopped) denied++
        else if (wrong) failed.push(one)
        if (!stopped && (!wrong || kind === 'ran')) {
          const known = seen.get(kind) ?? new Set()
          seen.set(kind, known.add((OF_FILES.has(kind) && pathOf(one)) || `#${n++}`))
        }
        tools = Math.max(tools, time(one.result?.result?.duration_ms))
      }
      ms += time(message.meta?.ms) + tools
    }
    return { counts: ORDER.flatMap((kind) => (seen.has(kind) ? [/** @type {[string, number]} */ ([kind, seen.get(kind)?.size ?? 0])] : [])), failed, denied, ms }
  }

  /** @param {any} value */
  const time = (value) => (Number.isFinite(value) && value > 0 ? value : 0)

  /** @param {CallItem} one @returns {string} "" where the arguments name no file */
  function pathOf({ call, entry }) {
    const paths = [entry?.args, parseJson(call.function.arguments, null)].map((args) => args?.path)
    return paths.find((path) => typeof path === 'string') ?? ''
  }

  /** An error, or a program that ended with anything but 0. @param {any} result the tool message */
  function hasFailed(result) {
    return Boolean(result?.is_error) || Boolean(exitOf(result))
  }

  /** @param {any} result the tool message @returns {number} 0 for what is no program, too */
  function exitOf(result) {
    const code = result?.result?.result?.exit_code
    return Number.isInteger(code) ? code : 0
  }

  return { groupsOf, summaryOf, hasFailed }
})
