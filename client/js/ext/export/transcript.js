// A session for people to read: as Markdown, or shortened to what was said. The document itself is never changed.

yaa.define('ext/export/transcript', ['core/session', 'core/search', 'core/sources'], (sessions, { textOf }, sources) => {
  /** Longer results are cut in a focused copy: their beginning and their end stay. */
  const LONG = 600
  const KEEP = 240

  /**
   * @param {Session} session
   * @param {{words: Record<'you' | 'assistant' | 'error' | 'thoughts' | 'result' | 'untitled' | 'image' | 'edited' | 'files', string>, tools?: boolean}} options
   *   `words`: the headings, in the language of the reader; `tools`: with calls and their results
   * What a person changed says so: words, arguments, results. What is cited is at the end, as footnotes.
   */
  function markdown(session, { words, tools = true }) {
    const parts = [`# ${oneLine(session.title || words.untitled)}`]
    if (session.start_time) parts.push(`*${session.start_time}*`)
    let before = ''
    for (const { message, calls } of sessions.items(session)) {
      const role = message.role
      if (role === 'system') continue
      const heading = role === 'user' ? words.you : role === 'error' ? words.error : words.assistant
      // an assistant that calls tools and goes on is one turn
      if (heading !== before) parts.push(`## ${heading}`)
      before = heading
      if (tools && message.reasoning?.text) parts.push(details(words.thoughts, message.reasoning.text.trim()))
      const text = contentOf(message.content, words.image)
      const { edited_from: from, edited_call: call } = message.meta ?? {}
      if (from && !call) parts.push(`*(${words.edited})*`)
      if (text) parts.push(text)
      if (Array.isArray(message.media) && message.media.length) parts.push(message.media.map((one) => `*(${oneLine(String(one?.name || words.image))})*`).join('\n\n'))
      if (tools) parts.push(...calls.map((one) => callOf(one, words, one.call.id === call)))
    }
    parts.push(...citedIn(session).map((one) => `[^${one.id}]: [${oneLine(one.title || one.host).replace(/[\\[\]<>*_`]/g, '\\$&')}](<${one.href}>)`))
    return `${parts.join('\n\n')}\n`
  }

  /** The sources that the assistant cites, in the order in which it does. @param {Session} session */
  function citedIn(session) {
    const said = session.messages.filter(({ role }) => role === 'assistant').map(({ content }) => textOf(content)).join('\n')
    const ids = new Set([...said.matchAll(/\[\^s\d+\.\d+\]/g)].map(([mark]) => sources.idOf(mark) ?? ''))
    return [...ids].map((id) => sources.find(session, id)).filter((one) => one !== null)
  }

  /** @param {any} content @param {string} image */
  function contentOf(content, image) {
    if (!Array.isArray(content)) return textOf(content).trim()
    return content.map((part) => (part?.type === 'image_url' ? `*(${image})*` : textOf([part]))).filter(Boolean).join('\n\n').trim()
  }

  /**
   * @param {CallItem} item @param {Record<string, string>} words @param {boolean} changed a person wrote other arguments
   */
  function callOf({ call, entry, result }, { result: title, edited, files }, changed) {
    const mark = (/** @type {any} */ is) => (is ? ` *(${edited})*` : '')
    const { name, arguments: args } = call.function
    const shown = `**${name}**${mark(changed || entry?.args)}\n\n${fenced(entry?.args ? JSON.stringify(entry.args, null, 2) : pretty(args), 'json')}`
    if (!result) return shown
    const note = result.meta?.edited_from ? ` (${edited})` : ''
    const named = [result.result?.attachments ?? []].flat().map((/** @type {any} */ one) => one?.path).filter((/** @type {any} */ one) => typeof one === 'string')
    const made = named.length ? `\n\n${files}: ${named.map((/** @type {string} */ path) => `\`${oneLine(path).replaceAll('`', "'")}\``).join(', ')}` : ''
    return `${shown}\n\n${details(`${title}${note}`, fenced(textOf(result.content)))}${made}`
  }

  /** @param {string} args */
  function pretty(args) {
    try {
      return JSON.stringify(JSON.parse(args), null, 2)
    } catch {
      return args
    }
  }

  /** A fence longer than any in the text. @param {string} text @param {string} [lang] */
  function fenced(text, lang = '') {
    const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length))
    const fence = '`'.repeat(longest + 1)
    return `${fence}${lang}\n${text.replace(/(?<!\n)\n+$/, '')}\n${fence}`
  }

  /** @param {string} summary @param {string} body */
  const details = (summary, body) => `<details><summary>${summary}</summary>\n\n${body}\n\n</details>`

  /** @param {string} text */
  const oneLine = (text) => text.replace(/\s+/g, ' ').trim()

  /**
   * A copy with what was said and little of the rest: no thoughts, no events, no branches that were set aside, and long
   * results cut in the middle. It says of itself that it was shortened.
   * @param {Session} session @param {(left: number) => string} note what stands for so many characters
   * @returns {Session}
   */
  function condense(session, note) {
    const copy = structuredClone(session)
    const cited = citedIn(session)
    for (const message of copy.messages) {
      delete message.reasoning
      if (message.role !== 'tool') continue
      const kept = cited.filter(({ id }) => Object.hasOwn(message.result?.sources ?? {}, id))
      delete message.result
      if (kept.length) message.result = resultOf(kept)
      message.content = shorten(textOf(message.content), note)
    }
    const { tags, pinned } = copy.ext ?? {}
    copy.ext = { ...(tags ? { tags } : {}), ...(pinned ? { pinned } : {}), focused: true }
    for (const name of ['context', 'run', 'environment']) delete copy[name]
    return copy
  }

  /** An envelope with nothing but what is cited. @param {Source[]} kept */
  const resultOf = (kept) => ({
    status: 'ok', sources: Object.fromEntries(kept.map(({ id }) => [id, `/${id}`])),
    result: Object.fromEntries(kept.map(({ id, href, title, text }) => [id, { url: href, title, text }])),
  })

  /** @param {string} text @param {(left: number) => string} note */
  function shorten(text, note) {
    if (text.length <= LONG) return text
    const [head, tail] = [text.slice(0, KEEP).replace(/[\ud800-\udbff]$/, ''), text.slice(-KEEP).replace(/^[\udc00-\udfff]/, '')]
    return `${head}\n${note(text.length - head.length - tail.length)}\n${tail}`
  }

  return { markdown, condense }
})
