// What a person sets in a session, as changes that can be told and kept (core/session-changes).

yaa.define('core/session-settings', ['core/patch'], ({ isObject }) => {
  /** What a person sets of a session. */
  const SETTABLE = ['title', 'agent', 'character', 'config', 'context', 'workspace', 'grants', 'skills', 'ext']
  /** Taken whole: a key of one provider is not for another, a tree belongs to its folder. */
  const UNITS = new Set(['config.llm_api.provider', 'workspace'])
  /** The changes that `work` makes of what a person may set. @param {Session} session @param {(session: Session) => any} work @returns {SessionChange[]} */
  function changesOf(session, work) {
    const { tree, ...ext } = session.ext ?? {} // branches may be long, and are not set
    const before = structuredClone(Object.fromEntries(SETTABLE.map((name) => [name, name === 'ext' ? ext : session[name]])))
    const after = /** @type {Session} */ ({ ...structuredClone(before), id: session.id, messages: session.messages })
    work(after)
    return SETTABLE.flatMap((name) => differences([name], before[name], after[name]))
  }

  /** @param {string[]} path @param {any} before @param {any} after @returns {any[]} */
  function differences(path, before, after) {
    const inside = !UNITS.has(path.join('.')) && [before, after].every((one) => one === undefined || isObject(one))
    if (inside) return [...new Set(Object.keys({ ...before, ...after }))].flatMap((name) => differences([...path, name], before?.[name], after?.[name]))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ kind: 'set', path, value: after }]
  }

  return { changesOf }
})
