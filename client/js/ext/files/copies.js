// Copies of a session's files that the page keeps beside the session: fetched after a run, put into exports, taken back on
// import. At most 20 MB a session; what is left out is said.

yaa.define('ext/files/copies', [
  'ext/files/texts', 'ext/files/file-list', 'ext/files/directory-object', 'ext/files/file-changes', 'core/workspace-stand', 'ext/files/zip', 'ext/files/kept-objects', 'ext/files/object-fetch', 'io/unzip',
], ({ t }, { size }, { readDirectory, isHash }, { pointsOf }, { standOf }, { zip }, kept, { gather, sound }, unzip) => {
  const IN_ZIP = /^objects\/([0-9a-f]{64})$/

  /** @param {import('../../ui/types').App} app @param {Session} session */
  async function keep(app, session) {
    const before = await kept.of(session.id)
    const api = app.server.api()
    /** @type {Map<string, number>} */ const known = new Map()
    for (const hash of before?.objects ?? []) {
      const bytes = await kept.get(hash)
      if (bytes) known.set(hash, bytes.byteLength)
    }
    const get = async (/** @type {string} */ hash) => await kept.get(hash) ?? (await api.request(`/objects/${hash}`)).arrayBuffer()
    const { fetched, ...found } = await gather(session, { get, known })
    if (!found.objects.length) return
    if (session.ext?.temporary || app.store.kind === 'memory') kept.hold(session.id, new Map([...await bytesOf(session.id), ...fetched]))
    else await kept.save(session.id, found, fetched)
  }

  /** What an export says of the copies that are here; '' without any. @param {string} id @returns {Promise<string>} */
  async function keptWords(id) {
    const { objects = [], bytes = 0, left = { count: 0, bytes: 0 } } = await kept.of(id) ?? {}
    if (!objects.length) return ''
    return t('copies.kept', { n: objects.length, size: size(bytes) }) + (left.count ? ` ${t('export.filesLeft', { n: left.count, size: size(left.bytes) })}` : '')
  }

  /** @param {string} id @returns {Promise<Map<string, ArrayBuffer>>} what is kept for a session */
  async function bytesOf(id) {
    /** @type {Map<string, ArrayBuffer>} */ const all = new Map()
    for (const hash of (await kept.of(id))?.objects ?? []) {
      const bytes = await kept.get(hash)
      if (bytes) all.set(hash, bytes)
    }
    return all
  }

  /**
   * Upload objects that a server lacks, and what is in those that are folders: it cannot name what it does not know yet. It
   * gets the tree that the session began with too, by which it tells what the session changed.
   * @param {import('../../ui/types').App} app @param {string[]} hashes @param {(share: number) => void} onProgress
   */
  async function give(app, hashes, onProgress) {
    const api = app.server.api()
    const lacking = new Set(hashes)
    const begun = app.current.session.workspace?.start
    const seen = new Set(isHash(begun) ? [...lacking, String(begun)] : lacking)
    const all = [...seen]
    for (let n = 0; n < all.length; n++) {
      onProgress(n / all.length)
      const body = await kept.get(all[n])
      if (!body || (!lacking.has(all[n]) && await isThere(api, all[n]))) continue
      await api.request(`/objects/${all[n]}`, { method: 'PUT', retry: true, body, headers: { 'Content-Type': 'application/octet-stream' } })
      const found = readDirectory(new TextDecoder().decode(body))
      for (const { sha256 } of [...found?.folders ?? [], ...found?.files ?? []]) if (!seen.has(sha256)) seen.add(sha256), all.push(sha256)
    }
  }

  /** @param {Api} api @param {string} hash */
  const isThere = (api, hash) => api.request(`/objects/${hash}`, { method: 'HEAD' }).then(() => true, (error) => {
    if (error.status === 404) return false
    throw error
  })

  /** A session with its files, as a ZIP file. @param {string} id @param {string} document its JSON @returns {Promise<Blob>} */
  async function zipped(id, document) {
    const objects = [...await bytesOf(id)].map(([hash, bytes]) => ({ name: `objects/${hash}`, bytes: new Uint8Array(bytes) }))
    return new Blob(/** @type {BlobPart[]} */ (zip([{ name: 'session.yaa.json', bytes: new TextEncoder().encode(document) }, ...objects])), { type: 'application/zip' })
  }

  /** For a page in one file: each object in base64. @param {string} id @returns {Promise<Record<string, string>>} */
  async function encoded(id) {
    return Object.fromEntries([...await bytesOf(id)].map(([hash, bytes]) => [hash, toBase64(new Uint8Array(bytes))]))
  }

  /** @param {Uint8Array} bytes */
  function toBase64(bytes) {
    const pieces = []
    for (let at = 0; at < bytes.length; at += 0x8000) pieces.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)))
    return btoa(pieces.join(''))
  }

  /** Objects of a page in one file; what is none is passed over. @param {any} objects @returns {Map<string, ArrayBuffer>} */
  function decoded(objects) {
    /** @type {Map<string, ArrayBuffer>} */ const all = new Map()
    for (const [hash, text] of Object.entries(objects && typeof objects === 'object' ? objects : {})) {
      try {
        all.set(hash, Uint8Array.from(atob(String(text)), (sign) => sign.charCodeAt(0)).buffer)
      } catch { /* no base64 */ }
    }
    return sound(all)
  }

  /** Objects of a ZIP file. @param {Blob} file @returns {Promise<Map<string, ArrayBuffer>>} */
  async function unzipped(file) {
    /** @type {Map<string, ArrayBuffer>} */ const all = new Map()
    for await (const { name, bytes } of unzip.files(file, (one) => IN_ZIP.test(one))) all.set(/** @type {any} */ (IN_ZIP.exec(name))[1], bytes.buffer)
    return sound(all)
  }

  /** Keep what came with an imported session. @param {Session} session @param {Map<string, ArrayBuffer>} objects @param {boolean} stored */
  async function takeBack(session, objects, stored) {
    if (!objects.size) return
    const all = new Map([...await bytesOf(session.id), ...objects])
    const bytes = [...all.values()].reduce((sum, one) => sum + one.byteLength, 0)
    if (stored) await kept.save(session.id, { objects: [...all.keys()], bytes, left: { count: 0, bytes: 0 } }, objects)
    else kept.hold(session.id, all)
  }

  /**
   * A file as the session's calls left it last, out of what is kept; null where that is not.
   * @param {Session} session @param {string} path @returns {Promise<Blob | null>}
   */
  async function fileOf(session, path) {
    const names = path.split('/').filter((name) => name && name !== '.')
    const name = names.pop()
    for (const tree of new Set([standOf(session), ...pointsOf(session).map((point) => point.tree).reverse()])) {
      let folder = await folderOf(tree)
      for (const one of names) folder = await folderOf(folder?.folders.find((each) => each.name === one)?.sha256)
      const found = folder?.files.find((each) => each.name === name)
      const bytes = found && await kept.get(found.sha256)
      if (bytes) return new Blob([bytes])
    }
    return null
  }

  /** @param {any} hash of a directory object that may be kept */
  async function folderOf(hash) {
    const bytes = isHash(hash) ? await kept.get(hash) : null
    return bytes && readDirectory(new TextDecoder().decode(bytes))
  }

  return { keep, give, keptWords, bytesOf, zipped, encoded, decoded, unzipped, takeBack, fileOf }
})
