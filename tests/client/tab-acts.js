// What a person does inside a tab in stories (tab-stories.js), and the server that its runs speak to. Pages get these two
// functions as text: each stands alone.
'use strict'

/** A server of one tab: its runs say a word, and end when the story says so. @param {{mark: string, dead?: boolean}} owner `mark`: of its messages */
function serverOf(owner) {
  const encoder = new TextEncoder()
  /** @type {Set<any>} */ const open = new Set()
  let serial = 0
  const emit = (/** @type {any} */ one, /** @type {any} */ event) => one.controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`))

  /** @param {any} one @param {string} status @param {string} reason */
  function end(one, status, reason) {
    open.delete(one)
    emit(one, { type: 'TEXT_MESSAGE_END', messageId: one.message })
    emit(one, { type: 'RUN_FINISHED', threadId: one.id, runId: one.run, outcome: { type: 'success' }, result: { status, finish_reason: reason, rev: 1 } })
    one.controller.close()
  }

  /** @param {string} id */
  function begin(id) {
    const n = `${owner.mark}-${++serial}`
    /** @type {any} */ const one = { id, run: `run${n}`, message: `m${n}` }
    const stream = new ReadableStream({ start: (controller) => { one.controller = controller } })
    open.add(one)
    emit(one, { type: 'RUN_STARTED', threadId: id, runId: one.run, metadata: { yaa: { run: { id: one.run } } } })
    emit(one, { type: 'TEXT_MESSAGE_START', messageId: one.message, role: 'assistant' })
    emit(one, { type: 'TEXT_MESSAGE_CONTENT', messageId: one.message, delta: 'well' })
    return { one, response: new Response(stream, { headers: { 'Content-Type': 'text/event-stream' } }) }
  }

  /** Null: it is no request of a run. @param {string} path @param {any} options @returns {any} */
  function answer(path, { method, body, signal }) {
    if (owner.dead) return new Promise(() => {})
    if (method !== 'POST' || !['/session', '/session/stop'].includes(path)) return null
    const { id } = JSON.parse(body)
    if (path === '/session/stop') {
      for (const one of open) if (one.id === id) end(one, 'interrupted', 'stopped')
      return Promise.resolve(Response.json({ stopped: true }))
    }
    const { one, response } = begin(id)
    signal?.addEventListener('abort', () => { if (open.delete(one)) one.controller.error(signal.reason) })
    return Promise.resolve(response)
  }

  return { answer, endAll: () => { for (const one of [...open]) end(one, 'completed', 'completed') } }
}

/**
 * @param {any} tab {sessionStore, queue, settings, store, storage, server, owner, isBusy, canResume}
 * @returns {Record<string, (act: any) => any>} what comes of an act, where the story has to know it
 */
function actsOf({ sessionStore, queue, settings, store, storage, server, owner, isBusy, canResume }) {
  const NAMES = ['asks', 'talk', 'gone']
  let mark = ''
  /** @type {any} */ let deleted = null
  const idOf = (/** @type {string} */ name) => name + mark
  const entry = (/** @type {string} */ name) => sessionStore.entry(idOf(name))
  const amend = (/** @type {string} */ name, /** @type {any} */ work) => sessionStore.amend(entry(name), work).then(() => {})
  return {
    /** Before all: the sessions as they are then. */
    async begin({ sessions }) { for (const one of sessions) await store.put(one) },
    async open(act) {
      mark = act.mark
      deleted = null
      for (const name of NAMES) await sessionStore.open(idOf(name))
      return settings.draft(idOf('talk'))
    },
    set: ({ words, where }) => amend(where, (/** @type {any} */ one) => { one.config = { ...one.config, limits: { ...one.config?.limits, [words]: 1 } } }),
    upload: ({ words, where }) => amend(where, (/** @type {any} */ one) => { one.workspace = { ...one.workspace, tree: words } }),
    rename: ({ words, where }) => sessionStore.rename(idOf(where), words).then(() => {}),
    async answer({ question, yes }) { await sessionStore.answer(entry('asks'), [[question, { status: 'resolved', payload: { approved: yes } }]]) },
    edit: ({ words, where }) => sessionStore.edit(entry(where), (/** @type {any} */ one) => {
      one.messages = one.messages.map((/** @type {any} */ message, /** @type {number} */ i) => (i ? message : { ...message, content: words }))
      return true
    }),
    /** As ui/app does with what is sent. True: it is stored, and waits. */
    async say({ words }) {
      if (isBusy(entry('talk'))) return queue.add(words, entry('talk')).then(() => true)
      sessionStore.send(entry('talk'), words)
    },
    /** Other words for the first that waits. */
    async change({ words }) {
      const [first] = queue.of(entry('talk').session)
      if (first) sessionStore.queue(entry('talk'), first.id, words)
      return first?.content
    },
    end() { server.endAll() },
    stop() { entry('talk').run?.stop() },
    async remove() {
      deleted = await sessionStore.remove(idOf('gone')) ?? deleted
      return Boolean(deleted)
    },
    touch: ({ words }) => sessionStore.rename(idOf('gone'), words).then(() => {}),
    async restore() { await sessionStore.restore(deleted) },
    import: ({ words }) => sessionStore.restore({ id: words, version: 1, rev: 0, messages: [{ id: 'u', role: 'user', content: words, at: 1 }] }),
    draft({ words }) { settings.setDraft(idOf('talk'), words) },
    undraft() { settings.setDraft(idOf('talk'), '') },
    freeze() { owner.frozen = true },
    thaw() { owner.frozen = false },
    /** Go on with what a tab has left that is gone. */
    resume() { if (canResume(entry('talk').session)) sessionStore.retry(entry('talk')) },
    runs: () => NAMES.filter((name) => entry(name)?.going),
    async stored() {
      const names = Array.from({ length: storage.length }, (_, n) => storage.key(n)).filter((name) => name.startsWith('yaa.draft ') && name.endsWith(` ${idOf('talk')}`))
      return {
        ids: (await store.list()).map(({ id }) => id),
        sessions: await Promise.all(NAMES.map(async (name) => [name, await store.get(idOf(name))])),
        waits: (await Promise.all(['asks', 'talk'].map(async (name) => (await store.look(idOf(name))).changes))).flat(),
        drafts: names.map((name) => storage.getItem(name)),
      }
    },
  }
}

module.exports = { serverOf, actsOf }
