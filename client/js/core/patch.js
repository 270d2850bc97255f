// RFC 6902 add, replace and remove on JSON that strangers made. What does not apply is left undone, as in
// server/session/fold.py. The rule of the file: a key named __proto__ is a key like any other, so members are
// looked up with hasOwn and written with defineProperty; and a value is copied, so that no later one changes an event.

yaa.define('core/patch', [], () => {
  const { hasOwn, defineProperty } = Object

  /** @param {unknown} path @returns {string[] | null} null if it is not an RFC 6901 pointer below the root */
  function parsePointer(path) {
    if (typeof path !== 'string' || !path.startsWith('/')) return null
    return path.slice(1).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  }

  /** @param {...(string | number)} parts */
  function pointer(...parts) {
    return parts.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  }

  /**
   * One operation at `parts` below `root`.
   * @param {any} root
   * @param {any} operation {op, value?}
   * @param {string[]} parts at least one
   */
  function patch(root, operation, parts) {
    const { op } = operation
    if (op !== 'add' && op !== 'replace' && op !== 'remove') return
    if (op !== 'remove' && !hasOwn(operation, 'value')) return
    const node = parts.slice(0, -1).reduce(stepInto, root)
    const last = parts[parts.length - 1]
    if (Array.isArray(node)) patchArray(node, op, last, operation.value)
    else if (isObject(node) && (op === 'add' || hasOwn(node, last))) {
      if (op === 'remove') delete node[last]
      else put(node, last, own(operation.value))
    }
  }

  /** @param {any[]} node @param {string} op @param {string} last @param {any} value */
  function patchArray(node, op, last, value) {
    const index = last === '-' && op === 'add' ? node.length : arrayIndex(last)
    if (index === null || index >= node.length + (op === 'add' ? 1 : 0)) return
    if (op === 'add') node.splice(index, 0, own(value))
    else if (op === 'replace') node[index] = own(value)
    else node.splice(index, 1)
  }

  /** @param {any} node @param {string} part */
  function stepInto(node, part) {
    if (Array.isArray(node)) return node[arrayIndex(part) ?? node.length]
    return isNested(node) && hasOwn(node, part) ? node[part] : undefined
  }

  /** RFC 6901 section 4: digits without a leading zero. @param {string} part */
  const arrayIndex = (part) => (/^(?:0|[1-9][0-9]{0,14})$/.test(part) ? Number(part) : null)

  /** @param {any} value */
  const isNested = (value) => value !== null && typeof value === 'object'

  /** @param {any} value @returns {value is Record<string, any>} */
  const isObject = (value) => isNested(value) && !Array.isArray(value)

  /** Set a member, whatever it is called. @param {object} target @param {string} key @param {any} value */
  function put(target, key, value) {
    defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  }

  /** A copy for the session: later folds change it, and an event never changes. @param {any} value */
  const own = (value) => (isNested(value) ? structuredClone(value) : value)

  /** What a text says in JSON, or something else: without it, the text itself. @param {any} text @param {any} [otherwise] @returns {any} */
  function parseJson(text, otherwise = text) {
    try {
      return typeof text === 'string' ? JSON.parse(text) : otherwise
    } catch {
      return otherwise
    }
  }

  return { parsePointer, pointer, patch, put, own, isObject, parseJson }
})
