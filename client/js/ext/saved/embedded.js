// The exported page: one session and the whole client in one file. It calls no server and stores nothing until the person
// asks for it: "Continue" asks for a server and its key, "Keep" moves the session into this browser's storage, after which
// the file opens as the ordinary client. The session counts as imported until its permissions are taken over.

yaa.define('ext/saved/embedded', [
  'ui/dom', 'ui/i18n', 'ui/popup', 'ui/dialog', 'ui/connection-checks', 'ui/app', 'ui/session-store', 'core/sanitize', 'core/ids', 'core/branch-tree', 'ui/removed-permissions', 'ext/saved/page-file', 'io/settings',
  'io/store-idb', 'io/store-memory', 'i18n/commands', 'i18n/settings', 'ext/saved/texts', 'ext/saved/style',
], (
  { h, icon, uid, text, attr }, words, { toast, say }, { openDialog }, { wordsOf }, { startApp }, { openSessionStore }, { sanitize, UNKNOWN }, { uuid }, tree, removedPermissions, { ID }, settings,
  stores, memory,
) => {
  const { t } = words
  /** Files whose session was kept: they open as the ordinary client. */
  const KEPT = 'yaa.kept'
  /** There was a server once: when it does not answer, that is said as in any client. A dialog would take what was written. */
  let met = false

  /** The session in this page, if it is a page in one file whose session was not kept. @returns {any} */
  function embeddedSession() {
    const element = document.getElementById(ID)
    const data = element && JSON.parse(element.textContent ?? '')
    if (!data?.session) return null
    if (isKept(fileOf(data))) {
      if (!location.hash) history.replaceState(null, '', `#s=${encodeURIComponent(data.session.id)}`)
      return null
    }
    return { ...data, ...sanitize(data.session, UNKNOWN) }
  }

  /** @param {Store} store @param {Session} session */
  const putInto = (store, session) => openSessionStore({ store, api: () => /** @type {any} */ (null), prepare() {}, onChange() {}, onEnd() {}, onUnsaid() {} }).restore(session)

  /** Another file has another state of the session. @param {{session: Session, saved: string}} data */
  const fileOf = ({ session, saved }) => `${session.id} ${saved}`

  /** @param {string} file */
  const isKept = (file) => keptFiles().includes(file)

  /** @returns {string[]} */
  function keptFiles() {
    try {
      return JSON.parse(localStorage.getItem(KEPT) ?? '[]')
    } catch {
      return []
    }
  }

  /** @param {HTMLElement} root @param {any} data what `embeddedSession` gave */
  async function start(root, data) {
    const { session, removed, saved, objects } = data
    const file = fileOf(data)
    const store = memory.open()
    await putInto(store, session)
    const copies = await yaa.part('copies')
    if (objects) await copies?.takeBack(session, copies.decoded(objects), false)
    const own = settings.open({ storage: null })
    own.set('side', 'closed')
    /** @type {() => void} */ let joined = () => {}
    /** @type {(() => void)[]} */ const waiting = []
    /** Shown once by itself, before anything is sent. @type {import('../../ui/types').ImportedSession[]} */ let untold = [{ id: session.id, title: session.title, removed }]

    /** @param {import('../../ui/types').App} app @param {import('../../ui/types').Actions} actions @param {() => void} [act] */
    const connected = (app, actions, act) => join(app, actions, () => {
      joined()
      const brought = untold.splice(0)
      removedPermissions.showRemoved(app, brought, { onclose: () => act?.() })
      for (const one of waiting.splice(0)) one()
    })
    /** @type {import('../../ui/types').StandalonePage} */
    const standalone = {
      id: session.id,
      foot(app, actions, composer) {
        const n = removedPermissions.reportable(removed).length
        const tell = n ? () => removedPermissions.showRemoved(app, [{ id: session.id, title: session.title, removed }]) : null
        const foot = footView(app, composer, saved, { go: () => connected(app, actions), stay: () => keep(app, file), tell, n })
        joined = foot.show
        return foot.el
      },
      hold(app, actions) {
        askBeforeLeaving(app, session, file)
        return holdOf(app, actions, waiting, (act) => connected(app, actions, act))
      },
    }
    await startApp({ root, settings: own, store, standalone }).start()
  }

  /**
   * Ask who closes the page whether what was said since may go: it is neither in the file nor in the browser's storage.
   * @param {import('../../ui/types').App} app @param {Session} saved the session as it is in the file @param {string} file
   */
  function askBeforeLeaving(app, { id, messages }, file) {
    const before = JSON.stringify(messages)
    addEventListener('beforeunload', (event) => {
      const now = app.sessionStore.entry(id)?.session.messages
      if (now && !isKept(file) && JSON.stringify(now) !== before) event.preventDefault()
    })
  }

  /**
   * What would call a server asks for one first; then it is done. A file that nobody has pressed for waits until then.
   * @param {import('../../ui/types').App} app @param {import('../../ui/types').Actions} actions @param {(() => void)[]} waiting
   * @param {(act?: () => void) => void} connect
   */
  function holdOf(app, actions, waiting, connect) {
    const held = /** @type {any} */ ({ ...actions })
    const ready = () => met || app.server.state().ok
    for (const name of ['send', 'goOn', 'answer', 'answerAll']) {
      held[name] = (/** @type {any[]} */ ...rest) => {
        const act = () => /** @type {any} */ (actions)[name](...rest)
        if (ready()) return act()
        connect(act)
      }
    }
    held.file = async (/** @type {string} */ path, asked = false) => {
      if (!ready()) {
        const kept = await (await yaa.part('copies'))?.fileOf(app.current.session, path)
        if (kept) return kept
        const joined = new Promise((resolve) => { waiting.push(() => resolve(undefined)) })
        if (asked) connect()
        await joined
      }
      return actions.file(path)
    }
    return held
  }

  /**
   * What stands in the place of the composer until there is a server to write to.
   * @param {import('../../ui/types').App} app @param {any} composer its element @param {string} saved
   * @param {{go: () => void, stay: () => void, tell: (() => void) | null, n: number}} does `tell`: show what the session wanted to allow, `n` things
   */
  function footView(app, composer, saved, { go: connect, stay, tell, n }) {
    const date = Number.isFinite(Date.parse(saved)) ? ` (${words.moment(Date.parse(saved))})` : ''
    const note = h('p')
    const go = h('button.button.primary', { type: 'button', onclick: connect }, icon('send'), t('standalone.continue'))
    const keepIt = h('button.button', { type: 'button', onclick: stay }, icon('download'), t('standalone.keep'))
    const more = tell ? h('button.button.ghost', { type: 'button', onclick: tell }, icon('hand'), t('foreign.open', { n })) : null
    const bar = h('section.standalone', { 'aria-label': t('standalone.label') }, note, h('div.inline-row', null, go, keepIt, more))
    const el = h('div', null, h('div.column', null, bar), composer)

    function show() {
      const joined = app.server.state().ok
      text(note, joined ? t('standalone.joined') : t('standalone.note', { date }))
      attr(bar, 'data-joined', joined)
      go.hidden = joined
      composer.hidden = !joined
    }

    show()
    return { el, show }
  }

  /**
   * Ask for a server and a key, and go on there.
   * @param {import('../../ui/types').App} app @param {import('../../ui/types').Actions} actions @param {() => void} done
   */
  function join(app, actions, done) {
    const ids = [uid('url'), uid('key')]
    const plain = { autocomplete: 'off', autocapitalize: 'off', spellcheck: false }
    const url = h('input.input', { id: ids[0], type: 'url', inputmode: 'url', value: app.settings.base(), ...plain })
    const key = h('input.input', { id: ids[1], type: 'password', value: app.settings.key(), ...plain })
    const problem = h('p.problem', { role: 'alert', hidden: true })
    const form = h('form.group', { onsubmit: connect },
      h('p.hint', null, t('standalone.joinHint')),
      h('div.field', null, h('label', { htmlFor: ids[0] }, t('settings.url')), url),
      h('div.field', null, h('label', { htmlFor: ids[1] }, t('settings.key')), key, h('p.hint', null, t('standalone.keyHint'))),
      problem, h('div.form-end', null, h('button.button.primary', { type: 'submit' }, t('standalone.connect'))))
    const dialog = openDialog({ title: t('standalone.continue'), body: form })
    const first = key.value ? url : key
    first.focus()

    /** @param {Event} event */
    async function connect(event) {
      event.preventDefault()
      await yaa.load('sign-in')
      const link = await yaa.use('ui/sign-in').redeem(key.value.includes('#code=') ? key.value : url.value)
      if (!link) return
      app.settings.setBase(link.address)
      app.settings.setKey(link.key || key.value || app.settings.key(), { remember: false })
      await app.server.connect()
      const state = app.server.state()
      problem.hidden = state.ok
      text(problem, state.ok ? '' : [wordsOf(state), state.failure?.detail].filter(Boolean).join(' – '))
      if (!state.ok) return
      met = true
      dialog.close()
      done()
      actions.draw()
      app.views.composer.focus()
      say(t('server.ready'))
    }
  }

  /**
   * Into the storage of this browser; from now on the file is a client like any other. Pages from disk may share that
   * storage: what another one has of the session stays, and what is here comes beside it.
   * @param {import('../../ui/types').App} app @param {string} file
   */
  async function keep(app, file) {
    const store = await stores.open()
    if (store.kind === 'memory') return toast(t('standalone.keepFailed'), { bad: true })
    await app.current.run?.done // what is being said belongs to it
    const { session } = app.current
    const copies = await yaa.part('copies')
    const objects = await copies?.bytesOf(session.id)
    const there = await store.get(session.id)
    const isThere = there !== null && tree.merge(there, session) === 0
    const kept = { ...session, id: there && !isThere ? uuid() : session.id }
    if (!isThere) await putInto(store, kept).then(() => copies?.takeBack(kept, objects, true))
    await store.flush()
    localStorage.setItem(KEPT, JSON.stringify([...keptFiles(), file]))
    history.replaceState(null, '', `#s=${encodeURIComponent(kept.id)}`)
    location.reload()
  }

  return { embeddedSession, start }
})
