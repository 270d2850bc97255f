// Rules that answer approvals: the patterns are those of Python's fnmatchcase, which the server uses.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { execFileSync } = require('node:child_process')
const { use, random, cpu } = require('./load-modules.js')

const { matches, allows, covers, suggest, formatsOf, earlierCalls } = use('core/grant-patterns')
const RULES = require('../vectors/rules.json')
const FORMATS = { command: 'shell-command', path: 'workspace-path', url: 'url' }

const ROWS = [
  ['git log', 'git log', true], ['git log -p', 'git log *', true], ['git log', 'git log *', false], ['git', 'g?t', true], ['gt', 'g?t', false],
  ['a\nb', 'a*b', true], ['a\nb', 'a?b', true], ['GIT', 'git', false], ['a.b', 'a.b', true], ['axb', 'a.b', false],
  ['b', '[abc]', true], ['d', '[abc]', false], ['d', '[!abc]', true], ['b', '[!abc]', false], ['b', '[a-c]', true], [']', '[]]', true], ['x', '[!]]', true],
  ['[', '[', true], ['[x', '[x', true], ['*', '[*]', true], ['x', '[*]', false], ['?', '[?]', true], ['[', '[[]', true], ['^', '[\\^]', true], ['^', '[^]', true], ['x', '[^]', false],
  ['a+b(c)', 'a+b(c)', true], ['$x', '$x', true], ['a\\b', 'a\\b', true], ['', '', true], ['', '*', true], ['x', '', false], ['你好', '你*', true], ['😀', '?', true], ['a-b', '[a]-b', true], ['x', '[z-a]', false],
]

test('patterns', () => {
  for (const [text, pattern, expected] of ROWS) assert.strictEqual(matches(text, pattern), expected, `${JSON.stringify(text)} ${pattern}`)
})

test('many stars and a long text take no time', () => {
  const started = cpu()
  for (const pattern of ['*a*b*c*d', '*a*a*a*a*a*c', 'a*b*a*b*[!ab]']) assert.strictEqual(matches('ab'.repeat(50_000), pattern), false, pattern)
  assert.ok(cpu() - started < 2000, `${cpu() - started} ms`)
})

test('patterns match what Python matches', (context) => {
  const next = random(7)
  const pick = (from) => Array.from({ length: Math.floor(next() * 6) }, () => from[Math.floor(next() * from.length)]).join('')
  const rows = [...ROWS, ...Array.from({ length: 3000 }, () => [pick(['a', 'b', ']', '[', '!', '*', '-', '\n', '^']), pick(['a', 'b', '[', ']', '!', '*', '?', '-', '^', '[a', '[!b]', '[ab]'])])]
  const script = 'import json,sys\nfrom fnmatch import fnmatchcase\nprint(json.dumps([fnmatchcase(t, p) for t, p, *_ in json.load(sys.stdin)]))'
  let found
  try {
    found = JSON.parse(execFileSync('python3', ['-c', script], { input: JSON.stringify(rows) }))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return context.skip('there is no python3')
  }
  rows.forEach(([text, pattern], i) => assert.strictEqual(matches(text, pattern), found[i], `${JSON.stringify(text)} ${JSON.stringify(pattern)}`))
})

test('rules that allow, as the server has them', () => {
  for (const [format, rows] of Object.entries(RULES.allows)) {
    for (const [text, pattern, expected] of rows) assert.strictEqual(allows(text, pattern, format), expected, `${format} ${JSON.stringify(text)} ${pattern}`)
  }
  for (const program of RULES.runners.split(' ')) {
    assert.ok(!allows(`/bin/${program} a`, '* a', 'shell-command'), program)
    assert.ok(allows(`${program} a b`, `${program} a *`, 'shell-command'), program)
    assert.strictEqual(suggest({ command: `${program} a b` }, FORMATS)[0].pattern, `${program} a b`)
  }
})

test('which arguments are paths, addresses and command lines', () => {
  const properties = { path: { type: 'string', format: 'workspace-path' }, when: { format: 'date' }, any: true, odd: { format: 'toString' } }
  assert.deepStrictEqual(formatsOf({ properties }), { path: 'workspace-path' })
  assert.deepStrictEqual(formatsOf(undefined), {})
})

test('which calls a rule is about', () => {
  const rows = [
    [{ tool: 'shell' }, 'shell', {}, true], [{ tool: 'shell' }, 'python', {}, false],
    [{ tool: 'shell', match: { command: 'git *' } }, 'shell', { command: 'git log' }, true],
    [{ tool: 'shell', match: { command: 'git *' } }, 'shell', { command: 'rm -r' }, false],
    [{ tool: 'shell', match: { command: '*', cwd: '/a' } }, 'shell', { command: 'ls' }, false],
    [{ tool: 'shell', match: { n: '*' } }, 'shell', { n: 3 }, false],
  ]
  for (const [grant, name, args, expected] of rows) assert.strictEqual(covers(grant, name, args), expected, JSON.stringify([grant, args]))
})

test('what is offered for a call is about that call, and no wider than it looks', () => {
  const rows = [
    [{ command: 'git log --oneline -3' }, [['command', 'git log *', true]]],
    [{ command: 'ls' }, [['command', 'ls', true]]],
    [{ command: 'ls -la' }, [['command', 'ls *', true]]],
    [{ command: 'ls; rm -rf /' }, [['command', 'ls; rm -rf /', true]]],
    [{ command: 'echo $(id)' }, [['command', 'echo $(id)', true]]],
    [{ command: 'rm *.txt' }, [['command', 'rm *', true]]],
    [{ command: 'git -c alias.x=y log' }, [['command', 'git -c alias.x=y log', true]]],
    [{ command: 'git commit -m "a; b (c)"' }, [['command', 'git commit *', true]]],
    [{ command: 'sudo rm x' }, [['command', 'sudo rm x', true]]],
    [{ command: 'FOO=1 make all' }, [['command', 'FOO=1 make all', true]]],
    [{ command: 'find . -name a -exec rm {} +' }, [['command', 'find . -name a -exec rm {} +', true]]],
    [{ path: 'src/a/b.py', content: 'x' }, [['path', 'src/a/*', true], ['content', 'x', false]]],
    [{ path: 'b.py' }, [['path', 'b.py', true]]],
    [{ path: '../b.py' }, [['path', '../b.py', true]]],
    [{ url: 'https://a.b/c?d' }, [['url', 'https://a.b/*', true]]],
    [{ url: 'https://u@a.b/c' }, [['url', 'https://u@a.b/c', true]]],
    [{ question: 'why?', n: 3 }, [['question', 'why[?]', true]]],
    [{ n: 3 }, []], [null, []],
  ]
  for (const [args, expected] of rows) {
    const offered = suggest(args)
    for (const { value, exact } of offered) assert.ok(matches(value, exact) && !matches(`${value}x`, exact), exact)
    assert.deepStrictEqual(offered.map(({ key, pattern, on }) => [key, pattern, on]), expected, JSON.stringify(args))
    for (const { value, pattern } of offered) assert.ok(matches(value, pattern), pattern)
  }
})

test('earlier calls that a rule would have been about', () => {
  const call = (id, name, args) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } })
  const session = {
    messages: [
      { role: 'assistant', tool_calls: [call('a', 'shell', { command: 'git log' }), call('b', 'shell', { command: 'ls' })] },
      { role: 'assistant', open: true, tool_calls: [call('c', 'shell', { command: 'git log' })] },
      { role: 'assistant', tool_calls: [call('d', 'shell', { command: 'x' }), { id: 'e', function: { name: 'shell', arguments: '{' } }, call('f', 'shell', { command: 'git show' })] },
    ],
    calls: { d: { state: 'done', args: { command: 'git diff' } } },
  }
  assert.deepStrictEqual(earlierCalls(session, { tool: 'shell', match: { command: 'git *' } }, 'f').map((one) => one.id), ['a', 'd'])
})
