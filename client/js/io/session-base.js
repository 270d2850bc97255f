// What one server holds of long sessions, so that a POST need not repeat it (docs/reference/http.md, "A session with a
// base"). Each message is known by its JSON: one that was changed since, wherever it was changed, is sent again.

yaa.define('io/session-base', ['core/fold', 'core/canonical-json', 'core/sha256'], ({ entriesOf }, { canonical }, { sha256 }) => {
  /** With fewer messages a base is not worth it. */
  const LEAST = 20
  /** Sessions whose messages are remembered. */
  const MOST = 4
  /** ms of work at a time: a person may be typing. */
  const SLICE = 5
  const DIGITS = 32

  /** @param {Api['run']} post sends a session @returns {Bases} */
  function create(post) {
    /** @type {Map<string, {texts: string[], digests: string[]}>} JSON of the messages that the server has, and the digest up to each */
    const held = new Map()

    /** The server has this session now. @param {Session} session */
    async function hold(session) {
      const { texts, digests } = held.get(session.id) ?? { texts: [], digests: [] }
      held.delete(session.id)
      held.set(session.id, { texts, digests })
      for (const id of held.keys()) if (held.size > MOST) held.delete(id)
      const { length } = session.messages
      texts.splice(length)
      digests.splice(length)
      let until = performance.now() + SLICE
      for (let i = 0; i < length && i < session.messages.length; i++) {
        const value = valueOf(session, i)
        const text = JSON.stringify(value)
        if (text !== texts[i]) {
          const before = digests[i - 1] ?? ''
          texts.splice(i, Infinity, text)
          digests.splice(i, Infinity, sha256(before + canonical(value)).slice(0, DIGITS))
        }
        if (performance.now() > until) {
          await new Promise((resolve) => setTimeout(resolve))
          until = performance.now() + SLICE
        }
      }
    }

    /** The session without what the server has of it; null if that is nothing or little. @param {Session} session */
    function shortened(session) {
      const { texts, digests } = held.get(session.id) ?? { texts: [], digests: [] }
      const { messages } = session
      let count = 0
      while (count < messages.length && count < texts.length && JSON.stringify(valueOf(session, count)) === texts[count]) count++
      if (count < LEAST) return null
      const calls = { ...session.calls }
      for (const id of Object.keys(entriesOf(session, messages.slice(0, count)))) delete calls[id]
      return { ...session, calls, messages: messages.slice(count), base: { messages: count, digest: digests[count - 1] } }
    }

    /** Send a session, as short as the server lets it be. @type {Api['run']} */
    async function run(session, options) {
      const body = shortened(session)
      if (!body) return post(session, options)
      return post(body, options).catch((error) => {
        if (error.code !== 'base_unknown') throw error
        held.delete(session.id)
        return post(session, options)
      })
    }

    return { hold, shortened, run }
  }

  /** @param {Session} session @param {number} index what the digest of a message is made of */
  const valueOf = (session, index) => [session.messages[index], entriesOf(session, [session.messages[index]])]

  return { create }
})
