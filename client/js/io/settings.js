// Settings of this browser: appearance, defaults, the server's address and its key. In Chromium every
// file:// page of the machine shares one storage, so there a key stays in memory unless the person wants it kept.
// A key belongs to one address and is never shown to another.

yaa.define('io/settings', ['core/ids', 'core/patch', 'io/idb-transaction'], ({ uuid }, { parseJson }, { lazyDatabase }) => {
  /** Of each a name of its own: a page that saw none of them writes over one. Pages of before had all under SETTINGS. */
  const SETTINGS = 'yaa.settings'
  const SETTING = 'yaa.setting '
  const BASE = 'yaa.base'
  const KEYS = 'yaa.keys'
  /** Of this tab. Pages of before had those of all tabs there, too, and two that wrote at once lost one. */
  const DRAFTS = 'yaa.drafts'
  /** Each text that is written has a name of its own for the other tabs: none is written over. */
  const DRAFT = 'yaa.draft '
  const INFO = 'yaa.info'
  const unsent = lazyDatabase('yaa-unsent', (made) => made.createObjectStore('files', { keyPath: 'draft' }))
  /** Servers of which it is kept what they are. */
  const MOST_SERVERS = 4
  const MOST_DRAFTS = 40
  const LOCAL_SERVER = 'http://127.0.0.1:12345'
  /** A page that another site has opened is sent here (server/api/static.py). */
  const ELSEWHERE = '?from=elsewhere'

  /** @param {{storage?: Storage | null, tab?: Storage | null, location?: Location}} [options] @returns {Settings} */
  function open({ storage = browserStorage('localStorage'), tab = storage && browserStorage('sessionStorage'), location = globalThis.location } = {}) {
    const served = location.protocol === 'http:' || location.protocol === 'https:'
    const home = served ? location.origin + location.pathname.replace(/\/[^/]*$/, '') : LOCAL_SERVER
    /** @type {Record<string, any>} */ const values = {}
    /** @type {Record<string, string>} */
    let keys = read(KEYS)
    let kept = Object.keys(keys).length > 0
    let address = storage?.getItem(BASE) || home

    /** @param {string} name @returns {any} */
    function read(name, place = storage) {
      try {
        const value = JSON.parse(place?.getItem(name) ?? '{}')
        return value !== null && typeof value === 'object' ? value : {}
      } catch {
        return {}
      }
    }

    /** @param {string} name @param {any} value undefined removes it @returns {boolean} false: it holds until the page is closed */
    function write(name, value, place = storage) {
      try {
        if (value === undefined) place?.removeItem(name)
        else place?.setItem(name, typeof value === 'string' ? value : JSON.stringify(value))
        return Boolean(place)
      } catch { // full or forbidden
        return false
      }
    }

    const namesOf = (/** @type {string} */ start) => Array.from({ length: storage?.length ?? 0 }, (_, i) => String(storage?.key(i))).filter((name) => name.startsWith(start))

    // another tab has written: what this one writes next is not without it
    if (storage) globalThis.addEventListener?.('storage', ({ key }) => {
      if (key?.startsWith(SETTING)) take(key)
      if (key !== KEYS || !(kept || served)) return
      const stored = read(KEYS)
      kept &&= Object.keys(stored).length > 0
      if (kept || served) keys = stored // else they are kept no more, and in use until this page is closed
    })

    /** @param {string} key of a setting that is stored */
    function take(key) {
      values[key.slice(SETTING.length)] = parseJson(storage?.getItem(key), null) ?? undefined
    }

    namesOf(SETTING).forEach(take)
    const old = Object.entries(read(SETTINGS)).map(([name, value]) => {
      values[name] ??= value
      return write(SETTING + name, JSON.stringify(values[name]))
    })
    if (old.every(Boolean)) write(SETTINGS, undefined)

    /** @param {string} url '' for the usual one */
    function setBase(url) {
      const link = linkOf(url)
      address = link.address || home
      write(BASE, address === home ? undefined : address)
      if (link.key) setKey(link.key, { remember: kept || served })
    }

    /** @param {string} key @param {{remember?: boolean}} [options] */
    function setKey(key, { remember = served } = {}) {
      keys = { ...keys, [address]: keyIn(key.trim()) }
      if (!keys[address]) delete keys[address]
      kept = remember
      write(KEYS, kept && Object.keys(keys).length ? keys : undefined)
    }

    /** The key of an address that is not in use. @param {string} url @param {string} key */
    function keepKey(url, key) {
      keys = { ...keys, [url]: key }
      if (kept || served) write(KEYS, keys)
    }

    /** What is being written in this tab; ~… is of this page alone. */
    const drafts = new Map(Object.entries(read(DRAFTS, tab)))
    let written = 0
    /** Names of the texts of all tabs, the newest last. @param {string} [id] of one draft */
    const textsOf = (id) => namesOf(DRAFT).filter((name) => id === undefined || name.split(' ').slice(3).join(' ') === id).sort()

    /** @param {string} id @param {string} text */
    function putText(id, text) {
      written = Math.max(Date.now(), written + 1)
      return write(`${DRAFT}${written} ${uuid()} ${id}`, text)
    }

    const { all, ...before } = read(DRAFTS)
    write(DRAFTS, undefined)
    for (const [id, text] of Array.isArray(all) ? all : Object.entries(before)) putText(id, text)

    /** What this tab has, or else what another one has left, which is this tab's then. @param {string} id @returns {string} */
    function draft(id) {
      const text = String(drafts.get(id) ?? storage?.getItem(textsOf(id).at(-1) ?? '') ?? '')
      if (text) drafts.set(id, text)
      return text
    }

    /** Keep the draft of a session; what other tabs write there stays. @param {string} id @param {string} text */
    function setDraft(id, text) {
      const before = drafts.get(id)
      drafts.set(id, text)
      if (id.startsWith('~')) return
      const own = [...drafts].filter(([of, words]) => (words || of === 'new') && !of.startsWith('~'))
      write(DRAFTS, own.length ? Object.fromEntries(own) : undefined, tab)
      const old = textsOf(id).filter((name) => storage?.getItem(name) === before)
      if (text && !putText(id, text)) return
      for (const name of [...old, ...textsOf().slice(0, -MOST_DRAFTS)]) write(name, undefined)
    }

    return {
      keepKey,
      /** Keep files until their scripts are here (io/draft-files). */
      keepFiles: async (id, files) => !id.startsWith('~') && unsent(['files'], 'readwrite', (all) => [all.files.put({ draft: `${id} ${uuid()}`, files })]).then(() => true, () => false),
      draft,
      setDraft,
      get: (name) => values[name],
      set(name, value) {
        values[name] = value
        write(SETTING + name, JSON.stringify(value))
      },
      all: () => ({ ...values }),
      base: () => address,
      setBase,
      key: () => keys[address] ?? '',
      setKey,
      keys: () => ({ ...keys }),
      /** What the server last told of itself. */
      info: () => read(INFO)[address] ?? null,
      keepInfo(info) {
        const { [address]: _, ...others } = read(INFO)
        if (kept || served) write(INFO, Object.fromEntries(Object.entries(info ? { ...others, [address]: info } : others).slice(-MOST_SERVERS)))
      },
      /** Keys out of a vault: for as long as the page is open. */
      takeKeys(more) {
        keys = { ...more, ...keys }
      },
      remembers: () => kept || served,
      canRememberSafely: served,
      /** What the address brings; it is removed from there at once. The server that is opened has printed the link. */
      takeLink() {
        const link = { ...linkOf(location.hash), address: home, elsewhere: location.search === ELSEWHERE }
        const signs = link.key || link.code
        if (signs || link.elsewhere) globalThis.history?.replaceState(null, '', location.pathname + (link.elsewhere ? '' : location.search) + (signs ? '' : location.hash))
        return signs ? link : null
      },
    }
  }

  /** An address as it is typed, or a whole link; a code is exchanged by ui/sign-in. @param {string} words */
  function linkOf(words) {
    const [place, hash] = words.trim().split('#')
    const address = place.replace(/\/+$/, '')
    const [key, code] = ['key', 'code'].map((name) => new URLSearchParams(hash).get(name) ?? '')
    return { address: /^$|:\/\//.test(address) ? address : `http://${address}`, key, code }
  }

  /** A key, or the link with it that the server prints. @param {string} words */
  const keyIn = (words) => (words.includes('#key=') ? linkOf(words).key : words)

  /** Even looking at it throws where cookies are off. @param {'localStorage' | 'sessionStorage'} name */
  function browserStorage(name) {
    try {
      return globalThis[name] ?? null
    } catch {
      return null
    }
  }

  return { open, linkOf }
})
