// The settings of the server: keys of vendors, entries of MCP servers, refusals at their fields, and the routes.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use } = require('./load-modules.js')

const { holds, vendorsOf, freeName, mcpEntries, problemsAt, numberOf, isSecret } = use('ext/server/values')
const routes = use('ext/server/routes')

const VENDORS = [
  { vendor: 'openai', preset: 'openai', title: 'OpenAI', key_shape: 'sk-proj-' }, { vendor: 'anthropic', preset: 'anthropic', title: 'Anthropic', key_shape: 'sk-ant-' },
  { vendor: 'deepseek', preset: 'deepseek', title: 'DeepSeek', key_shape: 'sk-' }, { vendor: 'moonshot', preset: 'moonshot', title: 'Moonshot', key_shape: 'sk-' },
  { vendor: 'mistral', preset: 'custom', title: 'Mistral' },
]

test('a key is of the vendors whose beginning fits longest', () => {
  const rows = [
    ['sk-ant-api03-x', ['anthropic']], ['  sk-proj-abc\n', ['openai']], ['sk-abc', ['deepseek', 'moonshot']],
    ['sk-ant-', ['deepseek', 'moonshot']], ['sk-', []], ['', []], ['SK-ANT-x', []], ['hello', []], ['__proto__', []],
  ]
  for (const [key, names] of rows) assert.deepStrictEqual(vendorsOf(key, VENDORS).map((one) => one.vendor), names, key)
  assert.deepStrictEqual(vendorsOf('sk-abc', []), [])
})

test('a change that the file has already was made', () => {
  const file = { server: { folders: { a: { path: '/a', mode: 'read' } }, providers: { main: { api_key: { secret: true, tail: '1' } } } } }
  const at = ['server', 'folders', 'a']
  const rows = [
    [[{ path: at, value: { mode: 'read', path: '/a' } }], true], [[{ path: at, value: { path: '/b' } }], false], [[{ path: [...at, 'mode'], value: 'read' }], true],
    [[{ path: ['server', 'folders', 'b'], remove: true }], true], [[{ path: at, remove: true }], false], [[{ path: ['server', 'none', 'x'], value: 1 }], false],
    [[{ path: at, value: { path: '/a', mode: 'read' } }, { path: at, remove: true }], false], [[{ path: ['server', 'providers', 'main', 'api_key'], value: 'sk-1' }], false],
    [[{ path: ['server', 'none'], value: undefined }], false],
  ]
  for (const [changes, is] of rows) assert.strictEqual(holds(file, changes), is, JSON.stringify(changes))
})

test('a name that is not taken', () => {
  const rows = [['openai', {}, 'openai'], ['openai', { openai: {} }, 'openai-2'], ['openai', { openai: {}, 'openai-2': {} }, 'openai-3'], ['my site!', {}, 'my-site'], ['', {}, 'main'], ['漢字', {}, 'main'], ['toString', {}, 'toString']]
  for (const [name, taken, free] of rows) assert.strictEqual(freeName(name, taken), free, name)
})

test('MCP servers as they are pasted', () => {
  const files = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/notes'] }
  const rows = [
    [JSON.stringify({ mcpServers: { files } }), [['files', files]]],
    [JSON.stringify({ servers: { files } }), [['files', files]]],
    [JSON.stringify({ mcp: { servers: { files } } }), [['files', files]]],
    [JSON.stringify({ files, web: { url: 'https://a.b/mcp' } }), [['files', files], ['web', { url: 'https://a.b/mcp' }]]],
    [JSON.stringify(files), [['filesystem', files]]],
    [JSON.stringify({ name: 'notes', ...files }), [['notes', files]]],
    [`"files": ${JSON.stringify(files)},`, [['files', files]]],
    ['https://mcp.notion.com/mcp', [['notion', { url: 'https://mcp.notion.com/mcp' }]]],
    ['http://127.0.0.1:8000/mcp', [['server', { url: 'http://127.0.0.1:8000/mcp' }]]],
    ['npx -y @modelcontextprotocol/server-memory@latest', [['memory', { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory@latest'] }]]],
    ['"C:\\\\my tools\\\\words.exe" --fast', [['words', { command: 'C:\\my tools\\words.exe', args: ['--fast'] }]]],
    ["uvx 'mcp-server-git' --repo '/a b'", [['git', { command: 'uvx', args: ['mcp-server-git', '--repo', '/a b'] }]]],
  ]
  for (const [text, entries] of rows) assert.deepStrictEqual(mcpEntries(text).entries.map(({ name, entry }) => [name, entry]), entries, text)
  const wrong = [['', 'host.mcp.empty'], ['  \n', 'host.mcp.empty'], ['{"mcpServers": ', 'host.mcp.notJson'], ['{}', 'host.mcp.notEntry'], ['{"a": 1}', 'host.mcp.notEntry'], ['{"mcpServers": {"a": {"x": 1}}}', 'host.mcp.notEntry'], ['{"a": null}', 'host.mcp.notEntry'], ['https://', 'host.mcp.badUrl']]
  for (const [text, problem] of wrong) assert.deepStrictEqual(mcpEntries(text), { entries: [], problem }, text)
})

test('a refusal stands at the field that it is about', () => {
  const fields = { name: ['server', 'providers', 'a.b'], url: ['server', 'providers', 'a.b', 'api_url'] }
  const at = (...errors) => problemsAt(errors, fields)
  assert.deepStrictEqual(at({ pointer: '/server/providers/a.b/api_url', detail: 'no address' }), { fields: { url: 'no address' }, rest: [] })
  assert.deepStrictEqual(at({ pointer: '/server/providers/a.b/other', detail: 'unknown' }), { fields: { name: 'unknown' }, rest: [] }, 'the nearest above it')
  assert.deepStrictEqual(at({ pointer: '/server/port', detail: 'x' }, { pointer: '', detail: 'y' }, {}), { fields: {}, rest: ['x', 'y', ''] })
  assert.deepStrictEqual(problemsAt([{ pointer: 'server.providers.main.api_url', detail: 'z' }], { url: ['server', 'providers', 'main', 'api_url'] }).fields, { url: 'z' })
  const twice = [{ pointer: '/server/providers/a.b/api_url', detail: '1' }, { pointer: '/server/providers/a.b/api_url', detail: '2' }]
  assert.deepStrictEqual(at(...twice), { fields: { url: '1' }, rest: ['2'] }, 'none is lost')
})

test('numbers as they are typed, and what stands for a secret', () => {
  const rows = [['', undefined], [' ', undefined], ['0', 0], ['1.5', 1.5], ['1,5', 1.5], ['-1', null], ['x', null], ['1e999', null], ['12 000', null]]
  for (const [text, value] of rows) assert.strictEqual(numberOf(text), value, text)
  for (const [value, is] of [[{ secret: true, tail: '…abcd' }, true], [{ secret: true }, true], [{ secret: 'x' }, false], ['${KEY}', false], [null, false], [undefined, false]]) assert.strictEqual(isSecret(value), is)
})

/** A server that answers what it is told to, and keeps what it was asked. */
function server(...answers) {
  const asked = []
  const ask = async (path, { method, body }) => {
    asked.push([method, path, ...(body ? [body] : [])])
    return answers.shift()
  }
  const pauses = []
  return { asked, pauses, routes: routes.open(() => ({ ask }), async (ms) => { pauses.push(ms) }) }
}

test('a change is waited for until the server uses it', async () => {
  const { asked, pauses, routes } = server({ reload: { state: 'loading' } }, { reload: { state: 'loading' } }, { reload: { state: 'ready' }, revision: '2' })
  const found = await routes.change('1', [{ path: ['server', 'port'], value: 1 }])
  assert.strictEqual(found.revision, '2')
  assert.deepStrictEqual(asked, [['PATCH', '/settings', { revision: '1', changes: [{ path: ['server', 'port'], value: 1 }] }], ['GET', '/settings'], ['GET', '/settings']])
  assert.deepStrictEqual(pauses, [100, 200])
})

test('one that loads for ever is given up, and says that it loads still', async () => {
  const answers = Array.from({ length: 50 }, () => ({ reload: { state: 'loading' } }))
  const { asked, routes } = server(...answers)
  assert.strictEqual((await routes.change('1', [])).reload.state, 'loading')
  assert.strictEqual(asked.length, 11)
})

test('names go into addresses as one part', async () => {
  const { asked, routes } = server({}, null, null)
  await routes.saveAgent('../x/y', { a: 1 })
  assert.strictEqual(await routes.removeAgent('a?b'), null)
  await routes.removeKey('漢 字/..')
  assert.deepStrictEqual(asked.map(([, path]) => path), ['/settings/agents/..%2Fx%2Fy', '/settings/agents/a%3Fb', '/settings/keys/%E6%BC%A2%20%E5%AD%97%2F..'])
})
