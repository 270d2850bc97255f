// Directory objects: what a tree is made of. Each is JSON, `{"entries": {name: ["f", mode, bytes, sha256] | ["l", target] |
// ["d", mode, sha256]}}`, and is named by the SHA-256 of its text. Pure.

yaa.define('ext/files/directory-object', [], () => {
  const HASH = /^[0-9a-f]{64}$/

  /** @param {any} value is it the name of an object? */
  const isHash = (value) => typeof value === 'string' && HASH.test(value)

  /**
   * @param {string} text
   * @returns {{folders: {name: string, sha256: string}[], files: {name: string, sha256: string, bytes: number}[]} | null}
   *   null: it is no directory object
   */
  function readDirectory(text) {
    let entries
    try {
      entries = JSON.parse(text)?.entries
    } catch {
      return null
    }
    if (typeof entries !== 'object' || entries === null || Array.isArray(entries)) return null
    const all = Object.entries(entries).filter(([, entry]) => Array.isArray(entry))
    return {
      folders: all.filter(([, [kind, , hash]]) => kind === 'd' && isHash(hash)).map(([name, [, , sha256]]) => ({ name, sha256 })),
      files: all.filter(([, [kind, , bytes, hash]]) => kind === 'f' && isHash(hash) && Number.isSafeInteger(bytes) && bytes >= 0)
        .map(([name, [, , bytes, sha256]]) => ({ name, sha256, bytes })),
    }
  }

  return { readDirectory, isHash }
})
