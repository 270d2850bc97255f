// Files let go over the list of sessions are imported. The composer takes those that are let go anywhere else.

yaa.define('ui/drops', ['ui/h', 'ui/commands'], ({ attr }, commands) => {
  function start() {
    const sideOf = (/** @type {any} */ target) => target?.closest?.('.side')
    const mark = (/** @type {any} */ el, /** @type {boolean} */ on) => el && attr(el, 'data-drop', on ? 'true' : null)
    for (const type of ['dragover', 'dragleave', 'drop']) document.addEventListener(type, (/** @type {any} */ event) => {
      const side = sideOf(event.target)
      if (!side || !event.dataTransfer?.types.includes('Files')) return
      if (type === 'dragleave') return side.contains(event.relatedTarget) || mark(side, false)
      event.preventDefault() // or the page would be left for them
      mark(side, type === 'dragover')
      if (type === 'drop') commands.run('sessions.import', [...event.dataTransfer.files])
    })
  }

  return { start }
})
