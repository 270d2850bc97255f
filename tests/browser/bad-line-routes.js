/**
 * The table of a bad line without a browser: each change that the page's own modules can ask for, while its route meets a fault.
 * A person presses again after a failure. Then it was made, once; nobody is told that it was not; it did not hang.
 *
 * One line of JSON comes in: {modules, url, direct, key, site, speed, rows}; out go {ask} and, for each row, {row, broken}, as in
 * test_bad_line_routes.py. `modules`: the folder of tests/client of the tree whose page it is.
 */
'use strict'

const { createInterface } = require('node:readline')
const { join } = require('node:path')

const RAW = /\b(?:4\d\d|5\d\d) X\b|undefined|\[object|TypeError|SyntaxError|Failed to fetch|Unexpected token/
/** So often a person presses. */
const PRESSES = 4
/** So long a press may take, in seconds of the page. */
const MOST_S = 300

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const real = setTimeout

async function main() {
  const job = JSON.parse((await lines.next()).value)
  const told = async (ask, ...given) => (say({ ask, given }), JSON.parse((await lines.next()).value))
  globalThis.setTimeout = (work, ms = 0, ...rest) => real(work, ms / job.speed, ...rest)
  const limit = AbortSignal.timeout
  AbortSignal.timeout = (ms) => limit.call(AbortSignal, ms / job.speed)
  const { use } = require(join(job.modules, 'load-modules.js'))
  const apis = use('io/api')
  const line = apis.create({ base: job.url, key: job.key })
  const direct = apis.create({ base: job.direct, key: job.key, timers: { set: real, clear: clearTimeout } })
  const files = (api, id, folder) => use('ext/files/workspace-api').open(api, id, folder)
  const settings = use('ext/server/routes')
  const owner = settings.open(() => line)
  const truth = settings.open(() => direct)
  const put = (id, path, text, folder) => files(direct, id, folder).upload(path, new Blob([text]))
  const namesOf = async (id) => (await files(direct, id).list('')).entries.map((one) => one.path).sort().join()
  const setting = async (name) => (await truth.read()).file.server?.folders?.[name]

  /** `over`: the requests that meet the fault; `begin`; `press`: what a person asks for; `made`: whether the server has it. */
  const ACTIONS = {
    upload: { over: 'PUT /workspaces', press: (id) => files(line, id).upload('a', new Blob(['mine'])), made: async (id) => await namesOf(id) === 'a' },
    'upload in pieces': {
      over: 'PUT /workspaces', press: (id) => files(line, id).upload('a', new Blob(['m'.repeat(2_500_000)])),
      made: async (id) => (await files(direct, id).list('')).entries[0]?.bytes === 2_500_000,
    },
    'upload, while the agent writes': {
      over: 'PUT /workspaces',
      async press(id) {
        const work = files(line, id).upload('a', new Blob(['mine']))
        work.catch(() => {}) // it is waited for below
        await put(id, 'agent', 'the agent’s')
        return work
      },
      made: async (id) => await namesOf(id) === 'a,agent',
      async after(id, answer, before) {
        const now = await files(direct, id).state()
        const [from, to] = 'before' in answer ? [answer.before, answer.after] : now.tree === answer.tree ? [before, undefined] : [] // as the page did
        if (!from) return ''
        await files(direct, id).restore(from, to)
        return await namesOf(id) === 'agent' ? '' : `Undo left ${await namesOf(id)}`
      },
    },
    delete: { over: 'DELETE /workspaces', begin: (id) => put(id, 'a', '1').then(() => put(id, 'b', '1')), press: (id) => files(line, id).remove('a'), made: async (id) => await namesOf(id) === 'b' },
    rename: { over: 'POST /workspaces/.*move', begin: (id) => put(id, 'a', '1'), press: (id) => files(line, id).move('a', 'b'), made: async (id) => await namesOf(id) === 'b' },
    restore: {
      over: 'POST /workspaces/.*restore',
      async begin(id) {
        const { tree } = await put(id, 'a', '1')
        await put(id, 'b', '1')
        return tree
      },
      press: (id, tree) => files(line, id).restore(tree), made: async (id) => await namesOf(id) === 'a',
    },
    apply: { over: 'POST /workspaces/.*apply', begin: (id) => put(id, id, '1', 'notes'), press: (id) => files(line, id, 'notes').apply([id]), made: async (id) => !(await files(direct, id, 'notes').status()).count, answer: ({ applied }) => applied === 1 },
    discard: { over: 'POST /workspaces/.*discard', begin: (id) => put(id, id, '1', 'notes'), press: (id) => files(line, id, 'notes').discard([id]), made: async (id) => !(await files(direct, id, 'notes').status()).count, answer: ({ discarded }) => discarded === 1 },
    'save a setting': {
      over: 'PATCH /settings', begin: async () => (await truth.read()).revision,
      press: (name, revision) => owner.change(revision, [{ path: ['server', 'folders', name], value: { path: job.site, mode: 'read' } }]), made: async (name) => Boolean(await setting(name)),
    },
    'make a key': {
      over: 'POST /settings/keys', press: (name) => owner.addKey({ name }),
      made: async (_, { key }) => Boolean(await apis.create({ base: job.direct, key }).info()),
    },
    'delete a key': { over: 'DELETE /settings/keys', begin: (name) => truth.addKey({ name }), press: (name) => owner.removeKey(name), made: async (name) => !JSON.stringify((await truth.read()).file).includes(name) },
    'save an agent': {
      over: 'PUT /settings/agents', press: (name) => owner.saveAgent(name, { systemPrompt: 'Say arr.' }, ''),
      made: async (name) => (await truth.agents()).agents.some((one) => one.name === name),
    },
    'delete an agent': {
      over: 'DELETE /settings/agents', begin: (name) => truth.saveAgent(name, { systemPrompt: 'Say arr.' }), press: (name) => owner.removeAgent(name),
      made: async (name) => !(await truth.agents()).agents.some((one) => one.name === name),
    },
  }

  /** A server that loads its new settings is asked again. @param {() => Promise<boolean>} holds */
  async function until(holds) {
    for (let n = 0; n < 30; n++) {
      if (await holds().catch(() => false)) return true
      await new Promise((resolve) => { real(resolve, 100) })
    }
    return false
  }

  /** @returns {Promise<[any, any]>} the answer and the failure of one press */
  const pressed = (work) => Promise.race([
    work().then((answer) => [answer, null], (error) => [null, error]),
    new Promise((resolve) => { real(() => resolve([null, { message: 'hangs' }]), MOST_S * 1000 / job.speed) }),
  ])

  for (const [number, { action, fault }] of job.rows.entries()) {
    const { over, begin = async () => {}, press, made, answer: fits = () => true, after = async () => '' } = ACTIONS[action]
    const broken = []
    const id = `row-${number}`
    try {
      const given = await begin(id)
      const before = (await files(direct, id).record().catch(() => ({}))).tree
      await told('fault', { ...fault, path: over })
      let healed = null
      const heal = () => (healed ??= told('heal'))
      real(heal, fault.hold)
      let [answer, error] = [null, null]
      for (let n = 0; n < PRESSES && !answer; n++) {
        if (n) await heal()
        ;[answer, error] = await pressed(() => press(id, given))
        if (error?.message === 'hangs') broken.push('stuck: nothing came of it')
        if (RAW.test(error?.message ?? '')) broken.push(`false: raw words: ${error.message}`)
        const isTold = /there already|changed meanwhile|of this name already|not there|no key named|no agent file/.exec(error?.message ?? '')
        if (isTold) broken.push(`false: ${error.message}`)
      }
      await heal()
      if (!answer) broken.push(`stuck: ${error?.message}`)
      else if (!fits(answer)) broken.push(`false: ${JSON.stringify(answer).slice(0, 200)}`)
      if (!await until(() => made(id, answer ?? {}))) broken.push('lost: it was not made')
      const undone = answer && await after(id, answer, before)
      if (undone) broken.push(`lost: ${undone}`)
    } catch (error) {
      broken.push(`stuck: ${error.stack ?? error}`)
      await told('heal')
    }
    say({ row: `${action} × ${over} × ${fault.label}`, broken: [...new Set(broken)] })
  }
  process.exit(0)
}

main()
