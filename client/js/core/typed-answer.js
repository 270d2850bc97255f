// What typed text does while a run waits for a person: a pure decision, so that it can be said before Enter is pressed.

yaa.define('core/typed-answer', ['core/session'], ({ openInterrupts }) => {
  const YES = new Set([
    'y', 'yes', 'yes please', 'yep', 'yeah', 'yup', 'ok', 'okay', 'sure', 'fine', 'allow', 'allow it', 'approve', 'approved', 'accept', 'agreed',
    'go', 'go ahead', 'go on', 'continue', 'proceed', 'do it', 'please do', 'sounds good', 'lgtm', '👍',
    '好', '好的', '好吧', '好啊', '可以', '行', '是', '是的', '对', '对的', '嗯', '允许', '同意', '批准', '没问题', '继续',
  ])
  const NO = new Set(['n', 'no', 'nope', 'never', '不', '不是', '不行', '不要', '不可以', '不对', '否', '没有'])

  /** The questions that hold a call, which another message would withdraw. @param {Session} session */
  const asked = (session) => openInterrupts(session).filter((one) => one.call_id !== undefined)

  /** Is it nothing but one of these words? @param {Set<string>} all @param {string} words */
  const isOneOf = (all, words) => all.has(words.normalize('NFKC').toLowerCase().replace(/[\s.,!。,！~]+$/u, '').replace(/\s+/g, ' ').trim())

  /**
   * The one field of a question, if it has no more: its key, or '' where the payload itself is the value.
   * @param {any} schema @returns {{key: string, field: any} | null}
   */
  function loneField(schema) {
    if (!schema) return { key: '', field: { type: 'string' } }
    const entries = Object.entries(schema.properties ?? {})
    if (schema.type !== 'object') return schema.type ? { key: '', field: schema } : null
    const [key, field] = entries[0] ?? []
    return entries.length === 1 && key && field ? { key, field } : null
  }

  /**
   * Allow or deny the call, answer the question, or wait until that is done. `key` is refused as an answer: it is that
   * of the person's server.
   * @param {Interrupt} interrupt @param {string} words
   * @param {{files?: boolean, early?: boolean, key?: string}} [about] early: written before the question was there
   * @returns {TypedAnswer}
   */
  function decide({ reason, response_schema: schema }, words, { files = false, early = false, key = '' } = {}) {
    if (early) return { kind: 'later', why: 'early' }
    if (reason !== 'tool_call' && reason !== 'input_required') return { kind: 'later', why: 'card' }
    if (files) return { kind: 'later', why: 'files' }
    if (reason === 'input_required') return key && words.includes(key) ? { kind: 'stays', why: 'key' } : answered(loneField(schema), words)
    if (!words) return { kind: 'later', why: 'tool_call' }
    return isOneOf(YES, words) ? { kind: 'allow', payload: { approved: true, remember: 'once' } } : { kind: 'deny', payload: { approved: false, reason: words } }
  }

  /** @param {{key: string, field: any} | null} only @param {string} words @returns {TypedAnswer} */
  function answered(only, words) {
    if (!only) return { kind: 'later', why: 'card' }
    const { key, field } = only
    if (!Array.isArray(field.enum) && !['string', 'number', 'integer', 'boolean'].includes(field.type)) return { kind: 'later', why: 'card' }
    const value = read(field, words)
    if (value !== undefined) return { kind: 'answer', payload: key ? { [key]: value } : value }
    return Array.isArray(field.enum) ? { kind: 'later', why: 'choice', choices: field.enum.map(String) } : { kind: 'later', why: field.type === 'boolean' ? 'yesno' : 'number' }
  }

  /** The value of a field, undefined where the words are none. @param {any} field @param {string} words */
  function read(field, words) {
    if (Array.isArray(field.enum)) return field.enum.find((/** @type {any} */ one) => String(one).toLowerCase() === words.toLowerCase())
    if (field.type === 'string') return words
    if (field.type === 'boolean') return isOneOf(YES, words) ? true : isOneOf(NO, words) ? false : undefined
    const n = words ? Number(words.replace(',', '.')) : NaN
    return Number.isFinite(n) && (field.type === 'number' || Number.isInteger(n)) ? n : undefined
  }

  return { asked, decide, loneField }
})
