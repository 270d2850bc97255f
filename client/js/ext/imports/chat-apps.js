// What more programs export, as sessions: Claude.ai's conversations.json, the chats of Open WebUI, the conversations of
// LibreChat and of LM Studio. What they have in common is in ext/imports/message-trees.

yaa.define('ext/imports/chat-apps', ['core/patch', 'core/message-pieces', 'ext/imports/message-trees'], ({ parseJson }, { assistantMessages, callOf, withFiles, arrayOf, textOf, at, atIso, isoOf }, { sessionFromTree }) => {
  const ENTITY = /&(?:quot|amp|lt|gt|#39|#x27);/g
  const SIGNS = new Map([['&quot;', '"'], ['&amp;', '&'], ['&lt;', '<'], ['&gt;', '>'], ['&#39;', "'"], ['&#x27;', "'"]])

  /** The texts of parts, one below the other. @param {any} content @returns {string} */
  function wordsOf(content) {
    if (!Array.isArray(content)) return textOf(content)
    return content.map((part) => textOf(part) || textOf(part?.text) || (part?.type ? `[${part.type}]` : '')).filter(Boolean).join('\n')
  }

  /** @param {any} id @param {any} content @param {any} [failed] */
  const resultOf = (id, content, failed) => ({ result: { tool_call_id: id ?? undefined, content, ...(failed === true ? { is_error: true } : {}) } })

  // -- Claude.ai --

  /** @param {any} conversation */
  function claude({ uuid, name, created_at: began, chat_messages: said, current_leaf_message_uuid: last }) {
    const all = arrayOf(said).map((message, i) => ({ id: message.uuid ?? `m${i}`, parent: message.parent_message_uuid, messages: claudeMessage(message) }))
    return sessionFromTree({ id: uuid, title: name, start: textOf(began) || undefined }, all, last)
  }

  /** @param {any} message */
  function claudeMessage(message) {
    const base = { id: message.uuid, ...atIso(message.created_at) }
    const blocks = arrayOf(message.content)
    const files = [...arrayOf(message.attachments), ...arrayOf(message.files)].map((file) => (
      { name: file.file_name || 'attachment.txt', text: file.extracted_content }
    ))
    const words = blocks.filter(({ type }) => type === 'text').map(({ text }) => textOf(text)).filter(Boolean).join('\n\n') || textOf(message.text)
    if (message.sender === 'human') return words || files.length ? [{ ...base, role: 'user', content: withFiles(words, files) }] : []
    const messages = assistantMessages(blocks.map(claudePiece), base)
    return messages.length ? messages : assistantMessages([{ text: words }], base)
  }

  /** @param {any} block @returns {any} */
  function claudePiece(block) {
    switch (block.type) {
      case 'text': return { text: textOf(block.text) }
      case 'thinking': return { thought: textOf(block.thinking) }
      case 'tool_use': return { call: callOf(block.id, block.name, block.input) }
      case 'tool_result': return resultOf(block.tool_use_id, wordsOf(block.content), block.is_error)
      default: return {}
    }
  }

  // -- Open WebUI --

  /** @param {any} one a chat, in what the list of chats keeps of it or without */
  function openWebUi(one) {
    const { chat = one } = one
    const nodes = chat.history?.messages ?? {}
    const ids = Object.keys(nodes)
    const said = ids.length ? ids.map((id) => ({ ...nodes[id], id })) : arrayOf(chat.messages)
    const all = said.map((message, i) => ({ id: message.id ?? `m${i}`, parent: message.parentId, messages: openWebUiMessage(message) }))
    const start = isoOf((one.created_at ?? chat.created_at) * 1000)
    return sessionFromTree({ id: one.id ?? chat.id, title: textOf(one.title) || chat.title, start }, all, chat.history?.currentId)
  }

  /** @param {any} message */
  function openWebUiMessage(message) {
    const base = { id: message.id, ...at(message.timestamp) }
    const words = textOf(message.content)
    if (message.role === 'assistant') {
      const output = assistantMessages(arrayOf(message.output).flatMap(outputPiece), base)
      return output.length ? output : assistantMessages([{ thought: textOf(message.reasoning_content) }, ...detailsIn(words)], base)
    }
    const files = arrayOf(message.files).map(({ name, url, file }) => (
      { name: name ?? file?.filename ?? 'image', text: file?.data?.content, url: textOf(url) }
    ))
    return words || files.length ? [{ ...base, role: message.role === 'system' ? 'system' : 'user', content: withFiles(words, files) }] : []
  }

  /** An item of the Responses API. @param {any} item @returns {any[]} */
  function outputPiece(item) {
    switch (item.type) {
      case 'reasoning': return [{ thought: wordsOf(item.content) || wordsOf(item.summary) }]
      case 'message': return [{ text: wordsOf(item.content) }]
      case 'function_call': return [{ call: callOf(item.call_id ?? item.id, item.name, item.arguments) }]
      case 'function_call_output': return [resultOf(item.call_id, wordsOf(item.output))]
      default: return []
    }
  }

  /** Thoughts and calls that are written into the text, as `<details type="…">`. @param {string} text */
  function detailsIn(text) {
    /** @type {any[]} */ const pieces = []
    let behind = 0
    for (;;) {
      const from = text.indexOf('<details type="', behind)
      const to = from < 0 ? -1 : text.indexOf('</details>', from)
      if (to < 0) break
      const made = detailsPiece(text.slice(from, to))
      pieces.push({ text: text.slice(behind, made ? from : to + 10).trim() }, ...made ?? [])
      behind = to + 10
    }
    return [...pieces, { text: text.slice(behind).trim() }]
  }

  /** @param {string} source without its end @returns {any[] | null} */
  function detailsPiece(source) {
    const [head, type, more] = /^<details type="(\w+)"([^>]*)>\s*(?:<summary>[^<]*<\/summary>)?/.exec(source) ?? ['', '', '']
    const body = plain(source.slice(head.length)).trim()
    if (type === 'reasoning') return [{ thought: body.replace(/^> ?/gm, '') }]
    if (type !== 'tool_calls') return null
    const said = Object.fromEntries([...more.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, plain(value)]))
    const [args, result] = [parseJson(said.arguments), parseJson(said.result ?? body)]
    return [{ call: callOf(said.id, said.name, args) }, resultOf(said.id, typeof result === 'string' ? result : JSON.stringify(result))]
  }

  /** @param {string} text */
  const plain = (text) => text.replace(ENTITY, (sign) => SIGNS.get(sign) ?? sign)

  // -- LibreChat --

  /** @param {any} conversation its messages in a list, or each with its `children` */
  function libreChat({ conversationId, title, messages, messagesTree }) {
    /** @type {{id: any, parent: any, messages: any[]}[]} */ const all = []
    const stack = arrayOf(messages ?? messagesTree).map((message) => ({ message, parent: message.parentMessageId })).reverse()
    for (let next = stack.pop(); next; next = stack.pop()) {
      const { message, parent } = next
      const id = message.messageId ?? `m${all.length}`
      all.push({ id, parent, messages: libreChatMessage(message) })
      for (const child of arrayOf(message.children).reverse()) stack.push({ message: child, parent: id })
    }
    return sessionFromTree({ id: conversationId, title }, all)
  }

  /** @param {any} message */
  function libreChatMessage(message) {
    const base = { id: message.messageId, ...atIso(message.createdAt) }
    const parts = arrayOf(message.content)
    const text = textOf(message.text) || (message.isCreatedByUser ? wordsOf(parts) : '')
    if (message.error === true) return [{ ...base, role: 'error', content: text || wordsOf(parts) }]
    if (!message.isCreatedByUser) return assistantMessages(parts.length ? parts.flatMap(libreChatPiece) : [{ text }], base)
    const files = [...arrayOf(message.files), ...arrayOf(message.attachments)].map(({ filename, text: words }) => ({ name: filename, text: words }))
    return text || files.length ? [{ ...base, role: 'user', content: withFiles(text, files) }] : []
  }

  /** @param {any} part @returns {any[]} */
  function libreChatPiece(part) {
    if (part.type === 'text') return [{ text: textOf(part.text) }]
    if (part.type === 'think') return [{ thought: textOf(part.think) }]
    if (part.type === 'error') return [{ text: textOf(part.error) || textOf(part.text) }]
    const call = part.tool_call
    if (part.type !== 'tool_call' || !call) return part.type ? [{ text: `[${textOf(part.type)}]` }] : []
    const { name, arguments: args, output } = call.function ?? {}
    const result = call.output ?? output
    const made = { call: callOf(call.id, call.name ?? name, call.args ?? args) }
    return [made, ...(result === undefined || result === null ? [] : [resultOf(call.id, wordsOf(result))])]
  }

  // -- LM Studio --

  /** @param {any} conversation messages in versions, of which one was gone on from */
  function lmStudio({ name, createdAt, systemPrompt, messages }) {
    /** @type {{id: any, parent: any, messages: any[]}[]} */ const all = []
    /** @type {string | null} */ let parent = null
    if (textOf(systemPrompt)) all.push({ id: parent = 'system', parent: null, messages: [{ role: 'system', content: systemPrompt }] })
    arrayOf(messages).forEach(({ versions, currentlySelected }, i) => {
      const behind = parent
      arrayOf(versions).forEach((version, n) => {
        const id = `m${i}_${n}`
        all.push({ id, parent: behind, messages: lmStudioMessage(version) })
        if (n === currentlySelected || parent === behind) parent = id
      })
    })
    const start = isoOf(createdAt)
    return sessionFromTree({ id: start && `lm-studio-${createdAt}`, title: name, start }, all, parent)
  }

  /** @param {any} version */
  function lmStudioMessage({ role, content, steps }) {
    const parts = arrayOf(content)
    if (role === 'assistant') return assistantMessages(steps ? arrayOf(steps).flatMap(lmStudioPieces) : [{ text: wordsOf(parts) }], {})
    const files = parts.filter(({ type }) => type === 'file').map(({ fileIdentifier: name }) => ({ name }))
    const words = wordsOf(parts.filter(({ type }) => type !== 'file'))
    return words || files.length ? [{ role: role === 'system' ? 'system' : 'user', content: withFiles(words, files) }] : []
  }

  /** @param {any} step @returns {any[]} */
  function lmStudioPieces({ content, style }) {
    return arrayOf(content).map((part) => {
      const id = textOf(part.toolCallRequestId) || (part.callId === undefined ? undefined : String(part.callId))
      if (part.type === 'toolCallRequest') return { call: callOf(id, part.name, part.parameters ?? part.arguments) }
      if (part.type === 'toolCallResult') return resultOf(id, wordsOf(part.content))
      return style?.type === 'thinking' ? { thought: textOf(part.text) } : { text: textOf(part.text) }
    })
  }

  return { claude, openWebUi, libreChat, lmStudio }
})
