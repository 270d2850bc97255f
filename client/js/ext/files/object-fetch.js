// Gathers the objects of a session's trees: its folders first, then the files that it changed, newest first, then the other
// files of its stand. What does not fit is counted, so that it can be said. The folders of the tree that the session began
// with are all kept: a server needs them to tell what the session changed.

yaa.define('ext/files/object-fetch', ['core/workspace-stand', 'ext/files/file-changes', 'ext/files/directory-object', 'core/sha256'], (
  { standOf }, { changesOf, pointsOf }, { readDirectory, isHash }, { sha256 },
) => {
  const [MOST_BYTES, MOST_OBJECTS] = [20_000_000, 2000]

  /**
   * @param {Session} session
   * @param {{get: (hash: string) => Promise<ArrayBuffer>, known?: Map<string, number>, mostBytes?: number, mostObjects?: number}} options
   *   `known`: sizes of those that are here; they are not fetched, but for folders
   * @returns {Promise<KeptObjects & {fetched: Map<string, ArrayBuffer>}>} @throws what `get` throws, but not_found
   */
  async function gather(session, { get, known = new Map(), mostBytes = MOST_BYTES, mostObjects = MOST_OBJECTS }) {
    /** @type {Map<string, ArrayBuffer>} */ const fetched = new Map()
    /** @type {Map<string, number>} */ const kept = new Map()
    /** @type {Map<string, number>} */ const leftOut = new Map()
    let bytes = 0

    /** @param {string} hash @param {number} size as far as it is known @param {boolean} [read] is its content wanted now? @returns {Promise<ArrayBuffer | null>} */
    async function take(hash, size, read = false) {
      if (fetched.has(hash)) return fetched.get(hash) ?? null
      if (kept.has(hash) && !read) return null
      const before = known.get(hash)
      if (!isHash(hash) || kept.size >= mostObjects || bytes + (before ?? size) > mostBytes) {
        leftOut.set(hash, size)
        return null
      }
      const content = before !== undefined && !read ? null : await get(hash).catch(absent)
      // what is kept goes to other servers too, under this name
      if (before === undefined && (!content || !sound(new Map([[hash, content]])).size)) {
        leftOut.set(hash, size)
        return null
      }
      const length = content?.byteLength ?? before ?? 0
      if (bytes + length > mostBytes) {
        leftOut.set(hash, length)
        return null
      }
      if (!kept.has(hash)) bytes += length
      kept.set(hash, length)
      leftOut.delete(hash)
      if (content && before === undefined) fetched.set(hash, content)
      return content
    }

    const stand = standOf(session)
    const points = pointsOf(session).map((point) => point.tree).reverse()
    const begun = session.workspace?.start
    const trees = [...new Set([stand, ...points, begun])].filter(isHash)
    const changed = new Set(changesOf(session).files.map((file) => file.path))
    for (const { result } of session.messages ?? []) for (const one of Array.isArray(result?.changed) ? result.changed : []) changed.add(one?.path)
    /** @type {{hash: string, size: number}[]} */ const first = []
    /** @type {{hash: string, size: number}[]} */ const then = []
    const above = foldersOf(changed)
    for (const tree of trees) {
      /** @type {{hash: string, path: string}[]} */ const open = [{ hash: String(tree), path: '' }]
      for (let next = open.shift(); next; next = open.shift()) {
        const content = await take(next.hash, 0, true)
        const found = content && readDirectory(new TextDecoder().decode(content))
        if (!found) continue
        const inside = (/** @type {string} */ name) => (next?.path ? `${next.path}/${name}` : name)
        for (const file of found.files) {
          if (changed.has(inside(file.name))) first.push({ hash: file.sha256, size: file.bytes })
          else if (tree === stand) then.push({ hash: file.sha256, size: file.bytes })
        }
        for (const folder of found.folders) {
          if (tree === stand || tree === begun || above.has(inside(folder.name))) open.push({ hash: folder.sha256, path: inside(folder.name) })
        }
      }
    }
    for (const { hash, size } of [...first, ...then]) await take(hash, size)
    const left = { count: leftOut.size, bytes: [...leftOut.values()].reduce((sum, size) => sum + size, 0) }
    return { objects: [...kept.keys()], bytes, left, fetched }
  }

  /** @param {Set<string>} paths @returns {Set<string>} the folders they are in */
  function foldersOf(paths) {
    const found = new Set()
    for (const path of paths) {
      const parts = String(path).split('/')
      for (let n = 1; n < parts.length; n++) found.add(parts.slice(0, n).join('/'))
    }
    return found
  }

  /** An object that is gone is left out. @param {any} error @returns {null} */
  function absent(error) {
    if (error?.status === 404) return null
    throw error
  }

  /** Of objects out of a file those whose bytes are what their name says. @param {Map<string, ArrayBuffer>} bytes */
  const sound = (bytes) => new Map([...bytes].filter(([hash, content]) => isHash(hash) && sha256(new Uint8Array(content)) === hash))

  return { gather, sound }
})
