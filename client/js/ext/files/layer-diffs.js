// What a layer holds over its folder, with the lines of each file: asked for once for each state of the two, whoever shows it.

yaa.define('ext/files/layer-diffs', ['core/file-names', 'ext/files/file-changes'], ({ isJunk }, { linesOf }) => {
  /** Diffs of so many files are asked for without being opened, so many at a time. */
  const [MOST, AT_ONCE] = [40, 4]
  /** Of one state of one layer. */
  let known = { key: '', diffs: /** @type {Map<string, Promise<any>>} */ (new Map()) }

  /**
   * Files that a person means, apart from caches and repositories.
   * @param {Workspace} routes @returns {Promise<any>} null before the first run: then there is no layer
   */
  async function layerOf(routes) {
    try {
      const found = await routes.status()
      return { ...found, meant: found.files.filter((/** @type {FileChange} */ { path }) => !isJunk(path)) }
    } catch (error) {
      if (/** @type {any} */ (error).status === 404) return null
      throw error
    }
  }

  /**
   * The difference of one file, and its lines.
   * @param {Workspace} routes @param {{base?: string, tree?: string, from?: string}} layer `from`: a tree, where it is no layer
   * @param {string} path
   * @returns {Promise<{diff: string, added: number, removed: number}>}
   */
  function diffOf(routes, { base, tree, from = 'base' }, path) {
    const key = `${base} ${tree}`
    if (known.key !== key) known = { key, diffs: new Map() }
    const { diffs } = known
    const found = diffs.get(path) ?? routes.diff(from, tree ?? 'now', path).then(({ diff = '' }) => ({ diff, ...linesOf(diff) }))
    if (tree) diffs.set(path, found)
    found.catch(() => diffs.delete(path)) // asked for again
    return found
  }

  /**
   * The lines of all files together; null where they are too many to be counted.
   * @param {Workspace} routes @param {any} layer @param {(path: string, one: {diff: string, added: number, removed: number}) => void} [each]
   * @returns {Promise<{added: number, removed: number} | null>}
   */
  async function linesIn(routes, layer, each = () => {}) {
    const paths = layer.meant.map((/** @type {FileChange} */ { path }) => path)
    if (paths.length > MOST || layer.count > layer.files.length) return null
    const sum = { added: 0, removed: 0 }
    const one = async () => {
      for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
        const found = await diffOf(routes, layer, path)
        each(path, found)
        sum.added += found.added
        sum.removed += found.removed
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, one))
    return sum
  }

  return { layerOf, diffOf, linesIn, MOST }
})
