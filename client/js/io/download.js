// Files that the person keeps: made in the page, saved by the browser.

yaa.define('io/download', [], () => {
  /** @param {string} name @param {Blob} content */
  function blob(name, content) {
    const url = URL.createObjectURL(content)
    const link = document.createElement('a')
    link.href = url
    link.download = name
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 60_000) // Firefox reads it after the click
  }

  /** @param {string} name @param {string} content @param {string} [type] */
  const text = (name, content, type = 'text/plain') => blob(name, new Blob([content], { type: `${type};charset=utf-8` }))

  /** @param {string} name @param {any} value */
  const json = (name, value) => text(name, `${JSON.stringify(value, null, 2)}\n`, 'application/json')

  /**
   * A file name from the session's title that every system accepts.
   * @param {Session} session
   * @param {string} extension without a dot
   */
  function nameFor(session, extension) {
    const title = String(session.title || 'session').replace(/(?:(?!\u200d)\p{C}|[\p{Z}\\/:*?"<>|.])+/gu, ' ').trim() // U+200D joins emoji
    const short = [...title].slice(0, 60).join('').trim().replaceAll(' ', '-')
    return `${short || 'session'}.${extension}`
  }

  return { blob, text, json, nameFor }
})
