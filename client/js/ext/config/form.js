// The settings of a session as fields: what the JSON Schema of `session.config` (GET /info, config_schema) says of each
// key, in the order in which a person most often wants them, and what typing into one of them changes. Pure.

yaa.define('ext/config/form', ['core/patch', 'core/session-defaults'], ({ parsePointer, put, isObject }, { isOwn }) => {
  /** Groups by the beginnings of their pointers; the first that fits has the key. The rest of a section is one of its own. */
  const GROUPS = /** @type {const} */ ([
    ['model', [
      '/llm_api/provider/name', '/llm_api/provider/api_url', '/llm_api/provider/api_key', '/llm_api/provider/model_name', '/llm_api/model_settings/use_custom_temp',
      '/llm_api/model_settings/temperature', '/yaa/language',
    ]],
    ['time', ['/llm_api/retry', '/llm_api/request_timeout', '/llm_api/first_byte_timeout', '/llm_api/idle_timeout', '/llm_api/interval']],
    ['limits', ['/limits']],
    ['context', ['/context', '/yaa/max_context']],
    ['answer', ['/yaa']],
    ['prompt', ['/prompt']],
    ['tool', ['/tool']],
    ['more', ['/llm_api']],
  ])
  const OTHERS = 'others'
  /** What belongs to a provider of the session's own: never together with the name of one of the server's. */
  const OWN = ['api_url', 'api_key', 'preset', 'api']
  const PLACEHOLDER = /(?<!\{)\{([a-z_]+)\}(?!\})/g
  /** Settings of the page that an export holds beside those of sessions. */
  const KEPT = ['agent', 'character', 'tools', 'language', 'theme', 'hue', 'size', 'density', 'keys', 'expiry']
  const RULES = ['allow', 'ask', 'deny']
  const FORMAT = 'yaa.settings'

  /** @param {any} schema @returns {string[]} */
  const typesOf = (schema) => [schema?.type ?? []].flat()

  /** @param {any} schema @param {string[]} parts @returns {any} */
  const at = (schema, parts) => parts.reduce((inner, name) => inner?.properties?.[name], schema)

  /**
   * Every key that is edited as one. A newer server may have more; what the schema leaves open is one field of JSON.
   * @param {any} schema @returns {ConfigField[]}
   */
  function fields(schema) {
    const pointers = new Set([...(Array.isArray(schema?.['x-order']) ? schema['x-order'] : []), ...leaves(schema, '')])
    return [...pointers].flatMap((pointer) => {
      const parts = parsePointer(pointer) ?? []
      const found = at(schema, parts)
      if (!isObject(found) || found.readOnly) return []
      const rest = Boolean(found.properties)
      return [{ pointer, parts, schema: found, rest, kind: rest ? 'json' : kindOf(found, parts), none: !rest && typesOf(found).includes('null'), group: groupOf(pointer) }]
    })
  }

  /** @param {any} schema @param {string} here @returns {string[]} */
  function leaves(schema, here) {
    return Object.entries(schema?.properties ?? {}).flatMap(([name, inner]) => {
      const pointer = `${here}/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`
      if (!isObject(inner?.properties)) return [pointer]
      return [...leaves(inner, pointer), ...(inner.additionalProperties === true ? [pointer] : [])]
    })
  }

  /** @param {string} pointer */
  const groupOf = (pointer) => GROUPS.find(([, heads]) => heads.some((head) => pointer === head || pointer.startsWith(`${head}/`)))?.[0] ?? OTHERS

  /** @param {any} schema @param {string[]} parts @returns {ConfigField['kind']} */
  function kindOf(schema, parts) {
    const types = typesOf(schema).filter((type) => type !== 'null')
    if (Array.isArray(schema.enum)) return 'choice'
    if (schema.format === 'password') return 'secret'
    if (types.length !== 1) return 'json'
    if (types[0] === 'string') return parts[0] === 'prompt' ? 'template' : 'text'
    if (types[0] === 'boolean') return 'flag'
    if (types[0] === 'number' || types[0] === 'integer') return 'number'
    return types[0] === 'array' && schema.items?.type === 'string' ? 'lines' : 'json'
  }

  /** The fields by group, in order. @param {any} schema @returns {{name: string, fields: ConfigField[]}[]} */
  function groups(schema) {
    const all = fields(schema)
    return [...GROUPS.map(([name]) => name), OTHERS]
      .map((name) => ({ name, fields: all.filter((field) => field.group === name) })).filter((group) => group.fields.length)
  }

  /** @param {any} config @param {ConfigField} field @returns {any} undefined where it says nothing */
  function read(config, { parts, rest, schema }) {
    const value = parts.reduce((inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), config)
    if (!rest) return value
    const more = Object.entries(isObject(value) ? value : {}).filter(([name]) => !Object.hasOwn(schema.properties, name))
    return more.length ? Object.fromEntries(more) : undefined
  }

  /**
   * The same config with another value at this field, and what follows from that.
   * @param {any} config @param {ConfigField} field @param {any} value undefined: it says nothing @returns {any}
   */
  function change(config, field, value) {
    const { parts, rest, schema, pointer } = field
    const next = structuredClone(config ?? {})
    if (rest) {
      const known = Object.entries(read(next, { ...field, rest: false }) ?? {}).filter(([name]) => Object.hasOwn(schema.properties, name))
      set(next, parts, { ...Object.fromEntries(known), ...value })
    } else set(next, parts, value)
    const provider = next.llm_api?.provider
    if (parts[1] === 'provider' && OWN.includes(parts[2]) && isOwn(provider)) provider.name = 'auto'
    if (pointer === '/llm_api/provider/name' && value && value !== 'auto') for (const name of OWN) delete provider[name]
    // without it no temperature is sent
    if (pointer.endsWith('/model_settings/temperature')) set(next, [...parts.slice(0, -1), 'use_custom_temp'], value === undefined ? undefined : true)
    return next
  }

  /** @param {any} config @param {string[]} parts @param {any} value */
  function set(config, parts, value) {
    let inner = config
    for (const name of parts.slice(0, -1)) {
      if (!Object.hasOwn(inner, name) || !isObject(inner[name])) {
        if (value === undefined) return
        put(inner, name, {})
      }
      inner = inner[name]
    }
    const last = /** @type {string} */ (parts.at(-1))
    if (value === undefined) delete inner[last]
    else put(inner, last, value)
  }

  /** Without objects that hold nothing. @param {any} value @returns {any} */
  function prune(value) {
    if (!isObject(value)) return value
    const kept = Object.entries(value).map(([name, one]) => [name, prune(one)]).filter(([, one]) => one !== undefined && !(isObject(one) && !Object.keys(one).length))
    return Object.fromEntries(kept)
  }

  /**
   * What was typed, as a value of the field's kind; of a choice its number.
   * @param {string} raw @param {ConfigField} field @returns {{value?: any, problem?: string, facts?: any}} `problem`: key of a text
   */
  function parse(raw, { schema, kind }) {
    const text = raw.trim()
    if (!text) return {}
    if (kind === 'template') return { value: raw }
    if (kind === 'flag') return { value: text === 'true' }
    if (kind === 'choice') return { value: schema.enum[Number(text)] }
    if (kind === 'number') return number(text, schema)
    if (kind === 'lines') {
      const lines = [...new Set(text.split('\n').map((line) => line.trim()).filter(Boolean))]
      /** @type {string[] | undefined} */ const known = schema.items?.enum
      const wrong = known && lines.find((line) => !known.includes(line))
      return wrong ? { problem: 'config.unknown', facts: { name: wrong, known: known.join(', ') } } : { value: lines }
    }
    if (kind !== 'json') return { value: text }
    try {
      const value = JSON.parse(text)
      const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
      const types = typesOf(schema)
      return types.length && !types.includes(type) ? { problem: 'config.type', facts: { types: types.join(', ') } } : { value }
    } catch (error) {
      return { problem: 'ask.notJson', facts: { detail: /** @type {Error} */ (error).message } }
    }
  }

  /** @param {string} text @param {any} schema @returns {{value?: number, problem?: string, facts?: any}} */
  function number(text, schema) {
    const value = Number(text.replace(/^([+-]?\d+),(\d+)$/, '$1.$2'))
    const { minimum, maximum } = schema
    if (!Number.isFinite(value)) return { problem: 'form.number' }
    if (!typesOf(schema).includes('number') && !Number.isInteger(value)) return { problem: 'form.integer' }
    if (minimum !== undefined && value < minimum) return { problem: 'form.min', facts: { n: minimum } }
    if (maximum !== undefined && value > maximum) return { problem: 'form.max', facts: { n: maximum } }
    return { value }
  }

  /** A value as it is typed. @param {any} value @param {ConfigField} field */
  function formatValue(value, { kind }) {
    if (value === undefined || value === null) return ''
    if (kind === 'json') return JSON.stringify(value, null, 2)
    if (kind === 'lines' && Array.isArray(value)) return value.join('\n')
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  }

  /**
   * A template with its placeholders filled in: in one pass, as the server does it.
   * @param {string} template @param {string[]} known placeholders @param {Record<string, string>} facts
   * @returns {{text: string, unknown: string[]}} what is known, but not before a run, is put in ⟨⟩
   */
  function preview(template, known, facts) {
    /** @type {Set<string>} */ const unknown = new Set()
    const text = template.replace(PLACEHOLDER, (whole, name) => {
      if (known.includes(name)) return facts[name] || `⟨${name}⟩`
      unknown.add(whole)
      return whole
    })
    return { text, unknown: [...unknown] }
  }

  // -- files --

  /** @param {Record<string, any>} values of the page @param {any} config for new sessions @param {any[]} prompts @returns {any} no key of a provider */
  function settingsFile(values, config, prompts) {
    const copy = structuredClone(config)
    delete copy.llm_api?.provider?.api_key
    const page = Object.fromEntries(KEPT.filter((name) => values[name] !== undefined && values[name] !== '').map((name) => [name, values[name]]))
    return { format: FORMAT, version: 1, config: prune(copy), page, prompts: prompts.map(({ name, text }) => ({ name, text })) }
  }

  /**
   * A file of settings, as far as it is one. What sends words elsewhere or allows a tool is told apart: a file may be anybody's.
   * @param {any} value @returns {{config: any, page: Record<string, any>, prompts: any[], risks: {provider: any, allowed: string[], tool: any, prompt: any}} | null}
   */
  function readSettingsFile(value) {
    if (!isObject(value) || value.format !== FORMAT) return null
    const config = withoutRedacted(isObject(value.config) ? structuredClone(value.config) : {})
    const page = Object.fromEntries(KEPT.filter((name) => fits(name, value.page?.[name])).map((name) => [name, structuredClone(value.page[name])]))
    const provider = isOwn(config.llm_api?.provider) ? config.llm_api.provider : null
    if (provider) delete config.llm_api.provider
    if (provider) delete provider.api_key // a key belongs to who typed it
    const { tool = null, prompt = null, agent: _, ...rest } = config
    const allowed = Object.entries(page.tools ?? {}).filter(([, rule]) => rule === 'allow').map(([name]) => name)
    if (page.tools) page.tools = Object.fromEntries(Object.entries(page.tools).filter(([name, rule]) => !allowed.includes(name) && RULES.includes(rule)))
    return { config: rest, page, prompts: Array.isArray(value.prompts) ? value.prompts : [], risks: { provider, allowed, tool, prompt } }
  }

  /** @param {string} name @param {any} value */
  function fits(name, value) {
    if (name === 'tools') return isObject(value)
    if (name === 'expiry') return isObject(value) && Object.values(value).every((days) => Number.isInteger(days) && Number(days) >= 1)
    return typeof value === 'string'
  }

  /** What was blacked out is nothing to go by. @param {any} value @returns {any} */
  function withoutRedacted(value) {
    if (Array.isArray(value)) return value.map(withoutRedacted)
    if (!isObject(value)) return value
    const kept = Object.entries(value).filter(([, one]) => !(typeof one === 'string' && one.includes('[redacted ')))
    return Object.fromEntries(kept.map(([name, one]) => [name, withoutRedacted(one)]))
  }

  return { fields, groups, read, change, prune, parse, formatValue, preview, settingsFile, readSettingsFile }
})
