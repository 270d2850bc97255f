// Files of other programs as they write them, small: what was said, thought, called and attached, on every path.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const { use, random, rounds, ROOT } = require('./load-modules.js')

const { readSessions: read } = use('core/session-import')
const readSessions = (text, name, defaults) => read(text, name, defaults, use('ext/imports/formats'))
const { listBranches, pathOf, switchTo } = use('core/branch-tree')

const NOBODY = '00000000-0000-4000-8000-000000000000'
const block = (type, more) => ({ start_timestamp: null, stop_timestamp: null, type, ...more })
const said = (uuid, sender, parent, content, more = {}) => ({
  uuid, text: '', sender, created_at: '2026-03-29T07:06:35.552627Z', parent_message_uuid: parent, content, attachments: [], files: [], ...more,
})

const CLAUDE = [{
  uuid: 'c1', name: 'Calendar', summary: '', created_at: '2026-03-29T07:06:34.084721Z', account: { uuid: 'a' }, chat_messages: [
    said('u1', 'human', NOBODY, [block('text', { text: 'Look', citations: [] })], {
      attachments: [{ file_name: '', file_type: 'txt', extracted_content: 'a long paste' }], files: [{ file_uuid: 'f', file_name: 'plan.png' }],
    }),
    said('a1', 'assistant', 'u1', [
      block('thinking', { thinking: 'hm' }), block('tool_use', { id: 'toolu_1', name: 'Google Calendar:list', input: { days: 3 } }),
      block('tool_result', { tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'free' }], is_error: true }), block('thinking', { thinking: 'so' }), block('text', { text: 'Nothing.' }),
    ]),
    said('u2', 'human', NOBODY, [block('text', { text: 'Look again' })]),
    said('a2', 'assistant', 'u2', [block('tool_use', { id: null, name: 'f', input: {} }), block('token_budget', {}), block('text', { text: 'Done.' })]),
  ],
}, { uuid: 'c2', name: '', created_at: '2023-01-01T00:00:00Z', chat_messages: [{ uuid: '1', text: 'q', sender: 'human' }, { uuid: '2', text: 'a', sender: 'assistant' }] }]

const item = (type, more) => ({ type, status: 'completed', ...more })
const OPEN_WEBUI = [{
  id: 'w1', user_id: 'u', title: 'Weather', created_at: 1700001000, archived: false, chat: { title: 'x', models: ['m'], history: { currentId: 'a1', messages: {
    u1: { id: 'u1', parentId: null, childrenIds: ['a1', 'a2', 'a3'], role: 'user', content: 'And?', timestamp: 1700001000, files: [
      { type: 'image', url: 'data:image/png;base64,AA' }, { type: 'file', name: 'n.txt', file: { data: { content: 'words' } } }, { type: 'file', name: 'b.pdf' },
    ] },
    a1: { id: 'a1', parentId: 'u1', role: 'assistant', content: '<details type="reasoning">no</details>', timestamp: 1700001020, output: [
      item('reasoning', { content: [{ type: 'output_text', text: 'think' }], summary: null }), item('function_call', { id: 'x', call_id: 'call_1', name: 'w', arguments: '{"c":1}' }),
      item('function_call_output', { call_id: 'call_1', output: [{ type: 'input_text', text: 'rain' }] }), item('message', { content: [{ type: 'output_text', text: 'It rains.' }] }),
    ] },
    a2: { id: 'a2', parentId: 'u1', role: 'assistant', content: '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n&gt; I &lt;see\n&gt; it\n</details>\n'
      + '<details type="tool_calls" done="true" id="call_2" name="w" arguments="&quot;{\\&quot;c\\&quot;:2}&quot;" result="&quot;18C&quot;">\n<summary>Tool Executed</summary>\n</details>\n'
      + 'Eighteen.\n<details>\n<summary>More</summary>\nx\n</details>' },
    a3: { id: 'a3', parentId: 'u1', role: 'assistant', content: '<think>\nmaybe\n</think>\n\nTwenty.' },
  } } },
}]

const LIBRE_CHAT = { conversationId: 'l1', endpoint: 'agents', title: 'Sum', branches: true, recursive: true, messages: [{
  messageId: 'u1', isCreatedByUser: true, text: 'One and one', sender: 'User', createdAt: '2024-05-01T16:35:11.530Z', parentMessageId: '00000000-0000-0000-0000-000000000000',
  files: [{ filename: 'a.csv', text: '1,1' }, { filename: 'b.png' }], children: [
    { messageId: 'a1', isCreatedByUser: false, text: '', children: [], content: [
      { type: 'think', think: 'hm' }, { type: 'text', text: 'I add.' }, { type: 'tool_call', tool_call: { id: 'c1', name: 'add', args: '{"a":1}', output: '2' } }, { type: 'text', text: { value: 'Two.' } },
    ] },
    { messageId: 'a2', isCreatedByUser: false, text: ':::thinking\nwell\n:::\nTwo!', children: [{ messageId: 'e', isCreatedByUser: false, error: true, text: 'no credit', children: [] }] },
  ],
}] }

const step = (content, more) => ({ type: 'contentBlock', content, ...more })
const version = (text) => ({ type: 'multiStep', role: 'assistant', senderInfo: { senderName: 'm' }, steps: [
  step([{ type: 'text', text: 'hm' }], { style: { type: 'thinking', ended: true } }), step([{ type: 'toolCallRequest', callId: 7, name: 'f', parameters: { a: 1 } }]),
  step([{ type: 'toolCallResult', callId: 7, content: 'r' }]), step([{ type: 'text', text }]), { type: 'debugInfoBlock', debugInfo: 'x' },
] })
const LM_STUDIO = { name: null, pinned: false, createdAt: 1784679064871, systemPrompt: 'Be brief', messages: [
  { currentlySelected: 0, versions: [{ type: 'singleStep', role: 'user', content: [{ type: 'text', text: 'Hey' }, { type: 'file', fileIdentifier: 'x.png', fileType: 'image' }] }] },
  { currentlySelected: 1, versions: [version('Yes.'), version('Here.'), version('What?')] },
  { currentlySelected: 0, versions: [{ type: 'singleStep', role: 'user', content: [{ type: 'text', text: 'Bye' }] }] },
] }

const ALL = [CLAUDE, OPEN_WEBUI, LIBRE_CHAT, LM_STUDIO]

/** @param {any[]} messages in short */
const short = (messages) => messages.map(({ role, content, reasoning, tool_calls: calls = [], is_error: bad }) => [
  `${role}${bad ? '!' : ''}:`, reasoning && `(${reasoning.text})`, typeof content === 'string' ? content : content.map((part) => part.text ?? part.image_url.url).join(' + '),
  ...calls.map((call) => `${call.function.name}${call.function.arguments}`),
].filter(Boolean).join(' '))
/** Every path, the open one first. */
const paths = (session) => listBranches(session).map(({ id }) => short(id ? pathOf(session, id) : session.messages))
const open = (file) => readSessions(JSON.stringify(file), 'x.json')

test('Claude.ai: blocks, attachments, results, and what was said before an edit', () => {
  const { kind, sessions: [one, two] } = open(CLAUDE)
  assert.deepStrictEqual([kind, one.id, one.title, one.start_time, one.messages[0].at], ['claude', 'c1', 'Calendar', '2026-03-29T07:06:34.084721Z', Date.parse('2026-03-29T07:06:35.552Z')])
  assert.deepStrictEqual(paths(one), [
    ['user: Look again', 'assistant: f{}', 'tool:', 'assistant: Done.'],
    ['user: Look + <file name="attachment.txt">\na long paste\n</file> + [plan.png]', 'assistant: (hm) Google_Calendar_list{"days":3}', 'tool!: free', 'assistant: (so) Nothing.'],
  ])
  assert.deepStrictEqual(paths(two), [['user: q', 'assistant: a']])
})

test('a call after a result is in a message of its own', () => {
  const [one, two] = ['1', '2'].map((n) => [
    block('tool_use', { id: `t${n}`, name: `f${n}`, input: {} }), block('tool_result', { tool_use_id: `t${n}`, content: [{ type: 'text', text: n }] }),
  ])
  const chat_messages = [said('u1', 'human', NOBODY, [block('text', { text: 'q' })]), said('a1', 'assistant', 'u1', [...one, ...two])]
  const { sessions } = open([{ ...CLAUDE[0], chat_messages }])
  assert.deepStrictEqual(paths(sessions[0]), [['user: q', 'assistant: f1{}', 'tool: 1', 'assistant: f2{}', 'tool: 2']])
})

test('Open WebUI: the output of a run, or what an older one wrote into the text; pictures and files', () => {
  const { kind, sessions: [one] } = open(OPEN_WEBUI)
  const user = 'user: And? + data:image/png;base64,AA + <file name="n.txt">\nwords\n</file> + [b.pdf]'
  assert.deepStrictEqual([kind, one.id, one.title, one.start_time], ['openwebui', 'w1', 'Weather', '2023-11-14T22:30:00.000Z'])
  const [first, ...others] = paths(one)
  assert.deepStrictEqual(first, [user, 'assistant: (think) w{"c":1}', 'tool: rain', 'assistant: It rains.'])
  assert.deepStrictEqual(others, [
    [user, 'assistant: (I <see\nit) w{"c":2}', 'tool: 18C', 'assistant: Eighteen.\n<details>\n<summary>More</summary>\nx\n</details>'],
    [user, 'assistant: (maybe) Twenty.'],
  ])
  const { sessions: [bare] } = open({ title: 'T', history: OPEN_WEBUI[0].chat.history })
  assert.deepStrictEqual([bare.title, paths(bare).length], ['T', 3])
  assert.deepStrictEqual(paths(open([{ id: 'o', chat: { messages: [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }] } }]).sessions[0]), [['user: a', 'assistant: b']])
})

test('LibreChat: a tree or a list, thoughts, calls with their output, errors', () => {
  const { kind, sessions: [one] } = open(LIBRE_CHAT)
  const user = 'user: One and one + <file name="a.csv">\n1,1\n</file> + [b.png]'
  assert.deepStrictEqual([kind, one.id, one.title, one.start_time], ['librechat', 'l1', 'Sum', '2024-05-01T16:35:11.530Z'])
  const expected = [[user, 'assistant: (well) Two!', 'error: no credit'], [user, 'assistant: (hm) I add. add{"a":1}', 'tool: 2', 'assistant: Two.']]
  assert.deepStrictEqual(paths(one), expected)
  const [root] = LIBRE_CHAT.messages
  const [a1, a2] = root.children
  const flat = [root, { ...a1, parentMessageId: 'u1' }, { ...a2, parentMessageId: 'u1' }, { ...a2.children[0], parentMessageId: 'a2' }].map(({ children, ...rest }) => rest)
  assert.deepStrictEqual(paths(open({ ...LIBRE_CHAT, recursive: false, messages: flat }).sessions[0]), expected)
  assert.deepStrictEqual(paths(open({ conversationId: 'l1', recursive: true, messagesTree: LIBRE_CHAT.messages }).sessions[0]), expected)
})

test('LM Studio: the versions of an answer are branches', () => {
  const { kind, sessions: [one] } = open(LM_STUDIO)
  const answer = (text) => ['assistant: (hm) f{"a":1}', 'tool: r', `assistant: ${text}`]
  const before = ['system: Be brief', 'user: Hey + [x.png]']
  assert.deepStrictEqual([kind, one.id, one.title, one.start_time], ['lmstudio', 'lm-studio-1784679064871', 'Hey', '2026-07-22T00:11:04.871Z'])
  assert.deepStrictEqual(paths(one), [[...before, ...answer('Here.'), 'user: Bye'], [...before, ...answer('Yes.')], [...before, ...answer('What?')]])
})

test('the same file twice is the same sessions', () => {
  for (const file of ALL) assert.deepStrictEqual(open(file).sessions.map(({ messages }) => messages), open(file).sessions.map(({ messages }) => messages))
})

/** Values in places where they make no sense. */
function spoiled(file, next) {
  const VALUES = ['null', '7', '1e300', '[]', '{}', '""', '"x"', 'true', '[null]', '[[]]', '{"__proto__":1}', '"u1"', '"a1"', `"${NOBODY}"`, '[{"type":"text","text":{}}]', `"${'z'.repeat(300)}"`]
  const copy = structuredClone(file)
  const places = []
  const find = (value) => {
    if (!value || typeof value !== 'object') return
    for (const name of Object.keys(value)) places.push([value, name]), find(value[name])
  }
  find(copy)
  for (let n = 1 + Math.floor(next() * 3); n; n--) {
    const [at, name] = places[Math.floor(next() * places.length)]
    at[name] = JSON.parse(VALUES[Math.floor(next() * VALUES.length)])
  }
  return copy
}

test('files that are broken anywhere: what is sound in them comes, fits together, and any server takes it', () => {
  const played = rounds(1200)
  const next = random(11 + played[0])
  const sound = CLAUDE[1]
  const made = []
  for (const round of played) {
    const broken = spoiled(ALL[round % ALL.length], next)
    const { sessions } = readSessions(JSON.stringify([...[broken].flat(), sound]))
    assert.ok(sessions.some((one) => one.id === 'c2'), 'the other conversation')
    for (const session of sessions) {
      const rows = listBranches(session)
      for (const { id } of rows) {
        const path = id ? pathOf(session, id) : session.messages
        assert.deepStrictEqual(path.flatMap((message) => message.tool_calls ?? []).map((call) => call.id), path.filter((message) => message.role === 'tool').map((message) => message.tool_call_id))
        assert.strictEqual(new Set(path.map((message) => message.id)).size, path.length)
      }
      made.push(session)
      const other = rows.at(-1).id && structuredClone(session)
      if (other && switchTo(other, rows.at(-1).id)) made.push(other)
    }
  }
  const script = 'import sys; from server.lib.strict_json import loads; from server.session.accept import accept; [accept(one) for one in loads(sys.stdin.read())]'
  const child = spawnSync('python3', ['-c', script], { cwd: ROOT, input: JSON.stringify(made), encoding: 'utf8' })
  assert.strictEqual(child.status, 0, child.stderr)
})
