// Files of a message in the workspace.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, yaa, JS } = require('./load-modules.js')

require(path.join(JS, 'ui', 'files', 'attached-files.js'))

/** A page whose session-files are of this test. */
function page({ offered = true, mode = 'own', there = null, fails = '' } = {}) {
  const sent = []
  const adopted = []
  const routes = {
    find: async () => (there ? { path: 'attachments' } : null),
    list: async () => ({ entries: there.map((name) => ({ path: `attachments/${name}` })) }),
    upload: async (path, file) => {
      if (path.includes(fails || '\0')) throw new Error('the disk is full')
      sent.push([path, await file.text()])
      return { tree: `tree ${sent.length}` }
    },
  }
  const files = { isOffered: () => offered, modeOf: () => mode, routesOf: () => routes, adopt: (app, entry, tree) => adopted.push(tree), keep() {} }
  const before = [yaa.load, yaa.use]
  yaa.load = async () => {}
  yaa.use = (name) => (name === 'ui/files/session-files' ? files : before[1](name))
  const app = { server: { info: () => ({ workspace: {} }) }, current: { session: { id: 's' } } }
  const done = () => { [yaa.load, yaa.use] = before }
  return { app, sent, adopted, done }
}

const { place, isOffered, freeName } = use('ui/files/attached-files')
const attach = use('core/attachments')
const small = { name: 'a.txt', file: new Blob(['hi']), part: attach.filePart('a.txt', 'hi'), text: 'hi', whole: 0, size: 2, image: null }
const large = { name: 'b.txt', file: new Blob(['x'.repeat(50_000)]), part: null, text: 'x'.repeat(16_000), whole: 50_000, size: 50_000, image: null }
const binary = { name: 'c.zip', file: new Blob(['PK'], { type: 'application/zip' }), part: null, size: 2, image: null }
const picture = { name: 'p.png', file: new Blob(['png']), part: attach.imagePart('data:image/png;base64,AA'), image: 'data:', size: 3 }

test('the message names the files, and has of a long text the beginning', async () => {
  const { app, sent, adopted, done } = page({ there: ['A.TXT', 'c.zip'] })
  const parts = await place(app, [small, large, binary, picture]).finally(done)
  assert.deepStrictEqual(sent.map(([path]) => path), ['attachments/a 2.txt', 'attachments/b.txt', 'attachments/c 2.zip', 'attachments/p.png'])
  assert.strictEqual(sent[1][1].length, 50_000)
  assert.deepStrictEqual(parts[0], attach.filePart('a.txt', 'hi', 'attachments/a 2.txt'))
  assert.ok(parts[1].text.length < 4_200 && parts[1].text.includes('of a file of 50000 bytes; read_file shows'))
  assert.ok(parts[2].text.includes('[application/zip, 2 bytes]'))
  assert.deepStrictEqual(parts.slice(3), [picture.part, attach.filePart('p.png', '', 'attachments/p.png')])
  assert.deepStrictEqual(adopted, ['tree 4'])
})

test('where files may not go, they go with the message, or not', async () => {
  for (const other of [{ offered: false }, { mode: 'read' }, { mode: 'write' }]) {
    const { app, sent, done } = page(other)
    assert.strictEqual(await isOffered(app), false)
    assert.deepStrictEqual(await place(app, [small, picture]), [small.part, picture.part])
    await assert.rejects(place(app, [small, large]), /b\.txt/).finally(done)
    assert.deepStrictEqual(sent, [])
  }
})

test('a server that stores none: what the message can hold goes, the others are said', async () => {
  const { app, adopted, done } = page({ fails: 'attachments/' })
  const { warn } = console
  console.warn = () => {}
  assert.deepStrictEqual(await place(app, [small, picture]).finally(() => { console.warn = warn }), [small.part, picture.part])
  await assert.rejects(place(app, [small, binary]), /disk is full/).finally(done)
  assert.deepStrictEqual(adopted, [undefined, undefined])
})

test('one that was attached before the page had its file stays a part', async () => {
  const { app, done } = page()
  assert.deepStrictEqual(await place(app, [{ name: 'old', part: small.part, image: null, size: 1 }]).finally(done), [small.part])
})

test('names', () => {
  const cases = { 'a.txt': 'a.txt', '../../etc/passwd': 'etc passwd', '': 'file', '...': 'file', 'a\0b\n.txt': 'a b .txt', 'C:\\x': 'C x', '\u202etxt.exe': 'txt.exe', 'größe 天.csv': 'größe 天.csv', '.env': 'env' }
  for (const [name, wanted] of Object.entries(cases)) assert.strictEqual(freeName(name, new Set()), wanted)
  const taken = new Set(['a.tar.gz', 'a.tar 2.gz', 'b'])
  assert.deepStrictEqual([freeName('a.tar.gz', taken), freeName('b', taken), freeName('b', taken)], ['a.tar 3.gz', 'b 2', 'b 3'])
  assert.ok(freeName('x'.repeat(500), taken).length <= 100)
})
