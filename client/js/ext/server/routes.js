// The routes of the server's settings, for its owner. Nothing that comes or goes here is stored in the browser.

yaa.define('ext/server/routes', ['io/api', 'io/changes'], ({ pause: wait }, { once }) => {
  /** A server that loads its new settings is asked again after these. */
  const PAUSES_MS = [100, 200, 400, 800, 1500, 3000, 5000, 5000, 5000, 5000]
  /** A vendor's answer, or the start of an MCP server that downloads itself first. */
  const TRIAL_MS = 330_000

  /** @param {() => Api} api @param {(ms: number) => Promise<void>} [pause] replaced in tests */
  function open(api, pause = wait) {
    /** @param {string} method @param {string} path @param {any} [body] @param {RequestOptions} [options] @returns {Promise<any>} */
    const ask = (method, path, body, options) => api().ask(path, { method, body, ...options })

    /** @param {string} method @param {string} path @param {any} [body] @returns {Promise<any>} */
    const change = (method, path, body) => once(`${method} ${api().base}${path}`, (headers) => ask(method, path, body, { headers, retry: true }))

    /** Wait until the server uses what it was told. @param {any} found @returns {Promise<any>} the settings then, or while they load still */
    async function settled(found) {
      for (const ms of PAUSES_MS) {
        if (found.reload?.state !== 'loading') break
        await pause(ms)
        found = await ask('GET', '/settings')
      }
      return found
    }

    return {
      read: () => ask('GET', '/settings'),
      /** @param {string} revision @param {any[]} changes */
      change: async (revision, changes) => settled(await change('PATCH', '/settings', { revision, changes })),
      /** @param {any} what @param {AbortSignal} [signal] */
      tryProvider: (what, signal) => ask('POST', `/settings/try/${'key' in what ? 'key' : 'provider'}`, what, { signal, silence: TRIAL_MS }),
      /** @param {string} name @param {any} entry @param {AbortSignal} [signal] */
      tryMcp: (name, entry, signal) => ask('POST', '/settings/try/mcp', { name, entry }, { signal, silence: TRIAL_MS }),
      /** @param {string} path '': where one may begin to look */
      folders: (path) => ask('GET', `/settings/folders${path && `?${new URLSearchParams({ path })}`}`),
      /** @param {string} path */
      tryFolder: (path) => ask('POST', '/settings/try/folder', { path }),
      /** @param {any} key */
      addKey: (key) => change('POST', '/settings/keys', key),
      /** @param {string} name */
      removeKey: (name) => change('DELETE', `/settings/keys/${encodeURIComponent(name)}`),
      agents: () => ask('GET', '/settings/agents'),
      /** @param {string} name @param {any} agent @param {string} [revision] of the file that it takes the place of */
      saveAgent: (name, agent, revision) => change('PUT', `/settings/agents/${encodeURIComponent(name)}`, revision === undefined ? { agent } : { agent, revision }),
      /** @param {string} name */
      removeAgent: (name) => change('DELETE', `/settings/agents/${encodeURIComponent(name)}`),
      runs: () => ask('GET', '/settings/runs'),
      /** @param {string} run */
      endRun: (run) => change('DELETE', `/settings/runs/${encodeURIComponent(run)}`),
      /** @param {any} found */
      settled,
    }
  }

  return { open }
})
