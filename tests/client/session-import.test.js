// Sessions out of files of every kind, and what they may not bring along.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const { use, yaa, random, rounds, cpu, ROOT } = require('./load-modules.js')

const { readSessions: read, exportDocument } = use('core/session-import')
const readSessions = (text, name, defaults) => read(text, name, defaults, use('ext/imports/formats'))
const plain = (value) => JSON.parse(JSON.stringify(value))
const said = (session) => session.messages.map((message) => `${message.role}: ${typeof message.content === 'string' ? message.content : JSON.stringify(message.content)}`)
const ours = { id: 'abc', version: 1, start_time: '2026-01-01T00:00:00Z', title: 'Mine', messages: [{ id: 'm1', role: 'user', content: 'hi', mine: 1 }], ext: { tags: ['a'] } }

test('our own document, page, list and export of all', () => {
  assert.deepStrictEqual(plain(readSessions(JSON.stringify(ours))), { kind: 'session', sessions: [{ rev: 0, ...ours }], removed: [[]] })
  assert.deepStrictEqual(readSessions(`\ufeff${JSON.stringify([ours, { ...ours, id: 'def' }])}`).sessions.map((one) => one.id), ['abc', 'def'])
  const all = readSessions(JSON.stringify(exportDocument([ours], [{ name: 'p' }], '2026')))
  assert.deepStrictEqual([all.kind, all.sessions.length, all.prompts], ['all', 1, [{ name: 'p' }]])
  const copy = readSessions(JSON.stringify(use('core/backup').backup([ours], 0)))
  assert.deepStrictEqual([copy.kind, plain(copy.sessions), copy.prompts], ['all', [{ rev: 0, ...ours }], []])
})

test('what does not come in is counted', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const said = [{ id: 'm1', role: 'user', content: 'hi' }, { id: 'm2', role: 'assistant', content: '', tool_calls: [call] }]
  const result = { role: 'tool', tool_call_id: 'c1', content: '1' }
  const branch = { id: 'b', at: 'm1', state: {}, calls: {}, messages: [{ id: 'm9', role: 'narrator', content: 'x' }, { id: 'm8', role: 'user', content: 'y' }] }
  const rows = [ // a document, what is left, how many messages are there
    [ours, undefined, 1],
    [{ ...ours, messages: [...said, result] }, undefined, 3],
    [{ ...ours, messages: [...said, result, { ...result, content: '2' }] }, { versions: [], sessions: 0, messages: 1, parts: 0 }, 3],
    [{ ...ours, messages: [...said, { ...result, tool_call_id: 'c2' }] }, { versions: [], sessions: 0, messages: 1, parts: 0 }, 2],
    [{ ...ours, messages: [...said, { role: 'narrator', content: 'x' }] }, { versions: [], sessions: 0, messages: 1, parts: 0 }, 2],
    [{ ...ours, ext: { tree: { branches: [branch] } } }, { versions: [], sessions: 0, messages: 1, parts: 0 }, 1],
    [[ours, { ...ours, messages: [] }], { versions: [], sessions: 1, messages: 0, parts: 0 }, 1],
    [{ ...ours, version: 2 }, { versions: ['2'], sessions: 0, messages: 0, parts: 0 }, undefined],
    [[{ ...ours, version: '99' }, ours], { versions: ['99'], sessions: 0, messages: 0, parts: 0 }, 1],
    [{ ...exportDocument([ours], [], ''), version: 2 }, { versions: ['2'], sessions: 0, messages: 0, parts: 0 }, undefined],
    [{ yaa_backup: 7, sessions: [ours] }, { versions: ['7'], sessions: 0, messages: 0, parts: 0 }, undefined],
  ]
  for (const [document, left, count] of rows) {
    const made = readSessions(JSON.stringify(document))
    assert.deepStrictEqual(plain(made.left ?? null), left ?? null, JSON.stringify(document))
    assert.strictEqual(made.sessions[0]?.messages.length, count, JSON.stringify(document))
  }
})

const CALL = { name: 'time', arguments: '{}' }
const FORMS = { // of each the same talk: a question, a call, its result, an answer
  'AI SDK, what a page keeps': [
    { id: 'u1', role: 'user', createdAt: '2026-03-01T00:00:00Z', parts: [{ type: 'text', text: 'Late?' }] },
    { id: 'u2', role: 'assistant', parts: [{ type: 'step-start' }, { type: 'reasoning', text: 'hm' }, { type: 'tool-time', toolCallId: 'a', state: 'output-available', input: {}, output: 'noon' }, { type: 'step-start' }, { type: 'text', text: 'No.' }] },
  ],
  'AI SDK 4': [{ role: 'user', content: 'Late?' }, { role: 'assistant', parts: [{ type: 'reasoning', reasoning: 'hm', text: 'hm' }, { type: 'tool-invocation', toolInvocation: { toolCallId: 'a', toolName: 'time', args: {}, state: 'result', result: 'noon' } }, { type: 'text', text: 'No.' }] }],
  'AI SDK, what it sends': [
    { role: 'user', content: [{ type: 'text', text: 'Late?' }] }, { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, { type: 'tool-call', toolCallId: 'a', toolName: 'time', input: {} }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'time', output: { type: 'text', value: 'noon' } }] }, { role: 'assistant', content: 'No.' },
  ],
  'items of Responses': [
    { role: 'user', content: [{ type: 'input_text', text: 'Late?' }] }, { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'hm' }] }, { type: 'function_call', call_id: 'a', ...CALL },
    { type: 'function_call_output', call_id: 'a', output: 'noon' }, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'No.' }] },
  ],
  'blocks of Messages': [
    { role: 'user', content: 'Late?' }, { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 's' }, { type: 'tool_use', id: 'a', name: 'time', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'noon' }] }] }, { role: 'assistant', content: 'No.' },
  ],
  '2023': [{ role: 'user', content: 'Late?' }, { role: 'assistant', reasoning: 'hm', content: null, function_call: CALL }, { role: 'function', name: 'time', content: 'noon' }, { role: 'assistant', content: 'No.' }],
  'calls without ids': [{ role: 'user', content: 'Late?' }, { role: 'assistant', reasoning: 'hm', content: '', tool_calls: [{ function: { name: 'time', arguments: {} } }] }, { role: 'tool', tool_name: 'time', content: 'noon' }, { role: 'assistant', content: 'No.' }],
  'LLaMA-Factory': [{ role: 'user', content: [{ type: 'text', text: 'Late?' }] }, { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, { type: 'tool_call', value: '{"name": "time", "arguments": {}}' }] }, { role: 'tool', content: 'noon' }, { role: 'assistant', content: 'No.' }],
}

test('messages in the forms of APIs and libraries are the same talk, whole', () => {
  for (const [name, list] of Object.entries(FORMS)) {
    for (const file of [list, { messages: list }, { model: 'm', input: list }]) {
      const { kind, sessions: [session], left } = readSessions(JSON.stringify(file), 'f')
      assert.deepStrictEqual([kind, left], ['messages', undefined], name)
      const text = (content) => (Array.isArray(content) ? content.map((part) => part.text).join() : content)
      const [user, call, result, answer] = session.messages
      assert.deepStrictEqual(session.messages.map(({ role, content }) => [role, text(content)]), [['user', 'Late?'], ['assistant', ''], ['tool', 'noon'], ['assistant', 'No.']], name)
      assert.deepStrictEqual([call.reasoning.text, plain(call.tool_calls[0].function)], ['hm', CALL], name)
      assert.ok(call.tool_calls[0].id && result.tool_call_id === call.tool_calls[0].id && !call.function_call && !answer.parts && !user.parts, name)
    }
  }
})

test('parts that no session has are named and counted, pictures are shown, calls made together stay so', () => {
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }
  const rows = [ // content, what it is in a session, how many parts are only named
    [[{ type: 'text', text: 'a' }, picture], [{ type: 'text', text: 'a' }, picture], 0],
    [[{ type: 'input_text', text: 'a' }, { type: 'input_image', image_url: 'data:image/png;base64,AA' }], [{ type: 'text', text: 'a' }, picture], 0],
    [[{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA' }], [picture], 0],
    [[{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } }], [picture], 0],
    [[{ type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', url: 'data:application/pdf;base64,AA' }], '[a.pdf]', 1],
    [[{ type: 'data-weather', data: {} }, { type: 'text', text: 'b' }], [{ type: 'text', text: '[data-weather]' }, { type: 'text', text: 'b' }], 1],
    [[{ type: 'hologram', text: 'seen' }], 'seen', 1],
  ]
  for (const [content, expected, parts] of rows) {
    const { sessions: [session], left } = readSessions(JSON.stringify([{ role: 'user', content }]), 'f')
    assert.deepStrictEqual([plain(session.messages[0].content), left?.parts ?? 0], [expected, parts], JSON.stringify(content))
  }
  const call = (id) => ({ type: 'function_call', call_id: id, ...CALL })
  const output = (id) => ({ type: 'function_call_output', call_id: id, output: id })
  const { sessions: [session] } = readSessions(JSON.stringify([{ role: 'user', content: 'x' }, call('a'), call('b'), output('a'), output('b')]))
  assert.deepStrictEqual([session.messages.map(({ role }) => role), session.messages[1].tool_calls.length], [['user', 'assistant', 'tool', 'tool'], 2])
})

test('roles and statuses that the server reads are read here too', () => {
  const script = 'import json; from server.session.schema import ROLE_ALIASES, STATUS_ALIASES; print(json.dumps([ROLE_ALIASES, STATUS_ALIASES]))'
  const [roles, statuses] = JSON.parse(spawnSync('python3', ['-c', script], { cwd: ROOT, encoding: 'utf8' }).stdout)
  const call = { role: 'assistant', content: '', tool_calls: [{ id: 'c', type: 'function', function: CALL }] }
  for (const [theirs, role] of Object.entries(roles)) {
    const made = readSessions(JSON.stringify([call, { role: theirs, content: 'x', tool_call_id: 'c' }]))
    assert.deepStrictEqual([made.sessions[0]?.messages.at(-1).role, made.left], [role, undefined], theirs)
    const branch = { id: 'b', at: 'm1', state: {}, calls: {}, messages: [{ id: 'm9', role: theirs, content: 'x', tool_call_id: 'none' }] }
    const held = readSessions(JSON.stringify({ ...ours, ext: { tree: { branches: [branch] } } })).sessions[0].ext?.tree?.branches ?? []
    if (role !== 'tool') assert.deepStrictEqual(held[0].messages[0].role, role, theirs)
  }
  for (const [theirs, status] of Object.entries(statuses)) assert.strictEqual(readSessions(JSON.stringify({ ...ours, status: theirs })).sessions[0].status, status, theirs)
})

test('files of coding agents are known by name, and nothing of them is taken for something else', () => {
  const lines = (...all) => all.map((one) => JSON.stringify(one)).join('\n')
  const rows = [
    ['Claude Code', lines({ type: 'summary', summary: 's' }, { type: 'user', sessionId: 's', parentUuid: null, cwd: '/w', uuid: 'u', message: { role: 'user', content: 'hi' } })],
    ['Codex', lines({ timestamp: 't', type: 'session_meta', payload: { id: 'x' } }, { timestamp: 't', type: 'response_item', payload: { type: 'message', role: 'user' } })],
    ['Gemini CLI', JSON.stringify({ sessionId: 's', projectHash: 'h', messages: [{ id: '1', type: 'user', content: 'hi' }, { id: '2', type: 'gemini', content: 'ho' }] })],
  ]
  for (const [program, text] of rows) assert.deepStrictEqual(plain(readSessions(text)), { kind: '', sessions: [], removed: [], program }, program)
})

test('messages of Chat Completions: alone, in a request, in lines', () => {
  const messages = [{ role: 'developer', content: 'be kind' }, { role: 'user', content: 'Hello\nthere' }, { role: 'assistant', content: 'Hi' }]
  for (const text of [JSON.stringify(messages), JSON.stringify({ model: 'x', messages }), `${JSON.stringify({ messages })}\n`]) {
    const { kind, sessions: [session] } = readSessions(text, 'talk.json')
    assert.deepStrictEqual([kind, session.title, said(session)], ['messages', 'Hello there', ['system: be kind', 'user: Hello\nthere', 'assistant: Hi']])
    assert.ok(session.id && session.start_time && session.messages.every((message) => message.id))
  }
  assert.strictEqual(readSessions(`${JSON.stringify({ messages })}\n${JSON.stringify({ messages })}`).sessions.length, 2)
  assert.strictEqual(readSessions(JSON.stringify([{ role: 'assistant', content: 'x' }]), 'my talk.yaa.json').sessions[0].title, 'my talk')
})

test('what other programs write beside and into messages does not make a session that no server takes', () => {
  const ask = { role: 'user', content: 'hi' }
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const cases = [
    [{ model: 'm', tools, tool_choice: 'auto', status: 'completed_late', metadata: 'x', messages: [ask] }, {}],
    [{ messages: [{ ...ask, id: 'm'.repeat(300), meta: 'x', open: 'no' }] }, {}],
    [{ messages: [{ ...ask, content: 5 }] }, { content: '5' }],
    [{ messages: [{ ...ask, content: ['a', { type: 'text', text: 'b' }, null, { text: 'c' }] }] }, { content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }],
    [{ messages: [{ role: 'assistant', content: null, reasoning: 'hm' }] }, { content: '', reasoning: { field: 'reasoning', text: 'hm' } }],
    [{ messages: [{ role: 'assistant', content: 'x', reasoning_content: 'hm' }] }, { reasoning: { field: 'reasoning_content', text: 'hm' } }],
    [{ messages: [{ role: 'assistant', content: 'x', reasoning: { text: 'hm', id: 'r' } }] }, { reasoning: { text: 'hm', id: 'r' } }],
    [{ messages: [{ role: 'assistant', content: 'x', reasoning: [1] }] }, { reasoning: undefined }],
  ]
  const made = cases.map(([file, expected]) => {
    const { sessions: [session] } = readSessions(JSON.stringify(file), 'f')
    for (const [key, value] of Object.entries(expected)) assert.deepStrictEqual(plain(session.messages[0][key] ?? null), value ?? null, key)
    return session
  })
  const script = 'import sys; from server.lib.strict_json import loads; from server.session.accept import accept; [accept(one) for one in loads(sys.stdin.read())]'
  const child = spawnSync('python3', ['-c', script], { cwd: ROOT, input: JSON.stringify(made), encoding: 'utf8' })
  assert.strictEqual(child.status, 0, child.stderr)
})

test('a document of ours with things in it that are none can be shown, searched, compared, written down and left', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const messages = [{ id: 'm1', role: 'user', content: 'hi' }, { id: 'm2', role: 'assistant', content: 'x', tool_calls: [call] }, { id: 'm3', role: 'tool', tool_call_id: 'c1', content: 'y', result: { attachments: 'z' } }]
  const branch = { id: 'b', at: 'm1', state: {}, calls: {}, messages: [{ id: 'm1', role: 'assistant', content: null, tool_calls: [null, { id: 'c9' }] }, { role: 'nobody' }] }
  const odd = [
    {}, { interrupts: 'x' }, { interrupts: [null, 5] }, { calls: [] }, { calls: { c1: null } }, { tools: { a: 1 } }, { tools: [null] }, { grants: 'x' }, { config: 5 }, { context: [1] }, { usage: 'x' }, { plan: [] }, { run: 7 },
    { ext: 'x' }, { ext: { tree: { branches: [branch] } } },
  ]
  for (const more of odd) {
    const { sessions: [session] } = readSessions(JSON.stringify({ id: 's', version: 1, messages, ...more }))
    const name = JSON.stringify(more)
    assert.ok(use('core/search').allPages(session).length, name)
    assert.ok(use('core/branch-tree').listBranches(session).length, name)
    assert.ok(use('ext/export/transcript').markdown(session, { words: {} }), name)
    assert.ok(use('ext/servers/compare').compare(session, { tools: [], models: [] }, { tools: [], models: [] }).length, name)
    assert.strictEqual(use('core/message-edits').forkSession(session, 'm3').messages.length, 3, name)
    assert.deepStrictEqual(use('core/grant-patterns').earlierCalls(session, { tool: 'f' }).length, 1, name)
    for (const key of Object.keys(more)) assert.ok(key === 'ext' ? more.ext.tree || !session.ext : !session[key] || Object.keys(session[key]).length === 0, name)
  }
})

test('ChatGPT: the open path of the tree, its code and what came of it', () => {
  const node = (id, parent, role, content, more = {}) => ({ id, parent, message: { id, author: { role, ...(role === 'tool' ? { name: 'python' } : {}) }, create_time: 1700000000.5, content, ...more } })
  const text = (...parts) => ({ content_type: 'text', parts })
  const nodes = [
    { id: 'r', parent: null, message: null }, node('s', 'r', 'system', text('x'), { metadata: { is_visually_hidden_from_conversation: true } }),
    node('u', 's', 'user', text('Add')), node('other', 'u', 'assistant', text('not this one')),
    node('th', 'u', 'assistant', { content_type: 'thoughts', thoughts: [{ content: 'hmm' }] }),
    node('c', 'th', 'assistant', { content_type: 'code', text: '1+1' }, { recipient: 'python' }),
    node('o', 'c', 'tool', { content_type: 'execution_output', text: '2' }),
    node('a', 'o', 'assistant', { content_type: 'multimodal_text', parts: ['It is 2.', { content_type: 'image_asset_pointer' }] }),
  ]
  const one = { title: 'Sum', create_time: 1700000000, conversation_id: 'conv', current_node: 'a', mapping: Object.fromEntries(nodes.map((each) => [each.id, each])) }
  const { kind, sessions: [session, second], removed } = readSessions(JSON.stringify([one, { ...one, conversation_id: 'two' }]))
  assert.deepStrictEqual(removed, [[], []])
  assert.deepStrictEqual([kind, session.id, session.title, session.start_time, second.id], ['chatgpt', 'conv', 'Sum', '2023-11-14T22:13:20.000Z', 'two'])
  assert.deepStrictEqual(said(session), ['user: Add', 'assistant: ', 'assistant: ', 'tool: 2', 'assistant: It is 2.\n[image_asset_pointer]'])
  assert.strictEqual(session.messages[1].reasoning.text, 'hmm')
  assert.deepStrictEqual(JSON.parse(session.messages[2].tool_calls[0].function.arguments), { input: '1+1' })
  assert.strictEqual(session.messages[3].tool_call_id, session.messages[2].tool_calls[0].id)
  assert.strictEqual(session.messages[0].at, 1700000000500)
  assert.deepStrictEqual(session.ext.tree.branches.map((branch) => [branch.at, ...said(branch)]), [['u', 'assistant: not this one']])
})

test('ChatGPT: sources become links, attached files are named, several results of a call stay together; what cannot be read is no hindrance', () => {
  const cite = '\ue200cite\ue202turn0search0\ue201'
  const node = (id, parent, role, parts, metadata, more) => [id, { id, parent, message: { id, author: { role }, content: { content_type: 'text', parts }, metadata, ...more } }]
  const mapping = Object.fromEntries([
    node('u', null, 'user', ['Read'], { attachments: [{ id: 'f', name: 'a.pdf' }] }), node('c', 'u', 'assistant', ['x'], {}, { recipient: 'web.run' }), node('r', 'c', 'tool', ['one']), node('s', 'r', 'tool', ['two']),
    node('a', 's', 'assistant', [`So ${cite} and \ue200cite\ue202turn9\ue201it.`], { content_references: [{ matched_text: cite, alt: '([A](https://a.b))' }, null] }),
  ])
  const { kind, sessions } = readSessions(JSON.stringify([{ title: 'broken', id: 'z' }, 7, { id: 'c', current_node: 'a', mapping }]))
  assert.deepStrictEqual([kind, sessions.length], ['chatgpt', 1])
  const files = JSON.stringify([{ type: 'text', text: 'Read' }, { type: 'text', text: '[a.pdf]' }])
  assert.deepStrictEqual(said(sessions[0]), [`user: ${files}`, 'assistant: ', 'tool: one\ntwo', 'assistant: So ([A](https://a.b)) and it.'])
})

test('pi: the last path of its tree, thoughts, calls and results', () => {
  const lines = [
    { type: 'session', id: 'p1', timestamp: '2026-02-02T00:00:00Z', cwd: '/x' },
    { type: 'message', id: 'a', parentId: null, message: { role: 'user', content: [{ type: 'text', text: 'ls' }, { type: 'image', data: 'AA', mimeType: 'image/png' }] } },
    { type: 'message', id: 'lost', parentId: 'a', message: { role: 'assistant', content: [{ type: 'text', text: 'another way' }] } },
    { type: 'message', id: 'b', parentId: 'a', message: { role: 'assistant', content: [{ type: 'thinking', thinking: 'ok' }, { type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'ls' } }] } },
    { type: 'message', id: 'c', parentId: 'b', message: { role: 'toolResult', toolCallId: 'c1', toolName: 'bash', content: [{ type: 'text', text: 'x.txt' }], isError: true } },
    { type: 'session_info', id: 'n', parentId: 'c', name: 'Listing' },
  ]
  const { kind, sessions: [session] } = readSessions(lines.map((line) => JSON.stringify(line)).join('\n'))
  assert.deepStrictEqual([kind, session.id, session.title, session.messages.map((message) => message.role)], ['pi', 'p1', 'Listing', ['user', 'assistant', 'tool']])
  assert.deepStrictEqual(session.messages[0].content[1], { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } })
  assert.deepStrictEqual(session.messages[2], { id: 'c', role: 'tool', tool_call_id: 'c1', name: 'bash', content: 'x.txt', is_error: true })
})

test('llama.cpp: the path to the current message', () => {
  const messages = [
    { id: 'r', type: 'root', parent: null, role: 'system', content: '' }, { id: '1', parent: 'r', role: 'user', content: 'q', timestamp: 5 },
    { id: '2', parent: '1', role: 'assistant', content: 'old' }, { id: '3', parent: '1', role: 'assistant', content: 'new', reasoningContent: 'why' },
  ]
  const { kind, sessions: [session] } = readSessions(JSON.stringify({ conv: { id: 'l', name: 'L', currNode: '3' }, messages }))
  assert.deepStrictEqual([kind, session.id, session.title, said(session), session.messages[1].reasoning.text], ['llama', 'l', 'L', ['user: q', 'assistant: new'], 'why'])
})

test('llama.cpp: JSONL with calls, files and several conversations; every other path is a branch', () => {
  const line = (id, parent, role, more) => ({ type: 'message', message: { convId: 'l', id, parent, role, type: 'text', content: '', timestamp: 5000, ...more } })
  const lines = [
    { type: 'session', harness: 'llama.app', id: 'l', name: 'L', currNode: '4' }, line('0', null, 'system', { type: 'root' }),
    line('1', '0', 'user', { content: 'q', extra: [{ type: 'TEXT', name: 'a.txt', content: 'x' }, { type: 'IMAGE', name: 'i.png', base64Url: 'data:image/png;base64,AA' }, { type: 'AUDIO', name: 's.mp3', base64Data: 'AA' }] }),
    line('2', '1', 'assistant', { reasoningContent: 'why', toolCalls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] }),
    line('3', '2', 'tool', { toolCallId: 'c', content: 'r' }), line('4', '3', 'assistant', { content: 'new' }), line('5', '1', 'assistant', { content: 'old' }),
    { type: 'session', harness: 'llama.app', id: 'k', name: 'K' }, line('1', null, 'user', { content: 'z' }),
  ]
  const { kind, sessions: [one, two] } = readSessions(lines.map((each) => JSON.stringify(each)).join('\n'))
  const parts = [{ type: 'text', text: 'q' }, { type: 'text', text: '<file name="a.txt">\nx\n</file>' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }, { type: 'text', text: '[s.mp3]' }]
  assert.deepStrictEqual([kind, one.title, said(one), one.messages[1].reasoning.text], ['llama', 'L', [`user: ${JSON.stringify(parts)}`, 'assistant: ', 'tool: r', 'assistant: new'], 'why'])
  assert.deepStrictEqual(one.ext.tree.branches.map((branch) => [branch.at, ...said(branch)]), [['1', 'assistant: old']])
  assert.deepStrictEqual([two.title, said(two)], ['K', ['user: z']])
})

test('lines of Jan, whose texts are objects', () => {
  const line = (role, value) => JSON.stringify({ id: role, object: 'thread.message', thread_id: 't', role, content: [{ type: 'text', text: { value, annotations: [] } }], created_at: 1 })
  const { kind, sessions: [session] } = readSessions(`${line('user', 'hi')}\n${line('assistant', 'ho')}\n`)
  assert.deepStrictEqual([kind, session.title, session.messages.map(({ content }) => content)], ['messages', 'hi', [[{ type: 'text', text: 'hi' }], [{ type: 'text', text: 'ho' }]]])
})

test('trees of any shape take time that grows with them, and branches of branches are not deep', () => {
  const N = 30_000
  const SHAPES = {
    line: (i) => i - 1, star: () => 0, comb: (i) => (i % 2 ? i - 1 : i - 2), 'comb, the other way': (i) => (i % 2 ? i - 2 : i - 1), circle: (i) => (i + 1) % N,
    'nobody there': (i) => `gone${i}`, roots: () => null, itself: (i) => i, binary: (i) => (i - 1) >> 1,
  }
  const shapes = Object.entries(SHAPES)
  for (const [name, parentOf] of rounds(shapes.length).map((at) => shapes[at])) {
    const nodes = Array.from({ length: N }, (_, i) => {
      const parent = i || name === 'circle' ? parentOf(i) : null
      return [`n${i}`, { parent: typeof parent === 'number' ? `n${parent}` : parent, message: { author: { role: i % 2 ? 'assistant' : 'user' }, content: { parts: ['x'] } } }]
    })
    const text = JSON.stringify([{ id: 'c', mapping: Object.fromEntries(nodes) }])
    const started = cpu()
    const { sessions: [session] } = readSessions(text)
    const rows = use('core/branch-tree').listBranches(session)
    use('core/session').siblings(session)
    const took = cpu() - started
    assert.ok(took < 6000, `${name}: ${took.toFixed()} ms`)
    assert.strictEqual(rows.reduce((sum, row) => sum + row.messages.length, 0), N, name)
    assert.ok(Math.max(...rows.map((row) => row.depth)) < 20, name)
  }
})

test('a branch that begins with the result of a call keeps it', () => {
  const call = (id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
  const messages = [{ id: 'u', role: 'user', content: 'q' }, { id: 'a', role: 'assistant', content: '', tool_calls: [call('1'), call('2')] },
    { id: 'r1', role: 'tool', tool_call_id: '1', content: 'one' }, { id: 'r2', role: 'tool', tool_call_id: '2', content: 'two' }, { id: 'b', role: 'assistant', content: 'ok' }]
  const session = { ...ours, messages }
  use('core/message-edits').editResult(session, '2', { value: 'other' })
  use('core/message-edits').editResult(session, '1', { value: 'third' })
  const { sessions: [back] } = readSessions(JSON.stringify(session))
  const asked = (branches) => plain(branches).map(({ state: { interrupts, ...state }, ...branch }) => ({ ...branch, state }))
  assert.deepStrictEqual(plain(back.ext.tree.branches), asked(session.ext.tree.branches))
  const stray = { id: 'x', at: 'u', messages: [{ id: 's', role: 'tool', tool_call_id: '1', content: 'no' }, { id: 't', role: 'user', content: 'y' }], state: {}, calls: {} }
  const round = [{ ...stray, id: 'y', at: 's' }]
  const { sessions: [other] } = readSessions(JSON.stringify({ ...ours, messages, ext: { tree: { branches: [stray, ...round] } } }))
  assert.deepStrictEqual(other.ext.tree.branches.map((branch) => branch.messages.map(({ id }) => id)), [['t'], ['t']])
})

test('calls and results fit together, and every id is there once', () => {
  const call = (id) => ({ id, type: 'function', function: { name: 'f', arguments: { a: 1 } } })
  const { sessions: [session] } = readSessions(JSON.stringify([
    { role: 'user', id: 'x', content: 'q' }, { role: 'assistant', id: 'x', content: null, tool_calls: [call('1'), call('1'), { id: 2 }, null] },
    { role: 'tool', tool_call_id: '1', content: 'r' }, { role: 'tool', tool_call_id: 'nowhere', content: 'r' }, { role: 'user', content: 'y', tool_calls: [call('9')] },
    { role: 'alien', content: 'z' }, 7, null,
  ]))
  assert.deepStrictEqual(session.messages.map((message) => message.role), ['user', 'assistant', 'tool', 'user'])
  assert.deepStrictEqual(session.messages[1].tool_calls, [{ id: '1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }])
  assert.strictEqual(session.messages[3].tool_calls, undefined)
  assert.strictEqual(new Set(session.messages.map((message) => message.id)).size, 4)
})

test('what a file wanted to allow is told, of each session in it', () => {
  const grant = { tool: 'shell', decision: 'allow' }
  const all = [ours, { ...ours, id: 'def', grants: [grant] }, { ...ours, id: 'ghi', config: { limits: { max_steps: 130 } } }]
  const given = { agent: 'default', config: { limits: { max_steps: 150 } } }
  for (const text of [JSON.stringify(all), all.map((one) => JSON.stringify(one)).join('\n'), JSON.stringify(exportDocument(all, [], '2026')), JSON.stringify(use('core/backup').backup(all, 0))]) {
    const { sessions, removed } = readSessions(text)
    assert.deepStrictEqual(sessions.map(({ id }) => id), ['abc', 'def', 'ghi'])
    assert.deepStrictEqual(plain(removed), [[], [{ kind: 'grant', path: '/grants/0', value: grant }], [{ kind: 'limit', path: '/config/limits/max_steps', value: 130 }]])
    assert.deepStrictEqual(readSessions(text, '', given).removed.map((one) => one.length), [0, 1, 0])
  }
})

test('what no server would take, halves of letters and what is nested without end, does not come in', () => {
  const half = '"a\\ud83d \\ud83d\\ude00 \\ude00"'
  for (const file of [`[{"role":"user","content":${half}}]`, `{"role":"user","content":${half}}\n{"role":"user","content":"b"}`]) assert.strictEqual(readSessions(file).sessions[0].messages[0].content, 'a\ufffd \u{1f600} \ufffd')
  const nested = (n) => `{"id":"n${n}","version":1,"ext":{"a":${'['.repeat(n)}${']'.repeat(n)}},"messages":[{"role":"user","content":"x"}]}`
  assert.deepStrictEqual(readSessions(`[${nested(90)},${nested(200)},${nested(50_000)},${nested(1)}]`).sessions.map((one) => one.id), ['n90', 'n1'])
})

test('what is not a session is nothing, and never an error', () => {
  for (const text of ['', '{', 'null', '7', '"x"', '[]', '{}', '[null]', '[[]]', '<html>', 'a,b\n1,2', '{"messages":[]}', '{"messages":7}', '{"mapping":7}', '[{"mapping":{"a":null}}]', '{"conv":{},"messages":[null]}', '{"type":"session"}']) {
    assert.deepStrictEqual(plain(readSessions(text).sessions), [], text)
  }
})

test('files that are broken anywhere never throw', () => {
  const played = rounds(2000)
  const next = random(7 + played[0])
  const text = JSON.stringify([{ title: 't', current_node: 'b', mapping: { a: { parent: null, message: { author: { role: 'user' }, content: { parts: ['x'] } } }, b: { parent: 'a', message: { author: { role: 'assistant' }, recipient: 'python', content: { text: 'y' } } } } }, ours])
  const VALUES = ['null', '7', '[]', '{}', '"x"', '{"a":{"parent":"a"}}']
  for (let { length } = played; length; length--) {
    // one value somewhere becomes another
    const from = JSON.parse(text)
    const walk = (value, left = { n: Math.floor(next() * 30) }) => {
      if (!value || typeof value !== 'object') return value
      for (const name of Object.keys(value)) value[name] = left.n-- === 0 ? JSON.parse(VALUES[Math.floor(next() * VALUES.length)]) : walk(value[name], left)
      return value
    }
    assert.doesNotThrow(() => readSessions(JSON.stringify(walk(from))))
  }
})
