// Files that go along with a message, as files of the workspace: the message names their paths, and of a long text it has
// the beginning alone, so that not every request carries all of it.

yaa.define('ext/files/attached-files', ['core/attachments', 'ext/files/session-files'], ({ filePart, LIMITS }, files) => {
  const FOLDER = 'attachments'
  /** Entries of one folder that are looked at for names that are taken. */
  const MOST = 10_000

  /** @typedef {{name: string, part: any, image: string | null, size: number, file?: Blob, text?: string, whole?: number}} Attached */

  /** May files of a message go into the workspace? Into a real folder only a person puts something. @param {any} app */
  const isOffered = (app) => files.isOffered(app) && app.server.info()?.workspace?.recorded !== false && ['own', 'overlay'].includes(files.modeOf(app))

  /**
   * The parts of a message; its files are in the workspace then.
   * @param {any} app @param {any} entry the session that it is sent in: another one may be opened meanwhile @param {Attached[]} all @param {AbortSignal} [signal] @returns {Promise<any[]>} rejects if one that only the workspace can hold did not arrive
   */
  async function place(app, entry, all, signal) {
    const routes = files.routesOf(app, entry.session)
    const parts = []
    /** @type {any} */ let answer = null
    try {
      const taken = await namesIn(routes)
      for (const one of all) {
        const path = `${FOLDER}/${freeName(one.name, taken)}`
        if (one.file) answer = await routes.upload(path, one.file, { signal })
        parts.push(...(one.file ? withPath(one, path) : [one.part]))
      }
      return parts
    } catch (error) {
      if (!signal?.aborted && all.every((one) => one.part)) return console.warn(error), all.map(({ part }) => part) // it goes with the message alone
      throw error
    } finally {
      files.adopt(app, entry, answer?.tree)
      files.keep(app, entry)
    }
  }

  /** @param {Workspace} routes @returns {Promise<Set<string>>} */
  async function namesIn(routes) {
    if (!await routes.find(FOLDER)) return new Set()
    const { entries } = await routes.list(FOLDER, { limit: MOST })
    return new Set(entries.map(({ path }) => path.slice(FOLDER.length + 1).toLowerCase()))
  }

  /** A name that can be a file's on any system, and is not taken. @param {string} name @param {Set<string>} taken */
  function freeName(name, taken) {
    const plain = name.replace(/[\p{Cc}\p{Cs}\p{Cf}"<>:|?*/\\]+/gu, ' ').replace(/^[\s.]+|[\s.]+$/g, '').slice(-100) || 'file'
    const [, stem, ending] = /^(.*?)(\.[^.]*)?$/s.exec(plain) ?? ['', plain, '']
    let free = plain
    for (let n = 2; taken.has(free.toLowerCase()); n += 1) free = `${stem} ${n}${ending ?? ''}`
    taken.add(free.toLowerCase())
    return free
  }

  /** @param {Attached} one @param {string} path */
  function withPath({ name, part, image, size, file, text, whole = 0 }, path) {
    if (image) return [part, filePart(name, '', path)]
    if (typeof text !== 'string') return [filePart(name, `[${file?.type || 'not text'}, ${size} bytes]`, path)]
    if (text.length >= whole) return [filePart(name, text, path)]
    return [filePart(name, `${text.slice(0, LIMITS.beginning)}\n[The beginning of a file of ${size} bytes; read_file shows all of it.]`, path)]
  }

  return { isOffered, place, freeName }
})
