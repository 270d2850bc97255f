// A session as Markdown, and its short form.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, cpu } = require('./load-modules.js')

const { markdown, condense } = use('ext/export/transcript')
const words = { you: 'You', assistant: 'yaa', error: 'Error', thoughts: 'Thoughts', result: 'Result', untitled: 'New', image: 'image', edited: 'edited', files: 'Files' }
const session = () => ({
  id: 's', title: 'A\n title', start_time: '2026-01-01T00:00:00Z', ext: { tags: ['x'], tree: { branches: [{}] } }, context: { ops: [] },
  messages: [
    { id: '1', role: 'user', content: 'Look' },
    { id: '2', role: 'assistant', content: '', reasoning: { text: 'hm' }, tool_calls: [{ id: 'c', type: 'function', function: { name: 'shell', arguments: '{"command":"ls"}' } }] },
    { id: '3', role: 'tool', tool_call_id: 'c', name: 'shell', content: '```\nfile\n```', result: { content: 'much' } },
    { id: '4', role: 'assistant', content: 'There **it** is.' },
    { id: '5', role: 'user', content: [{ type: 'text', text: 'And?' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
    { id: '6', role: 'system', content: 'not for readers' },
    { id: '7', role: 'error', content: 'broken' },
  ],
})

test('Markdown: headings, calls, results; one turn of the assistant is one section', () => {
  const text = markdown(session(), { words })
  assert.strictEqual(text, `# A title

*2026-01-01T00:00:00Z*

## You

Look

## yaa

<details><summary>Thoughts</summary>

hm

</details>

**shell**

\`\`\`json
{
  "command": "ls"
}
\`\`\`

<details><summary>Result</summary>

\`\`\`\`
\`\`\`
file
\`\`\`
\`\`\`\`

</details>

There **it** is.

## You

And?

*(image)*

## Error

broken
`)
  assert.ok(!markdown(session(), { words, tools: false }).includes('shell'))
  assert.ok(markdown({ id: 'x', messages: [] }, { words }).startsWith('# New'))
  assert.ok(markdown({ id: 'x', messages: [{ id: 'a', role: 'assistant', content: null, tool_calls: [{ id: 'b', type: 'function', function: { name: 'f', arguments: '{no' } }] }] }, { words }).includes('{no'))
})

test('Markdown: what a person changed says so, and which files there are', () => {
  const changed = (change) => {
    const one = session()
    change(one.messages, one)
    return markdown(one, { words })
  }
  const rows = [
    ['words of the user', (all) => { all[0].meta = { edited_from: 'x' } }, '## You\n\n*(edited)*\n\nLook'],
    ['words of the assistant', (all) => { all[3].meta = { edited_from: 'x' } }, '*(edited)*\n\nThere **it** is.'],
    ['arguments', (all) => { all[1].meta = { edited_from: 'x', edited_call: 'c' } }, '**shell** *(edited)*'],
    ['arguments in an approval', (_, one) => { one.calls = { c: { name: 'shell', state: 'done', args: { command: 'pwd' } } } }, '**shell** *(edited)*\n\n```json\n{\n  "command": "pwd"'],
    ['a result', (all) => { all[2].meta = { edited_from: 'x' } }, '<summary>Result (edited)</summary>'],
    ['files', (all) => { all[2].result = { attachments: [{ path: 'out/a`b.png' }, null, { path: 3 }, { path: 'c.md' }] } }, "Files: `out/a'b.png`, `c.md`"],
  ]
  for (const [what, change, wanted] of rows) {
    const text = changed(change)
    assert.ok(text.includes(wanted), `${what}: ${text}`)
    assert.strictEqual(text.split('edited').length - 1, wanted.includes('edited') ? 1 : 0, what)
  }
  assert.ok(!changed(() => {}).includes('edited'))
})

test('focused: long results are cut in the middle, thoughts and branches stay at home', () => {
  const one = session()
  one.messages[2].content = `${'a'.repeat(400)}${'b'.repeat(2000)}${'z'.repeat(400)}`
  const before = JSON.stringify(one)
  const copy = condense(one, (left) => `[${left} left out]`)
  assert.strictEqual(JSON.stringify(one), before, 'the document itself is not changed')
  assert.strictEqual(copy.messages[2].content, `${'a'.repeat(240)}\n[2320 left out]\n${'z'.repeat(240)}`)
  assert.strictEqual(copy.messages[2].result, undefined)
  assert.strictEqual(copy.messages[1].reasoning, undefined)
  assert.deepStrictEqual(copy.ext, { tags: ['x'], focused: true })
  assert.deepStrictEqual(copy.messages.map((message) => message.id), one.messages.map((message) => message.id))
  assert.strictEqual(copy.messages[3].content, 'There **it** is.', 'what was said is whole')
})

test('a result of a hundred thousand empty lines is written down in no time', () => {
  const long = { ...session(), messages: session().messages.map((message) => (message.role === 'tool' ? { ...message, content: `${'\n'.repeat(100_000)}x` } : message)) }
  const started = cpu()
  assert.ok(markdown(long, { words }).includes('x'))
  assert.ok(cpu() - started < 500)
})

test('what is cited goes along: as footnotes, and in the short form', () => {
  const results = [{ url: 'https://a.example/x', title: 'A [b](javascript:x) <i>', text: 'so' }, { url: 'https://b.example', title: 'not cited', text: 'x' }, { url: 'javascript:x', title: 'bad', text: 'x' }]
  const here = {
    id: 's', messages: [
      { id: '1', role: 'user', content: 'Is [^s1.2] so?' },
      { id: '2', role: 'tool', tool_call_id: 'c', content: 'much', result: { status: 'ok', result: { results }, sources: { 's1.1': '/results/0', 's1.2': '/results/1', 's1.3': '/results/2' } } },
      { id: '3', role: 'assistant', content: 'It is [^s1.1][^s1.1], not [^s1.3] or [^s9.9].' },
    ],
  }
  const text = markdown(here, { words })
  assert.ok(text.endsWith('\n\n[^s1.1]: [A \\[b\\](javascript:x) \\<i\\>](<https://a.example/x>)\n'), text)
  assert.strictEqual(text.split('\n[^s').length, 2)
  const [, tool] = condense(here, () => '…').messages
  assert.deepStrictEqual(JSON.parse(JSON.stringify(tool.result)), { status: 'ok', sources: { 's1.1': '/s1.1' }, result: { 's1.1': { url: 'https://a.example/x', title: 'A [b](javascript:x) <i>', text: 'so' } } })
  assert.strictEqual(use('core/sources').find(condense(here, () => '…'), 's1.1').text, 'so')
})
