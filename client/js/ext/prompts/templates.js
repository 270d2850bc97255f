// Prompts that a person keeps, with blanks to fill in: {{name}}, {{name=what is usual}}, {{tone=kind|short|formal}}.
// A backslash before the braces leaves them as they are.

yaa.define('ext/prompts/templates', ['core/search'], ({ foldCase }) => {
  const BLANK = /\\\{\{|\{\{\s*([^{}=]+?)\s*(?:=([^{}]*))?\}\}/g

  /**
   * The blanks of a text, each once, in order. A blank with choices has them in `options`; the first is the usual one.
   * @param {string} text @returns {{name: string, value: string, options: string[]}[]}
   */
  function blanks(text) {
    /** @type {Map<string, {name: string, value: string, options: string[]}>} */ const found = new Map()
    for (const [, name, given] of text.matchAll(BLANK)) {
      if (name === undefined) continue
      const options = given?.includes('|') ? given.split('|').map((one) => one.trim()).filter(Boolean) : []
      const value = options[0] ?? given?.trim() ?? ''
      const known = found.get(name)
      // the same blank may say what is usual only once
      if (!known) found.set(name, { name, value, options })
      else if (!known.value && value) Object.assign(known, { value, options })
    }
    return [...found.values()]
  }

  /** @param {string} text @param {Record<string, string>} values a blank without one gets what is usual */
  function fill(text, values) {
    const usual = new Map(blanks(text).map((one) => [one.name, one.value]))
    const given = (/** @type {string} */ name) => (Object.hasOwn(values, name) ? values[name] : usual.get(name) ?? '')
    return text.replace(BLANK, (whole, name) => (name === undefined ? whole.slice(1) : given(name)))
  }

  /** The word that stands for a prompt after `/`. @param {string} name */
  function slug(name) {
    return foldCase(name).replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '').slice(0, 40)
  }

  /**
   * Prompts out of a file: our own list, or one with name/title/act and text/prompt/content. What is not a prompt is left out.
   * @param {any} value @returns {{name: string, text: string}[]}
   */
  function read(value) {
    const all = Array.isArray(value) ? value : Array.isArray(value?.prompts) ? value.prompts : []
    return all.flatMap((/** @type {any} */ one) => {
      const text = one?.text ?? one?.prompt ?? one?.content
      const name = one?.name ?? one?.title ?? one?.act ?? one?.command
      const whole = [text, name].every((each) => typeof each === 'string' && each.trim())
      return whole ? [{ name: name.trim().slice(0, 80), text }] : []
    })
  }

  /**
   * New ones behind the old; the very same prompt is not kept twice.
   * @param {{name: string, text: string}[]} old @param {{name: string, text: string}[]} added
   */
  function merge(old, added) {
    const known = new Set(old.map((one) => `${one.name}\0${one.text}`))
    const fresh = added.filter((one) => !known.has(`${one.name}\0${one.text}`) && known.add(`${one.name}\0${one.text}`))
    return [...old, ...fresh.map(({ name, text }) => ({ name, text }))]
  }

  return { blanks, fill, slug, read, merge }
})
