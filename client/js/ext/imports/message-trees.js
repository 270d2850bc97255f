// What other programs export, as sessions: the trees of messages they all keep, and ChatGPT's conversations.json, pi's
// JSONL, llama.cpp's conversations; further programs are in ext/imports/chat-apps. The path that was open is what was said,
// every other path is a branch. The rule of the file: what is not understood is left out; of a file that is not in the
// export there is the name.

yaa.define('ext/imports/message-trees', ['core/ids', 'core/patch', 'core/message-pieces'], ({ uuid }, { parseJson }, { assistantMessages, callOf, withFiles, arrayOf, textOf, at, atIso, isoOf }) => {
  const MAX_ID = 200
  /** What LibreChat and Claude.ai call the parent of a beginning. */
  const NOBODY = /^$|^0{8}-0{4}-[04]0{3}-[08]0{3}-0{12}$/
  /**
   * A place in the tree. `parent`: null, or an id of zeros, where it begins one; one that is not in the file is the place before.
   * @typedef {{id: any, parent: any, messages: any[]}} Said
   */

  // -- trees --

  /**
   * A session out of a tree.
   * @param {{id: any, title: any, start?: string}} head @param {Said[]} all in the order of the file @param {any} [last] where the open path ends
   */
  function sessionFromTree({ id, title, start }, all, last) {
    const nodes = new Map(all.filter((one) => typeof one.id === 'string').map((one) => [one.id, one]))
    linked([...nodes.values()], nodes)
    const open = new Set(pathTo(nodes, nodes.has(last) ? last : [...nodes.keys()].at(-1)))
    const order = ordered(nodes)
    const heirs = heirsIn(order, open)
    const writer = new Writer()
    /** @type {any[]} */ const branches = []
    /** @type {Map<Said, {list: any[], at: string, calls: any[]}>} */ const ends = new Map()
    /** @type {any[]} */ const main = []
    for (const { node, parent } of order) {
      const before = parent && ends.get(parent)
      const goesOn = before && heirs.get(parent) === node
      const list = open.has(node) ? main : goesOn ? before.list : []
      const place = { list, at: before?.at ?? '', calls: before?.calls ?? [] }
      if (list !== main && !goesOn) branches.push({ id: `branch_${branches.length}`, at: place.at, messages: list, state: {}, calls: {} })
      ends.set(node, writer.write(place, node, !heirs.has(node)))
    }
    const found = branches.filter((branch) => branch.messages.length)
    const began = start ?? isoOf([...main, ...found.flatMap((branch) => branch.messages)].find((one) => one.at)?.at)
    return { id: textOf(id) || uuid(), title, version: 1, ...(began ? { start_time: began } : {}), messages: main, ...(found.length ? { ext: { tree: { branches: found } } } : {}) }
  }

  /** A parent that is not in the file is the one before. @param {Said[]} all @param {Map<string, Said>} nodes */
  function linked(all, nodes) {
    all.forEach((node, i) => {
      const begins = node.parent === null || (typeof node.parent === 'string' && NOBODY.test(node.parent))
      if (!nodes.has(node.parent)) node.parent = begins || !i ? undefined : all[i - 1].id
    })
  }

  /** @param {Map<string, Said>} nodes @param {string | undefined} last @returns {Said[]} */
  function pathTo(nodes, last) {
    /** @type {Set<Said>} */ const path = new Set()
    for (let node = nodes.get(last ?? ''); node && !path.has(node); node = nodes.get(node.parent)) path.add(node)
    return [...path].reverse()
  }

  /** Parents before children; where parents go round in a circle, it is cut. @param {Map<string, Said>} nodes */
  function ordered(nodes) {
    /** @type {Map<Said | undefined, Said[]>} */ const children = new Map()
    for (const node of nodes.values()) {
      const parent = nodes.get(node.parent)
      const known = children.get(parent)
      if (known) known.push(node)
      else children.set(parent, [node])
    }
    /** @type {{node: Said, parent: Said | undefined}[]} */ const found = []
    const seen = new Set()
    for (const first of [...children.get(undefined) ?? [], ...nodes.values()]) {
      const stack = [{ node: first, parent: /** @type {Said | undefined} */ (undefined) }]
      for (let next = stack.pop(); next; next = stack.pop()) {
        const { node } = next
        if (seen.has(node)) continue
        seen.add(node)
        found.push(next)
        for (const child of (children.get(node) ?? []).toReversed()) stack.push({ node: child, parent: node })
      }
    }
    return found
  }

  /**
   * Which child goes on in the same list: on the open path the one that is on it, elsewhere the one with most behind it,
   * so that branches of branches are never deep.
   * @param {{node: Said, parent: Said | undefined}[]} order @param {Set<Said>} open
   */
  function heirsIn(order, open) {
    /** @type {Map<Said, number>} */ const sizes = new Map()
    /** @type {Map<Said, Said>} */ const heirs = new Map()
    for (const { node, parent } of order.toReversed()) {
      const size = (sizes.get(node) ?? 0) + 1
      sizes.set(node, size)
      if (!parent) continue
      sizes.set(parent, (sizes.get(parent) ?? 0) + size)
      const heir = heirs.get(parent)
      if (open.has(parent) ? open.has(node) : !heir || size > /** @type {number} */ (sizes.get(heir))) heirs.set(parent, node)
    }
    return heirs
  }

  /** Gives every message and call an id of its own, and every call its result. */
  class Writer {
    ids = new Set()
    calls = new Set()

    /** @param {{list: any[], at: string, calls: any[]}} place @param {Said} node @param {boolean} last nothing follows */
    write({ list, at: behind, calls }, node, last) {
      let open = calls
      /** @param {any} message */
      const add = (message) => {
        message.id = this.fresh(this.ids, message.id ?? node.id)
        list.push(message)
        behind = message.id
      }
      /** A call nobody answered says so. */
      const close = () => {
        for (const { call } of open) add({ id: node.id, role: 'tool', tool_call_id: call.id, name: call.function.name, content: '' })
        open = []
      }
      for (const message of node.messages) {
        if (message.role === 'tool') {
          const { tool_call_id: wanted } = message
          const answered = open.find(({ said }) => said === wanted) ?? (wanted ? undefined : open[0])
          open = open.filter((one) => one !== answered)
          const before = list.at(-1)
          if (answered) add({ ...message, tool_call_id: answered.call.id, name: answered.call.function.name })
          else if (!wanted && before?.role === 'tool') before.content = [before.content, message.content].filter(Boolean).join('\n')
          continue
        }
        close()
        add(message)
        open = (message.tool_calls ?? []).map((/** @type {any} */ call) => {
          const said = call.id
          call.id = this.fresh(this.calls, typeof said === 'string' && said ? said : `call_${message.id}`)
          return { said, call }
        })
      }
      const end = { list, at: behind, calls: open }
      if (last) close()
      return end
    }

    /** @param {Set<string>} taken @param {any} wanted @returns {string} */
    fresh(taken, wanted) {
      const name = typeof wanted === 'string' ? wanted : ''
      const id = name && name.length <= MAX_ID && !taken.has(name) ? name : `${name.slice(0, MAX_ID)}_${taken.size}`
      return taken.has(id) ? this.fresh(taken, `${id}_`) : (taken.add(id), id)
    }
  }

  // -- ChatGPT --

  /** What ChatGPT tells its model about the person. */
  const HIDDEN = new Set(['model_editable_context', 'user_editable_context'])
  /** Where a source is named, for ChatGPT's own page. */
  const MARK = /\ue200[^\ue200\ue201]*\ue201/g

  /** @param {any} conversation */
  function chatgpt({ mapping, current_node: last, create_time: began, id, conversation_id: other, title }) {
    const all = Object.entries(mapping).map(([key, node]) => ({ id: key, parent: node?.parent ?? null, messages: turnOf(node?.message) }))
    return sessionFromTree({ id: id ?? other, title, start: isoOf(began * 1000) }, all, last)
  }

  /** @param {any} message @returns {any[]} */
  function turnOf(message) {
    const role = message?.author?.role
    const { content_type: type } = message?.content ?? {}
    if (!message || message.metadata?.is_visually_hidden_from_conversation || HIDDEN.has(type)) return []
    const base = { id: message.id, role, ...at(message.create_time) }
    const text = cited(saidIn(message.content), message.metadata)
    if (role === 'tool') return [{ ...base, content: text }]
    if (role === 'assistant' && typeof message.recipient === 'string' && message.recipient !== 'all') {
      return [{ ...base, content: '', tool_calls: [callOf(undefined, message.recipient, { input: text })] }]
    }
    if (role !== 'user' && role !== 'assistant') return []
    if (type === 'thoughts') return [{ ...base, content: '', reasoning: { field: 'reasoning_content', text } }]
    const files = type === 'multimodal_text' ? [] : arrayOf(message.metadata?.attachments)
    return text || files.length ? [{ ...base, content: withFiles(text, files) }] : []
  }

  /** @param {any} content @returns {string} */
  function saidIn(content) {
    if (typeof content === 'string') return content
    if (!content || typeof content !== 'object') return ''
    const { thoughts, parts } = content
    if (Array.isArray(thoughts)) return thoughts.map((one) => one?.content ?? one?.summary ?? '').join('\n\n')
    if (Array.isArray(parts)) return parts.map(partOf).filter(Boolean).join('\n')
    return String(content.text ?? content.result ?? '')
  }

  /** @param {any} part of a picture or a recording there is only the name */
  const partOf = (part) => (typeof part === 'string' ? part : part?.text ?? (part?.content_type ? `[${part.content_type}]` : ''))

  /** Sources by their addresses. @param {string} text @param {any} metadata */
  function cited(text, metadata) {
    if (!text.includes('\ue200')) return text
    const links = new Map(arrayOf(metadata?.content_references).map((one) => [one.matched_text, textOf(one.alt)]))
    return text.replace(MARK, (mark) => links.get(mark) ?? '')
  }

  // -- pi --

  /** @param {any[]} lines a line of JSON each; the first is the session */
  function pi([head, ...rest]) {
    const all = rest.filter((one) => one && typeof one === 'object').map((one, i) => (
      { id: one.id ?? `line_${i}`, parent: one.parentId, messages: one.type === 'message' ? piMessage(one.message, one.id) : [] }
    ))
    const title = rest.findLast((one) => one?.type === 'session_info')?.name
    return sessionFromTree({ id: head.id, title, start: textOf(head.timestamp) || undefined }, all)
  }

  /** @param {any} message @param {string | undefined} id @returns {any[]} */
  function piMessage(message, id) {
    const parts = typeof message?.content === 'string' ? [{ type: 'text', text: message.content }] : arrayOf(message?.content)
    const of = (/** @type {string} */ type) => parts.filter((/** @type {any} */ part) => part.type === type)
    const text = of('text').map((/** @type {any} */ part) => textOf(part.text)).join('\n')
    const base = { ...(id ? { id } : {}), ...at(typeof message?.timestamp === 'number' ? message.timestamp / 1000 : undefined) }
    if (message?.role === 'toolResult') {
      const { toolCallId: tool_call_id, isError } = message
      return [{ ...base, role: 'tool', tool_call_id, content: text, ...(isError ? { is_error: true } : {}) }]
    }
    if (message?.role === 'user') {
      const images = of('image').map(({ mimeType, data }) => ({ name: 'image', url: `data:${mimeType};base64,${data}` }))
      return [{ ...base, role: 'user', content: withFiles(text, images) }]
    }
    if (message?.role !== 'assistant') return []
    const thought = of('thinking').map((/** @type {any} */ part) => textOf(part.thinking)).join('\n')
    const calls = of('toolCall').map((/** @type {any} */ part) => callOf(part.id, part.name, part.arguments))
    const reasoning = thought ? { reasoning: { field: 'reasoning_content', text: thought } } : {}
    return [{ ...base, role: 'assistant', content: text, ...reasoning, ...(calls.length ? { tool_calls: calls } : {}) }]
  }

  // -- llama.cpp --

  /** One JSONL of several conversations, each with a line of its own before its messages. @param {any[]} lines */
  function llamaLines(lines) {
    /** @type {{conv: any, messages: any[]}[]} */ const found = []
    for (const line of lines) {
      if (line?.type === 'session') found.push({ conv: line, messages: [] })
      else if (line?.type === 'message') found.at(-1)?.messages.push(line.message)
    }
    return found
  }

  /** @param {any} one {conv, messages} */
  function llama({ conv, messages }) {
    const all = arrayOf(messages).map((message) => ({ id: String(message.id), parent: message.parent && String(message.parent), messages: llamaMessage(message) }))
    return sessionFromTree({ id: conv.id, title: conv.name }, all, String(conv.currNode))
  }

  /** @param {any} message @returns {any[]} */
  function llamaMessage(message) {
    const { role, type, timestamp, extra, toolCallId, toolCalls } = message
    const text = textOf(message.content)
    const base = { id: String(message.id), role, ...at(typeof timestamp === 'number' ? timestamp / 1000 : undefined) }
    if (type === 'root') return []
    if (role === 'tool') return [{ ...base, tool_call_id: toolCallId, content: text }]
    if (role === 'assistant') {
      const calls = arrayOf(parseJson(toolCalls))
      const thought = textOf(message.reasoningContent) || textOf(message.thinking)
      const asked = calls.map((call) => ({ call: callOf(call.id, call.function?.name, call.function?.arguments) }))
      return assistantMessages([{ thought, text }, ...asked], base)
    }
    const files = arrayOf(extra).map(({ name, content: words, base64Url }) => ({ name, text: words, url: base64Url }))
    return role === 'user' || (role === 'system' && text) ? [{ ...base, content: withFiles(text, files) }] : []
  }

  return { sessionFromTree, chatgpt, pi, llama, llamaLines }
})
