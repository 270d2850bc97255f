// What messages from elsewhere are made of: texts, times, calls and files, as a session has them. What is not understood is
// left out.

yaa.define('core/message-pieces', ['core/attachments'], ({ filePart, imagePart, content }) => {
  /** Where a model's thoughts stand before its words. */
  const THOUGHT = /^\s*(?:<think>([^]*?)<\/think>|:::thinking\n([^]*?)\n:::)\s*/

  /** @param {any} value @returns {any[]} */
  const arrayOf = (value) => (Array.isArray(value) ? value.filter((one) => one && typeof one === 'object') : [])

  /** @param {any} value @returns {string} */
  const textOf = (value) => (typeof value === 'string' ? value : typeof value?.value === 'string' ? value.value : '')

  /** @param {unknown} seconds */
  const at = (seconds) => (typeof seconds === 'number' && Number.isFinite(seconds) ? { at: Math.round(seconds * 1000) } : {})

  /** @param {any} time ISO 8601 */
  const atIso = (time) => at(typeof time === 'string' ? Date.parse(time) / 1000 : undefined)

  /** @param {unknown} ms */
  const isoOf = (ms) => (typeof ms === 'number' && Number.isFinite(ms) && Math.abs(ms) < 8e15 ? new Date(ms).toISOString() : undefined)

  /**
   * What an assistant thought, said and did, piece by piece, as messages: what follows a result begins a new one.
   * @param {{thought?: string, text?: string, call?: any, result?: any}[]} pieces @param {any} base
   */
  function assistantMessages(pieces, base) {
    /** @type {any[]} */ const messages = []
    /** @type {any} */ let now = null
    for (const { thought, text, call, result } of pieces) {
      if (result) {
        messages.push({ ...base, role: 'tool', ...result })
        now = null
        continue
      }
      if (!thought && !text && !call) continue
      if (!now || (now.tool_calls && !call) || (thought && now.content)) messages.push(now = { ...base, role: 'assistant', content: '' })
      if (thought) now.reasoning = { field: 'reasoning_content', text: [now.reasoning?.text, thought].filter(Boolean).join('\n\n') }
      if (text) now.content = [now.content, text].filter(Boolean).join('\n\n')
      if (call) now.tool_calls = [...now.tool_calls ?? [], call]
    }
    for (const message of messages) if (message.role === 'assistant') Object.assign(message, parted(message))
    return messages
  }

  /** Thoughts that were written before the words. @param {any} message */
  function parted({ content: text, reasoning }) {
    const found = !reasoning && THOUGHT.exec(text)
    const thought = found ? (found[1] ?? found[2]).trim() : ''
    return found ? { content: text.slice(found[0].length), ...(thought ? { reasoning: { field: 'reasoning_content', text: thought } } : {}) } : {}
  }

  /** @param {any} id @param {any} name @param {any} args */
  function callOf(id, name, args) {
    const plain = String(textOf(name) || 'tool').replace(/[^\w-]/g, '_').slice(0, 64)
    return { id, type: 'function', function: { name: plain, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) } }
  }

  /** Words and what went along. @param {string} words @param {any[]} files `name`, with `text` or `url` where they are in the export */
  function withFiles(words, files) {
    return content(words, files.map(({ name, text, url }) => {
      if (typeof text === 'string' && text) return filePart(textOf(name), text)
      return typeof url === 'string' && url.startsWith('data:image/') ? imagePart(url) : { type: 'text', text: `[${textOf(name) || 'file'}]` }
    }))
  }

  return { assistantMessages, callOf, withFiles, arrayOf, textOf, at, atIso, isoOf }
})
