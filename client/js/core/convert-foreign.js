// What other programs export, as sessions: ChatGPT's conversations.json, pi's JSONL, llama.cpp's conversations. All of
// them are trees; the path that was open comes along. The rule of the file: what is not understood is left out.

yaa.define('core/convert-foreign', [], () => {
  /**
   * The path from the root to a node.
   * @template T @param {Map<string, T>} nodes @param {string | undefined} last @param {(node: T) => string | undefined} parentOf
   * @returns {T[]}
   */
  function pathTo(nodes, last, parentOf) {
    /** @type {T[]} */ const path = []
    const seen = new Set()
    for (let id = last; id !== undefined && !seen.has(id); ) {
      seen.add(id)
      const node = nodes.get(id)
      if (!node) break
      path.unshift(node)
      id = parentOf(node)
    }
    return path
  }

  /** @param {unknown} seconds */
  const at = (seconds) => (typeof seconds === 'number' && Number.isFinite(seconds) ? { at: Math.round(seconds * 1000) } : {})

  /** @param {unknown} ms */
  const isoOf = (ms) => (typeof ms === 'number' && Number.isFinite(ms) && Math.abs(ms) < 8e15 ? new Date(ms).toISOString() : undefined)

  /** What ChatGPT tells its model about the person. */
  const HIDDEN = new Set(['model_editable_context', 'user_editable_context'])

  // -- ChatGPT ------------------------------------------------------------------------------------

  /** @param {any} conversation */
  function chatgpt(conversation) {
    const nodes = new Map(Object.entries(conversation?.mapping ?? {}))
    const last = conversation.current_node ?? [...nodes.keys()].at(-1)
    const path = pathTo(nodes, last, (node) => node?.parent ?? undefined)
    /** @type {any[]} */ const messages = []
    path.forEach((node, i) => turnOf(node?.message, i, messages))
    const start_time = isoOf(conversation.create_time * 1000)
    const id = conversation.id ?? conversation.conversation_id
    return { id, title: conversation.title, ...(start_time ? { start_time } : {}), messages: answered(messages) }
  }

  /** @param {any} message @param {number} index @param {any[]} messages */
  function turnOf(message, index, messages) {
    const role = message?.author?.role
    const { content_type: type } = message?.content ?? {}
    if (!message || message.metadata?.is_visually_hidden_from_conversation || HIDDEN.has(type)) return
    const text = textOf(message.content)
    const base = { id: message.id, ...at(message.create_time) }
    if (role === 'tool') {
      const open = messages.findLast((one) => one.tool_calls)?.tool_calls.at(-1)
      if (open && !messages.some((one) => one.tool_call_id === open.id)) messages.push({ ...base, ...resultOf(open, text) })
    } else if (role === 'assistant' && typeof message.recipient === 'string' && message.recipient !== 'all') {
      const called = { name: message.recipient.replace(/[^\w-]/g, '_'), arguments: JSON.stringify({ input: text }) }
      const call = { id: `call_${index}_${message.id}`.slice(0, 64), type: 'function', function: called }
      messages.push({ ...base, role, content: '', tool_calls: [call] })
    } else if ((role === 'user' || role === 'assistant') && type === 'thoughts') {
      messages.push({ ...base, role, content: '', reasoning: { field: 'reasoning_content', text } })
    } else if ((role === 'user' || role === 'assistant') && text) messages.push({ ...base, role, content: text })
  }

  /** @param {any} content @returns {string} */
  function textOf(content) {
    if (typeof content === 'string') return content
    if (!content || typeof content !== 'object') return ''
    const { thoughts, parts } = content
    if (Array.isArray(thoughts)) return thoughts.map((one) => one?.content ?? one?.summary ?? '').join('\n\n')
    if (Array.isArray(parts)) return parts.map(partOf).filter(Boolean).join('\n')
    return String(content.text ?? content.result ?? '')
  }

  /** @param {any} part of a picture or a recording there is only the name */
  const partOf = (part) => (typeof part === 'string' ? part : part?.text ?? (part?.content_type ? `[${part.content_type}]` : ''))

  /** @param {any} call @param {string} content */
  const resultOf = (call, content) => ({ role: 'tool', tool_call_id: call.id, name: call.function.name, content })

  /** A call nobody answered says so. @param {any[]} messages */
  function answered(messages) {
    const done = new Set(messages.map((message) => message.tool_call_id))
    return messages.flatMap((message) => {
      const open = (message.tool_calls ?? []).filter((/** @type {any} */ call) => !done.has(call.id))
      return [message, ...open.map((/** @type {any} */ call) => resultOf(call, ''))]
    })
  }

  // -- pi -----------------------------------------------------------------------------------------

  /** @param {any[]} lines a line of JSON each; the first is the session */
  function pi(lines) {
    const [head, ...rest] = lines
    const entries = new Map(rest.filter((one) => typeof one?.id === 'string').map((one) => [one.id, one]))
    const path = entries.size ? pathTo(entries, [...entries.keys()].at(-1), (one) => one.parentId ?? undefined) : rest
    const title = rest.findLast((one) => one?.type === 'session_info')?.name
    const messages = path.filter((one) => one?.type === 'message').flatMap((one) => piMessage(one.message, one.id))
    const start = head.timestamp ? { start_time: head.timestamp } : {}
    return { id: head.id, ...(title ? { title } : {}), ...start, messages: answered(messages) }
  }

  /** @param {any} message @param {string | undefined} id @returns {any[]} */
  function piMessage(message, id) {
    const content = message?.content
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : []
    const of = (/** @type {string} */ type) => parts.filter((/** @type {any} */ part) => part?.type === type)
    const text = of('text').map((/** @type {any} */ part) => part.text ?? '').join('\n')
    const base = { ...(id ? { id } : {}), ...(typeof message?.timestamp === 'number' ? { at: message.timestamp } : {}) }
    if (message?.role === 'toolResult') {
      const { toolCallId: id, toolName: name, isError } = message
      return [{ ...base, role: 'tool', tool_call_id: id, name, content: text, ...(isError ? { is_error: true } : {}) }]
    }
    if (message?.role === 'user') {
      const images = of('image').map((/** @type {any} */ part) => (
        { type: 'image_url', image_url: { url: `data:${part.mimeType};base64,${part.data}` } }
      ))
      return [{ ...base, role: 'user', content: images.length ? [{ type: 'text', text }, ...images] : text }]
    }
    if (message?.role !== 'assistant') return []
    const thought = of('thinking').map((/** @type {any} */ part) => part.thinking ?? '').join('\n')
    const calls = of('toolCall').map((/** @type {any} */ part) => (
      { id: part.id, type: 'function', function: { name: part.name, arguments: JSON.stringify(part.arguments ?? {}) } }
    ))
    const reasoning = thought ? { reasoning: { field: 'reasoning_content', text: thought } } : {}
    return [{ ...base, role: 'assistant', content: text, ...reasoning, ...(calls.length ? { tool_calls: calls } : {}) }]
  }

  // -- llama.cpp ----------------------------------------------------------------------------------

  /** @param {any} one {conv, messages} */
  function llama(one) {
    const nodes = new Map((one?.messages ?? []).map((/** @type {any} */ message) => [message?.id, message]))
    const path = pathTo(nodes, one.conv.currNode ?? [...nodes.keys()].at(-1), (node) => node?.parent ?? undefined)
    const said = path.filter((node) => node?.type !== 'root' && node?.content !== undefined && node?.role !== undefined)
    const messages = said.map((node) => ({
      id: String(node.id), role: node.role, content: node.content, ...(typeof node.timestamp === 'number' ? { at: node.timestamp } : {}),
      ...(node.reasoningContent ? { reasoning: { field: 'reasoning_content', text: String(node.reasoningContent) } } : {}),
    }))
    return { id: one.conv.id, title: one.conv.name, messages: answered(messages) }
  }

  return { chatgpt, pi, llama }
})
