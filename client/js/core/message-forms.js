// Messages in the forms of APIs and libraries, as messages of a session: Chat Completions of any year, items of the
// Responses API, parts of the AI SDK (what `useChat` keeps, and what it sends), blocks of the Messages API. One table
// says what a part is; what a session has no part for becomes its text, or `[type]`, and is counted.

yaa.define('core/message-forms', ['core/ids', 'core/patch', 'core/message-pieces'], ({ id: newId }, { isObject, parseJson }, { assistantMessages, callOf, arrayOf, textOf, atIso }) => {
  /** Roles as a session has them, and as others write them (server/session/schema.py, ROLE_ALIASES). */
  const ROLES = new Map([
    ...['system', 'user', 'assistant', 'tool', 'error'].map((role) => /** @type {const} */ ([role, role])),
    ['agent', 'assistant'], ['智能体', 'assistant'], ['大模型', 'assistant'], ['ai', 'assistant'], ['model', 'assistant'],
    ['human', 'user'], ['用户', 'user'], ['developer', 'system'], ['系统', 'system'], ['工具', 'tool'], ['错误', 'error'],
    ['function', 'tool'], // Chat Completions of 2023
  ])
  /** Status words of the same kind (STATUS_ALIASES). */
  const STATUSES = new Map([
    ['in-progress', 'in_progress'], ['进行中', 'in_progress'], ['已中断', 'interrupted'], ['已完成', 'completed'], ['失败', 'failed'], ['已失败', 'failed'],
  ])
  /** Parts that a session keeps as they are. */
  const KEPT = new Set(['text', 'image_url', 'input_audio', 'file', 'video_url'])
  /** Parts that say nothing: where a step begins, and names of sources whose text is beside them. */
  const SILENT = new Set(['step-start', 'item_reference'])
  const ITEMS = new Set(['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'reasoning'])

  /** @typedef {{thought?: string, text?: string, call?: any, result?: any, part?: any, unknown?: boolean}} Piece */

  /** @param {any} value a text, parts, what the AI SDK wraps as {type, value}, or any JSON @returns {string} */
  function wordsOf(value) {
    if (typeof value === 'string') return value
    if (value === null || value === undefined) return ''
    if (Array.isArray(value)) return value.map((part) => (isObject(part) ? textOf(part.text) || textOf(part.summary) || (part.type ? `[${part.type}]` : JSON.stringify(part)) : wordsOf(part))).join('\n')
    if (isObject(value) && 'value' in value && typeof value.type === 'string') return wordsOf(value.value)
    return JSON.stringify(value)
  }

  /** @param {any} id @param {any} output @param {boolean} [failed] @returns {Piece} */
  const resultOf = (id, output, failed) => ({ result: { ...(typeof id === 'string' ? { tool_call_id: id } : {}), content: wordsOf(output), ...(failed ? { is_error: true } : {}) } })

  /** What a part is. @param {any} part @returns {Piece[]} */
  function piecesOf(part) {
    if (typeof part === 'string') return [{ text: part }]
    const { type } = part
    if (type === 'image' || type === 'input_image' || type === 'file') return [filePiece(part)]
    if (KEPT.has(type) && type !== 'text') return [{ part }]
    const id = part.toolCallId ?? part.call_id ?? part.tool_use_id ?? part.id
    switch (type) {
      case 'text': case 'input_text': case 'output_text': return [{ text: textOf(part.text) }]
      case 'refusal': return [{ text: textOf(part.refusal) }]
      case 'reasoning': case 'thinking': return [{ thought: textOf(part.text) || textOf(part.thinking) || wordsOf(part.summary) || wordsOf(part.content) }]
      case 'redacted_thinking': return []
      case 'function_call': case 'custom_tool_call': case 'tool-call': case 'tool_call': case 'tool_use': {
        const { name, toolName, input, args, arguments: written } = { ...part, ...part.function, ...parseJson(part.value) }
        return [{ call: callOf(id, name ?? toolName, input ?? args ?? written) }]
      }
      case 'function_call_output': case 'custom_tool_call_output': case 'tool-result': case 'tool_result':
        return [resultOf(id, part.output ?? part.result ?? part.content, part.is_error === true || part.isError === true || /^error/.test(part.output?.type))]
      default: return otherPieces(part, id)
    }
  }

  /** @param {any} part @param {any} id @returns {Piece[]} */
  function otherPieces(part, id) {
    const { type, state } = part
    if (type === 'tool-invocation') return invocation({ ...part.toolInvocation, id: part.toolInvocation?.toolCallId })
    if (type === 'dynamic-tool' || (type.startsWith('tool-') && id !== undefined && state !== undefined)) {
      return invocation({ toolName: type.slice(5), ...part, id, ...(type === 'dynamic-tool' ? { toolName: part.toolName } : {}) })
    }
    if (SILENT.has(type)) return []
    return [{ text: textOf(part.text) || textOf(part.content) || `[${type.slice(0, 60)}]`, unknown: true }]
  }

  /** A call with what came of it, as the AI SDK keeps both in one part. @param {any} part @returns {Piece[]} */
  function invocation({ id, toolName, input, args, output, result, errorText }) {
    const [answer, failed] = errorText === undefined ? [output ?? result, false] : [errorText, true]
    const call = { call: callOf(id, toolName, input ?? args) }
    return answer === undefined ? [call] : [call, resultOf(id, answer, failed)]
  }

  /** A picture as a session has it, of other files the name. @param {any} part @returns {Piece} */
  function filePiece(part) {
    if (part.type === 'file' && isObject(part.file)) return { part }
    const { source = {}, mediaType, mimeType } = part
    const kind = textOf(mediaType) || textOf(mimeType) || textOf(source.media_type) || (part.type === 'file' ? '' : 'image/png')
    const where = [part.url, part.image_url?.url, part.image_url, part.image, part.data, source.url, source.data].find((one) => typeof one === 'string') ?? ''
    const url = !where || /^(?:data:|https?:)/.test(where) ? where : `data:${kind};base64,${where}`
    if (url && kind.startsWith('image/')) return { part: { type: 'image_url', image_url: { url } } }
    return { text: `[${textOf(part.filename) || textOf(part.name) || kind || part.type}]`, unknown: true }
  }

  /** Whether a value is a message of one of the forms. @param {any} one */
  const isMessage = (one) => isObject(one) && (ROLES.has(one.role) || isItem(one))

  /** An item of the Responses API without a role. @param {any} one */
  const isItem = (one) => isObject(one) && one.role === undefined && ITEMS.has(one.type)

  /** @param {any} part */
  const isKept = (part) => typeof part === 'string' || (part.type === 'file' ? isObject(part.file) : KEPT.has(part.type))

  /**
   * The messages of a list, each call with an id and each result with that of its call.
   * @param {any[]} list @returns {{messages: any[], left: number, parts: number}} `left`: how many are no messages; `parts`: of how many parts there is only the name
   */
  function messagesIn(list) {
    /** @type {any[]} */ const messages = []
    /** @type {any[]} */ let items = []
    let [left, parts] = [0, 0]
    const made = (/** @type {{messages: any[], parts: number}} */ found) => {
      messages.push(...found.messages)
      parts += found.parts
    }
    for (const raw of [...list, null]) {
      if (isItem(raw)) {
        items.push(raw)
        continue
      }
      if (items.length) made(answers(items.flatMap(piecesOf), {})) // calls made together are one message
      items = []
      if (isMessage(raw)) made(messagesOf(raw))
      else left += 1
    }
    pair(messages)
    return { messages, left: left - 1, parts }
  }

  /** @param {any} raw with a role */
  function messagesOf({ parts, function_call: asked, ...raw }) {
    const own = raw.content ?? null
    const list = arrayOrNull(own === null ? parts : own)?.filter((part) => typeof part === 'string' || typeof part?.type === 'string')
    const called = isObject(asked) && textOf(asked.name) ? [callOf(undefined, asked.name, asked.arguments)] : []
    const message = {
      ...raw, role: ROLES.get(raw.role), ...(own === null || parts === undefined ? {} : { parts }), ...(called.length || asked === undefined ? {} : { function_call: asked }),
      ...(called.length ? { tool_calls: [...arrayOf(raw.tool_calls), ...called] } : {}),
    }
    if (!list || (own !== null && list.every(isKept))) return { messages: [message], parts: 0 }
    const pieces = list.flatMap(piecesOf)
    return message.role === 'assistant' ? answers(pieces, message) : others(pieces, message)
  }

  /** What an assistant said and did. @param {Piece[]} pieces @param {any} message what stands beside them */
  function answers(pieces, message) {
    const words = pieces.map((piece) => (piece.part ? { text: `[${piece.part.type}]`, unknown: true } : piece))
    const messages = assistantMessages(words, 'at' in message ? { at: message.at } : atIso(message.createdAt))
    const first = messages.find(({ role }) => role === 'assistant')
    if (!first && (message.role || !messages.length)) messages.unshift({ ...message, role: 'assistant', content: '' })
    else if (first) {
      const calls = [...first.tool_calls ?? [], ...arrayOf(message.tool_calls)]
      Object.assign(first, { ...message, ...first }, calls.length ? { tool_calls: calls } : {})
    }
    return { messages, parts: words.filter(({ unknown }) => unknown).length }
  }

  /** What others said: results first, as they answer what stands before. @param {Piece[]} pieces @param {any} message */
  function others(pieces, message) {
    const results = pieces.flatMap(({ result }) => (result ? [{ ...message, ...result, role: 'tool' }] : []))
    const content = pieces.flatMap(({ text, part }) => (part ? [part] : text ? [{ type: 'text', text }] : []))
    const said = content.length || !results.length ? [{ ...message, content: content.length === 1 && content[0].type === 'text' ? content[0].text : content }] : []
    return { messages: [...results, ...(message.role === 'tool' && results.length ? [] : said)], parts: pieces.filter(({ unknown }) => unknown).length }
  }

  /** Give ids to calls that have none, and their results; a result goes by its tool's name, else by its place. @param {any[]} messages */
  function pair(messages) {
    /** @type {any[]} */ let open = []
    for (const message of messages) {
      if (message.role === 'tool') {
        const name = message.tool_name ?? message.name
        const call = typeof message.tool_call_id === 'string' ? open.find(({ id }) => id === message.tool_call_id) : open.find((one) => one.function.name === name) ?? open[0]
        if (call) message.tool_call_id = call.id
        open = open.filter((one) => one !== call)
      } else {
        open = message.role === 'assistant' ? arrayOf(message.tool_calls).filter((call) => typeof call.function?.name === 'string') : []
        for (const call of open) if (typeof call.id !== 'string' || !call.id) call.id = newId('call')
      }
    }
  }

  /** @param {any} value @returns {any[] | undefined} */
  const arrayOrNull = (value) => (Array.isArray(value) ? value : undefined)

  return { STATUSES, isMessage, messagesIn }
})
