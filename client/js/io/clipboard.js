// Copying text. navigator.clipboard is missing on plain-http addresses; there the old command does it, within a click.

yaa.define('io/clipboard', [], () => {
  /** @param {string} text @returns {Promise<boolean>} whether it is on the clipboard now */
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      return copySelected(text)
    }
  }

  /** @param {string} text */
  function copySelected(text) {
    const before = /** @type {HTMLElement | null} */ (document.activeElement)
    const area = document.createElement('textarea')
    area.value = text
    area.style.setProperty('position', 'fixed')
    area.style.setProperty('opacity', '0')
    // a modal dialog makes everything outside of it inert
    const modal = before?.closest('dialog') ?? document.body
    modal.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    before?.focus()
    return done
  }

  return { copy }
})
