// A session that no server takes because it is too large: its pictures, and the same session without them.

yaa.define('core/large-session', [], () => {
  const LEFT_OUT = { type: 'text', text: '[A picture was here, and was left out: the session had become too large.]' }
  /** @param {any} part */
  const isPicture = (part) => part?.type === 'image_url' && String(part.image_url?.url).startsWith('data:')
  /** @param {Message} message @returns {any[]} */
  const picturesIn = ({ content }) => (Array.isArray(content) ? content.filter(isPicture) : [])

  /** Messages with pictures in all branches: those before the last that the user said, or else that one. @param {Session} session */
  function withPictures({ messages, ext }) {
    const last = messages.findLast(({ role }) => role === 'user')
    const paths = [messages, ...(ext?.tree?.branches ?? []).map((/** @type {Branch} */ branch) => branch.messages)]
    const all = [...new Set(paths.flat())].filter((message) => picturesIn(message).length)
    const earlier = all.filter((message) => message !== last)
    return earlier.length ? earlier : all
  }

  /** @param {Session} session @returns {{n: number, bytes: number}} pictures that can be left out */
  function pictures(session) {
    const all = withPictures(session).flatMap(picturesIn)
    return { n: all.length, bytes: all.reduce((sum, part) => sum + part.image_url.url.length, 0) }
  }

  /** Leave them out: what was said stays. @param {Session} session */
  function leaveOut(session) {
    for (const message of withPictures(session)) {
      message.content = /** @type {any[]} */ (message.content).map((part) => (isPicture(part) ? LEFT_OUT : part))
    }
  }

  return { pictures, leaveOut }
})
