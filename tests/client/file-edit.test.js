// What an edit makes of a text, as the tool on the server makes it.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { execFileSync } = require('node:child_process')
const { use, cpu, rounds, ROOT } = require('./load-modules.js')

const { editFile } = use('ext/files/file-edit')
const { applyPatch } = use('ext/files/apply-patch')

const { cases } = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/vectors/edits.json'), 'utf8'))

test('a file is edited as edit_file edits it', () => {
  for (const { name, text, args, after, problem } of cases) {
    const found = editFile(text, { path: 'f.py', ...args })
    assert.strictEqual(found.problem?.why, problem?.why, name)
    assert.strictEqual(found.problem?.part, problem?.part, name)
    assert.strictEqual(found.after, problem ? text : after, name)
  }
})

test('a patch that a model wrote wrong does what it does on the server, or is refused as there', (context) => {
  const script = `import json
from server.tools.builtin.patch import apply_patch
from server.tools.decorators import ToolError
from tests.tools.builtin.mangled_patches import samples
found = []
for sample in samples(21, 1500):
    try:
        after = apply_patch(sample.before, sample.patch, "f").text
    except ToolError as error:
        after = ["refused", "fits at lines" in str(error)]
    found.append([sample.before, sample.patch, after])
print(json.dumps(found))`
  let found
  try {
    found = JSON.parse(execFileSync('python3', ['-c', script], { cwd: ROOT, maxBuffer: 1e8 }))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return context.skip('there is no python3')
  }
  for (const [before, patch, expected] of found) {
    const { after, problem } = applyPatch(before, patch, 'f')
    assert.deepStrictEqual(problem ? ['refused', problem.why === 'often'] : after, expected, JSON.stringify([before, patch]))
  }
})

test('places that fit are named by their lines', () => {
  assert.deepStrictEqual(applyPatch('a\nb\na\n', '@@\n-a\n+c\n', 'f').problem, { why: 'often', part: 1, lines: [1, 3] })
})

test('what is none of its arguments', () => {
  for (const args of [{}, { old: 'a' }, { old: '', new: 'b' }, { new: 'b' }, { edits: 'a' }, { edits: [null] }, { edits: [{ old: 'a' }] }, { patch: 5 }, { patch: '@@', old: 'a', new: 'b' }]) {
    assert.strictEqual(editFile('a', { path: 'f', ...args }), null, JSON.stringify(args))
  }
})

test('a text in many places is not made as long as it likes', () => {
  const long = 'a'.repeat(1000)
  assert.strictEqual(editFile(long, { path: 'f', old: 'a', new: 'b'.repeat(1000), replace_all: true }).after, 'b'.repeat(1_000_000))
  const found = editFile('a'.repeat(500_000), { path: 'f', old: 'a', new: 'b'.repeat(100_000), replace_all: true })
  assert.strictEqual(found.problem.why, 'large')
})

test('lines that are all alike, and lines of spaces, take no time', () => {
  const started = cpu()
  const same = 'x\n'.repeat(200_000)
  const many = Array.from({ length: 300 }, (_, n) => `@@ -${n * 3 + 1},3 +${n * 3 + 1},3 @@\n x\n-x\n+y\n x\n`).join('')
  const patches = [many, `${'@@ x\n'.repeat(50)}-x\n+y\n`, `@@\n${' x\n'.repeat(3000)}-x\n+y\n`]
  const forms = patches.flatMap((patch) => [patch, `*** Update File: f\n${patch}`])
  for (const at of rounds(forms.length, 3)) assert.match(applyPatch(same, forms[at], 'f').problem.why, /often|large/)
  const spaces = `${' '.repeat(400_000)}x\n`
  assert.strictEqual(editFile(spaces, { path: 'f', old: `a${' '.repeat(100_000)}\nb`, new: '' }).problem.why, 'missing')
  assert.strictEqual(applyPatch(spaces, `@@\n-y\n+${spaces}`, 'f').problem.why, 'missing')
  assert.ok(cpu() - started < 30_000, `${cpu() - started} ms`)
})
