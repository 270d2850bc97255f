// Sent in place of a version of the page that the server does not have: it was updated just now, or another server has
// answered. Loads the page again, a few times within a minute, then says so.

(() => {
  const KEY = 'yaa.reloads'
  const [MOST, WITHIN_MS, PAUSE_MS] = [4, 60_000, 500]
  const now = Date.now()

  /** @returns {number[]} when the page was loaded again, lately: as often as allowed where that cannot be kept */
  function lately() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '[]').filter((/** @type {any} */ at) => at > now - WITHIN_MS && at <= now)
      sessionStorage.setItem(KEY, JSON.stringify([...kept, now]))
      return kept
    } catch {
      return Array(MOST).fill(now)
    }
  }

  const tries = lately().length
  if (tries < MOST) setTimeout(() => location.reload(), PAUSE_MS * tries)
  else document.body.textContent = 'The server was updated. Reload the page. 服务器已更新，请重新加载页面。'
})()
