// Resources and prompts of MCP servers: what the lists of a server come to, addresses made of templates, and the text that
// a prompt becomes. What servers say is a stranger's. Pure.

yaa.define('ext/mcp/offers', [], () => {
  const VARIABLE = /\{([+#./;?&]?)([^{}]*)\}/g
  const NAME = /^[\w.%-]{1,100}/

  /**
   * The resources and templates of all servers, as one list.
   * @param {any} answer of GET /mcp/resources @returns {{server: string, uri?: string, template?: string, name: string, type: string}[]}
   */
  function resources(answer) {
    return servers(answer).flatMap(({ name: server, resources, templates }) => [
      ...(resources ?? []).map((/** @type {any} */ one) => ({ server, uri: one.uri, name: one.title || one.name, type: one.mimeType ?? '' })),
      ...(templates ?? []).map((/** @type {any} */ one) => ({ server, template: one.uriTemplate, name: one.title || one.name, type: one.mimeType ?? '' })),
    ])
  }

  /**
   * @param {any} answer of GET /mcp/prompts
   * @returns {{server: string, name: string, title: string, word: string, arguments: {name: string, description?: string, required: boolean}[]}[]}
   */
  function prompts(answer) {
    return servers(answer).flatMap(({ name: server, prompts }) => (prompts ?? []).map((/** @type {any} */ one) => (
      { server, name: one.name, title: one.title || one.description || one.name, word: `${server}:${one.name}`.replace(/\s+/gu, '-'), arguments: one.arguments ?? [] }
    )))
  }

  /** @param {any} answer @returns {any[]} */
  const servers = (answer) => (Array.isArray(answer?.servers) ? answer.servers : [])

  /** The names in a template (RFC 6570). @param {string} template @returns {string[]} */
  function variables(template) {
    const all = [...template.matchAll(VARIABLE)].flatMap(([, , names]) => names.split(','))
    return [...new Set(all.map((name) => NAME.exec(name)?.[0] ?? '').filter(Boolean))]
  }

  /** The address that a template becomes. @param {string} template @param {Record<string, string>} values */
  function expand(template, values) {
    return template.replace(VARIABLE, (_, sign, names) => {
      const own = names.split(',').map((/** @type {string} */ name) => NAME.exec(name)?.[0] ?? '').filter((/** @type {string} */ name) => Object.hasOwn(values, name) && values[name])
      const named = sign === '?' || sign === '&' || sign === ';'
      const parts = own.map((/** @type {string} */ name) => {
        const value = sign === '+' || sign === '#' ? encodeURI(whole(values[name])) : encodeURIComponent(whole(values[name]))
        return named ? `${name}=${value}` : value
      })
      const between = sign === '?' || sign === '&' ? '&' : sign === '+' || sign === '#' || !sign ? ',' : sign
      return parts.length ? (sign === '+' ? '' : sign) + parts.join(between) : ''
    })
  }

  /** Without halves of pairs, of which no address can be made. @param {string} value */
  const whole = (value) => value.replace(/\p{Cs}/gu, '\ufffd')

  /**
   * The text of a prompt: who says what is told only where both speak.
   * @param {{role: string, text: string}[]} messages @param {(role: string) => string} label
   */
  function promptText(messages, label) {
    const both = messages.some(({ role }) => role === 'assistant')
    return messages.map(({ role, text }) => (both ? `${label(role)}\n${text}` : text)).join('\n\n')
  }

  return { resources, prompts, variables, expand, promptText }
})
