// Files of a message in the workspace.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { use, yaa, JS } = require('./load-modules.js')
const { fakeDocument } = require('./fake-document.js')

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} })
globalThis.document = fakeDocument()
for (const name of ['ui/dom', 'ui/i18n', 'i18n/en', 'i18n/attachments', 'ui/attachments']) require(path.join(JS, `${name}.js`))
for (const name of ['ui/popup', 'css/attachments']) yaa.define(name, [], () => ({ toast() {}, say() {} }))

/** A page over a server that stores what is uploaded. */
function page({ offered = true, mode = 'own', there = null, fails = '' } = {}) {
  const sent = []
  const adopted = []
  const api = {
    base: '',
    async ask(address) {
      const { pathname, searchParams } = new URL(address, 'http://yaa.test')
      if (!pathname.endsWith('/files')) throw new Error(address)
      const names = searchParams.get('path') ? there.map((name) => `attachments/${name}`) : there ? ['attachments'] : []
      return { entries: names.map((name) => ({ path: name })), complete: true }
    },
    async request(address, { body }) {
      const name = new URL(address, 'http://yaa.test').searchParams.get('path')
      if (name.includes(fails || '\0')) throw Object.assign(new Error('the disk is full'), { kind: 'refused', status: 403 })
      sent.push([name, await body.text()])
      return Response.json({ tree: `tree ${sent.length}` })
    },
  }
  const workspace = mode === 'own' ? {} : { folder: 'f' }
  const app = {
    server: { info: () => ({ ...(offered ? { workspace: {} } : {}), folders: [{ name: 'f', mode }] }), api: () => api }, current: { session: { id: 's', workspace, messages: [] } },
    sessionStore: { amend(entry, work) {
      const session = structuredClone(entry.session)
      work(session)
      adopted.push(session.workspace.tree)
    } },
  }
  return { app, sent, adopted, entry: app.current }
}

const { place, isOffered, freeName } = use('ext/files/attached-files')
const attached = use('ui/attachments')
const attach = use('core/attachments')
const small = { name: 'a.txt', file: new Blob(['hi']), part: attach.filePart('a.txt', 'hi'), text: 'hi', whole: 0, size: 2, image: null }
const large = { name: 'b.txt', file: new Blob(['x'.repeat(50_000)]), part: null, text: 'x'.repeat(16_000), whole: 50_000, size: 50_000, image: null }
const binary = { name: 'c.zip', file: new Blob(['PK'], { type: 'application/zip' }), part: null, size: 2, image: null }
const picture = { name: 'p.png', file: new Blob(['png']), part: attach.imagePart('data:image/png;base64,AA'), image: 'data:', size: 3 }

test('the message names the files, and has of a long text the beginning', async () => {
  const { app, entry, sent, adopted } = page({ there: ['A.TXT', 'c.zip'] })
  const parts = await place(app, entry, [small, large, binary, picture])
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
    const { app, sent } = page(other)
    assert.strictEqual(isOffered(app), false)
    assert.deepStrictEqual(await attached.place(app, [small, picture]), [small.part, picture.part])
    await assert.rejects(attached.place(app, [small, large]), /b\.txt/)
    assert.deepStrictEqual(sent, [])
  }
})

test('a server that stores none: what the message can hold goes, the others are said', async () => {
  const { app, adopted } = page({ fails: 'attachments/' })
  const { warn } = console
  console.warn = () => {}
  assert.deepStrictEqual(await attached.place(app, [small, picture]).finally(() => { console.warn = warn }), [small.part, picture.part])
  await assert.rejects(attached.place(app, [small, binary]), /disk is full/)
  assert.deepStrictEqual(adopted, [undefined, undefined])
})

test('one that was attached before the page had its file stays a part', async () => {
  const { app } = page()
  assert.deepStrictEqual(await attached.place(app, [{ name: 'old', part: small.part, image: null, size: 1 }]), [small.part])
  assert.deepStrictEqual((await attached.place(app, [{ name: 'old', part: small.part }, picture])).slice(0, 2), [small.part, picture.part])
})

test('another session that is opened meanwhile gets nothing of it', async () => {
  const { app, sent } = page()
  const asked = []
  const api = app.server.api()
  const { ask } = api
  api.ask = (address) => (asked.push(address), ask(address))
  const placed = attached.place(app, [small])
  app.current = { session: { id: 'other', workspace: {}, messages: [] } }
  await placed
  assert.deepStrictEqual([sent.length, asked.every((address) => address.startsWith('/workspaces/s/'))], [1, true])
})

test('names', () => {
  const cases = { 'a.txt': 'a.txt', '../../etc/passwd': 'etc passwd', '': 'file', '...': 'file', 'a\0b\n.txt': 'a b .txt', 'C:\\x': 'C x', '\u202etxt.exe': 'txt.exe', 'größe 天.csv': 'größe 天.csv', '.env': 'env' }
  for (const [name, wanted] of Object.entries(cases)) assert.strictEqual(freeName(name, new Set()), wanted)
  const taken = new Set(['a.tar.gz', 'a.tar 2.gz', 'b'])
  assert.deepStrictEqual([freeName('a.tar.gz', taken), freeName('b', taken), freeName('b', taken)], ['a.tar 3.gz', 'b 2', 'b 3'])
  assert.ok(freeName('x'.repeat(500), taken).length <= 100)
})
