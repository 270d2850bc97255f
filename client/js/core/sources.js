// What an answer cites: `[^s2.1]` names a source of a call of web_search or fetch_url, whose result in the session has the
// words that the model read. Only the envelope of a result names sources: what a tool returned cannot. `[^p1]` names what
// the provider's own search cited in this message.

yaa.define('core/sources', ['core/safe-urls', 'core/patch'], (safeUrls, { isObject }) => {
  const MARK = /^\[\^(s\d{1,6}\.\d{1,4}|p\d{1,4})\]$/

  /** The id that a mark of a citation names. @param {string} mark @returns {string | null} */
  const idOf = (mark) => MARK.exec(mark)?.[1] ?? null

  /** The first source of this id. @param {Session} session @param {string} id @param {string} [within] id of the message with the mark @returns {Source | null} */
  function find(session, id, within) {
    if (id[0] === 'p') {
      const cited = session.messages.find((one) => one.id === within)?.meta?.citations?.[Number(id.slice(1)) - 1]
      return sourceOf(cited, id) ?? documentOf(cited, id)
    }
    for (const { role, result } of session.messages) {
      const place = role === 'tool' && isObject(result?.sources) && Object.hasOwn(result.sources, id) ? result.sources[id] : null
      const found = typeof place === 'string' ? sourceOf(at(result.result, place), id) : null
      if (found) return found
    }
    return null
  }

  /** @param {any} value @param {string} id @returns {Source | null} null without an address that may be opened */
  function sourceOf(value, id) {
    const href = typeof value?.url === 'string' ? safeUrls.link(value.url) : null
    if (!href || href.startsWith('mailto:')) return null
    return { id, href, host: new URL(href).host, title: line(value.title), text: typeof value.text === 'string' ? value.text : '', date: line(value.date) }
  }

  /** A file or document that the provider cites, which has no address. @param {any} value @param {string} id @returns {Source | null} */
  function documentOf(value, id) {
    const title = line(value?.title), text = typeof value?.text === 'string' ? value.text : ''
    if (!(title || text) || value.url !== undefined) return null
    return { id, href: '', host: '', title, text, date: '', page: Number.isInteger(value.page) ? value.page : 0 }
  }

  /** @param {any} value @param {string} pointer JSON pointer */
  function at(value, pointer) {
    if (pointer === '') return value
    for (const part of pointer.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
      value = value[name]
    }
    return value
  }

  /** @param {any} value */
  const line = (value) => (typeof value === 'string' ? value.replace(/\s+/g, ' ').trim().slice(0, 300) : '')

  return { idOf, find }
})
