// Locks, so that one tab writes a session: Web Locks, or on plain-http addresses a lease in IndexedDB that is renewed
// while it is held. Timers of a hidden tab come once a minute, messages at once: before an expired lease is taken, its
// holder is asked.

yaa.define('io/lock', ['core/ids', 'io/idb-transaction'], ({ uuid }, { transact, openDatabase, factory }) => {
  const LEASE_MS = 8000
  const RENEW_MS = 2000
  const ANSWER_MS = 500
  const DATABASE = 'yaa-locks'
  const STREAMS = 4
  const TAB = 'yaa.tab'

  /**
   * @param {{locks?: LockManager | null, indexedDB?: IDBFactory | null, tab?: string, channel?: Channel}} [options] `tab`: the
   *   same one after a reload, which may then take over at once what the page before it held
   */
  function create({ locks = globalThis.navigator?.locks, indexedDB = factory(), tab = locks ? '' : tabOf(), channel } = {}) {
    const owner = `${tab || uuid()} ${uuid()}`

    /** Releases under way, by name: to take it again waits for them. @type {Map<string, Promise<any>>} */
    const leaving = new Map()

    /** @param {string} name @returns {Promise<(() => any) | null>} how to let it go, and when it is gone; null if another tab has it */
    async function acquire(name) {
      await leaving.get(name)
      const release = await (locks ? acquireLock(locks, name).catch(() => free) : acquireOne(name)) // refused where site data is forbidden
      return release && (() => {
        leaving.set(name, release())
        return leaving.get(name)
      })
    }

    /** @param {string} name */
    const acquireOne = async (name) => (indexedDB ? acquireLease(indexedDB, name, owner, channel).catch(() => free) : free)

    return { acquire }
  }

  /** The name of this tab. It is stored only between two pages: a tab that is duplicated meanwhile finds none. */
  function tabOf() {
    try {
      const tab = sessionStorage.getItem(TAB) ?? uuid()
      sessionStorage.removeItem(TAB)
      addEventListener('pagehide', () => sessionStorage.setItem(TAB, tab))
      addEventListener('pageshow', () => sessionStorage.removeItem(TAB))
      return tab
    } catch {
      return '' // no storage: then every page is a tab of its own
    }
  }

  /** @param {LockManager} locks @param {string} name @returns {Promise<(() => Promise<any>) | null>} */
  function acquireLock(locks, name) {
    return new Promise((resolve, reject) => {
      const over = locks.request(`yaa ${name}`, { ifAvailable: true }, (lock) => {
        if (!lock) return resolve(null)
        return new Promise((release) => resolve(() => {
          release(undefined)
          return over
        }))
      })
      over.catch(reject)
    })
  }

  /**
   * @param {IDBFactory} indexedDB @param {string} name @param {string} owner @param {Channel} [channel]
   * @returns {Promise<(() => Promise<any>) | null>}
   */
  async function acquireLease(indexedDB, name, owner, channel) {
    const database = await openDatabase(DATABASE, (made) => made.createObjectStore('leases', { keyPath: 'name' }), indexedDB)
    const mine = `${owner} ${uuid()}`
    let whose = await lease(database, name, mine, LEASE_MS, 'ask')
    if (whose === 'over') {
      channel?.send({ holds: name })
      await new Promise((resolve) => setTimeout(resolve, channel ? ANSWER_MS : 0))
      whose = await lease(database, name, mine, LEASE_MS, 'take')
    }
    if (whose !== 'mine') {
      database.close()
      return null
    }
    const renew = () => lease(database, name, mine, LEASE_MS).catch(() => {})
    const timer = setInterval(renew, RENEW_MS)
    const deaf = channel?.listen((message) => message?.holds === name && renew())
    return () => {
      clearInterval(timer)
      deaf?.()
      return lease(database, name, mine, 0).catch(() => {}).finally(() => database.close())
    }
  }

  /**
   * Take, renew or end a lease, in one transaction.
   * @param {IDBDatabase} database @param {string} name @param {string} owner @param {number} ms
   * @param {'ask' | 'take'} [how] to begin it: what the page before this one held is free then, and for `take` what is over
   * @returns {Promise<Whose>}
   */
  async function lease(database, name, owner, ms, how) {
    /** @type {Whose} */ let whose = 'held'
    await transact(database, ['leases'], 'readwrite', ({ leases }) => {
      const found = leases.get(name)
      found.onsuccess = () => {
        const { owner: other, until } = found.result ?? {}
        const left = until - Date.now() // more than a lease is long: the clock was set back since
        const over = left < 0
        const free = !other || other === owner || left > LEASE_MS || (how && isBefore(other, owner))
        whose = free || (over && how === 'take') ? 'mine' : over ? 'over' : 'held'
        if (whose === 'mine' && ms) leases.put({ name, owner, until: Date.now() + ms })
        else if (whose === 'mine') leases.delete(name)
      }
    })
    return whose
  }

  /** Is the one a page that was in the tab before the other? @param {string} other @param {string} owner */
  function isBefore(other, owner) {
    const [[tab, page], [mine, now]] = [other.split(' '), owner.split(' ')]
    return tab === mine && page !== now
  }

  const free = async () => {}

  /**
   * Browsers open six connections to a host, all tabs together, and what comes seventh waits for ever. So of the streams of
   * all tabs four may run; a person's answer has a fifth, and a sixth connection stays for everything else.
   * @param {{acquire: (name: string) => Promise<(() => void) | null>, wake?: (callback: () => void) => () => void, again_ms?: number}} options
   *   `wake` calls back when a tab says that it has let one go
   * @returns {Slots}
   */
  function slots({ acquire, wake = () => free, again_ms = 1000 }) {
    return {
      take({ urgent = false, onWait = free } = {}) {
        let cancelled = false
        /** @type {() => void} */ let stir = free
        /** @returns {Promise<(() => any) | null>} */
        async function look() {
          for (let waited = false; !cancelled; waited = true) {
            for (let slot = 0; slot < (urgent ? STREAMS + 1 : STREAMS); slot++) {
              const release = await acquire(`stream ${slot}`)
              if (release && !cancelled) return release
              release?.()
              if (cancelled) return null
            }
            const over = new Promise((resolve) => {
              const off = wake(() => stir())
              const timer = setTimeout(() => stir(), again_ms)
              stir = () => {
                off()
                clearTimeout(timer)
                resolve(undefined)
              }
            })
            if (!waited) onWait()
            await over
          }
          return null
        }
        return {
          ready: look(),
          cancel() {
            cancelled = true
            stir()
          },
        }
      },
    }
  }

  return { create, slots }
})
