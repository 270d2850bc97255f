// Canonical JSON: the one spelling of a value, equal byte for byte to server/lib/strict_json.py `canonical`, so that both
// sides can take a digest of the same session. Keys by code point, no spaces, numbers as ECMA-262 writes them.

yaa.define('core/canonical-json', [], () => {
  const SURROGATE = /[\ud800-\udfff]/

  /** @param {any} value JSON; members that are undefined are left out, as JSON.stringify does @returns {string} */
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
    if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
    const members = keysOf(value).map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    return `{${members.join()}}`
  }

  /** @param {object} value */
  function keysOf(value) {
    const keys = Object.keys(value).filter((key) => /** @type {any} */ (value)[key] !== undefined)
    return keys.some((key) => SURROGATE.test(key)) ? keys.sort(byCodePoint) : keys.sort()
  }

  /**
   * Strings compare by UTF-16 unit, which puts U+1F600 before U+FF5E; Python puts it after.
   * @param {string} a
   * @param {string} b
   */
  function byCodePoint(a, b) {
    let i = 0
    while (i < a.length && i < b.length && a[i] === b[i]) i++
    if (i === a.length || i === b.length) return a.length - b.length
    return rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
  }

  /** Surrogates behind everything else. @param {number} unit */
  const rank = (unit) => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

  /** @param {any} a @param {any} b whether two JSON values are the same */
  const equal = (a, b) => a === b || canonical(a) === canonical(b)

  return { canonical, equal }
})
