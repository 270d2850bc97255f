// Backups without a browser: when to remind of one, its format, and which of two versions of a session is later.

yaa.define('core/backup', ['core/crc32'], ({ crc32 }) => {
  const DAY = 86_400_000
  /** What is not worth a reminder: trying out. */
  const FEW = 3

  /**
   * Whether to remind of a copy, and how many days the last one is old (null: there is none).
   * @param {{now: number, heads: Head[], copied?: number, snoozed?: number, persisted: boolean, folder: boolean}} known
   *   `copied`, `snoozed`: when everything was last copied, and a reminder put off; `persisted`: the browser promised to keep it
   */
  function reminder({ now, heads, copied = 0, snoozed = 0, persisted, folder }) {
    const changed = heads.filter((head) => head.messages > 1 && head.updated > copied)
    const days = copied ? Math.floor((now - copied) / DAY) : null
    const first = Math.min(...heads.map((head) => head.updated))
    const patience = (persisted ? 60 : 14) * DAY
    const waited = now - (copied || first) > (copied ? patience : DAY)
    const due = !folder && changed.length >= FEW && waited && now - snoozed > 7 * DAY
    return { due, days, changed: changed.length }
  }

  /**
   * What has not been used for so many days. What is in the archive counts from when it was last used, not from then.
   * @param {{now: number, heads: Head[], keep?: Set<string>, archive?: number, remove?: number}} known `archive`, `remove`: days; none: never
   * @returns {{archive: Head[], remove: Head[]}} neither holds a pinned one, nor one to `keep`
   */
  function expiredSessions({ now, heads, keep = new Set(), archive, remove }) {
    const old = (/** @type {Head} */ head, /** @type {number | undefined} */ days) => Number(days) >= 1 && now - (head.archived || head.updated) > Number(days) * DAY
    const free = heads.filter((head) => !head.pinned && !keep.has(head.id))
    const gone = free.filter((head) => old(head, remove))
    return { remove: gone, archive: free.filter((head) => !head.archived && !gone.includes(head) && old(head, archive)) }
  }

  /** @param {Session[]} sessions @param {number} now */
  function backup(sessions, now) {
    return { yaa_backup: /** @type {const} */ (1), made: new Date(now).toISOString(), sessions }
  }

  /**
   * The sessions of a copy, and how many entries of it were none.
   * @param {any} value @returns {{sessions: Session[], broken: number} | null} null: it is no copy at all
   */
  function readBackup(value) {
    const entries = Array.isArray(value?.sessions) ? value.sessions : null
    if (!entries) return null
    const good = entries.filter((/** @type {any} */ one) => typeof one?.id === 'string' && one.id !== '' && Array.isArray(one.messages))
    return { sessions: good, broken: entries.length - good.length }
  }

  /**
   * Whether what comes in holds more than what is here. Runs count; in the same run, messages do.
   * @param {Session} incoming @param {Session | null} here
   */
  function isLater(incoming, here) {
    if (!here) return true
    const [a, b] = [incoming, here].map(({ rev = 0, messages }) => [Number(rev) || 0, messages.length])
    return a[0] !== b[0] ? a[0] > b[0] : a[1] > b[1]
  }

  /** The file of a session in a folder: its title for people, without a dot, and its id, or a sum of it, to tell it from others of that title. @param {Session} session */
  function fileName({ id, title }) {
    const words = String(title || 'session').replace(/[\p{C}\p{Z}\\/:*?"<>|.]+/gu, ' ').trim()
    const short = [...words].slice(0, 50).join('').trim().replaceAll(' ', '-') || 'session'
    return `${short}.${/^[A-Za-z0-9_-]{1,12}$/.test(id) ? id : crc32(id)}.yaa.json`
  }

  return { reminder, expiredSessions, backup, readBackup, isLater, fileName }
})
