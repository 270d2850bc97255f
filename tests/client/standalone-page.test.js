// The one file that holds a session and the client.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { use, yaa, JS } = require('./load-modules.js')

const { page, extract } = use('ext/saved/page-file')
const NASTY = '</script><script>alert(1)</script> <!-- <b> \u2028 & "x" \\u003c'
const session = { id: 's', title: NASTY, messages: [{ id: 'm', role: 'user', content: NASTY }] }

/** What a parser of HTML would run, as [attributes, text]. */
const scripts = (html) => [...html.matchAll(/<script([^>]*)>([^]*?)<\/script/gi)].map(([, attributes, text]) => [attributes.trim(), text])

test('it holds one script that runs, and its policy names exactly that one', () => {
  const html = page({ source: yaa.source(), session })
  const found = scripts(html)
  assert.deepStrictEqual(found.map(([attributes]) => attributes), ['type="application/json" id="yaa-session"', ''])
  const hash = crypto.createHash('sha256').update(found[1][1]).digest('base64')
  const policy = html.match(/Content-Security-Policy" content="([^"]*)"/)[1]
  assert.ok(policy.includes(`script-src 'sha256-${hash}';`), policy)
  for (const part of ["default-src 'none'", "style-src 'none'", "trusted-types 'none'", "require-trusted-types-for 'script'", "base-uri 'none'"]) assert.ok(policy.includes(part), part)
  assert.ok(!/<(?:link|img|iframe|style|base|object)/i.test(html.replace(found[1][1], '').replace(found[0][1], '')))
  assert.ok(!html.includes('<!--'), 'a comment would hide the end of a script')
})

test('its script is the client: it makes the same page again', () => {
  const source = yaa.source()
  const [, script] = scripts(page({ source, session })).at(-1)
  const context = vm.createContext({ TextEncoder, btoa })
  vm.runInContext(script.slice(0, script.lastIndexOf('yaa.use(')), context)
  const again = context.yaa.use('ext/saved/page-file').page({ source: context.yaa.source(), session })
  assert.strictEqual(scripts(again).at(-1)[1], script, 'saved again, it is the same')
  // every module still does what it did, with its marks of comments written in another way
  assert.deepStrictEqual(JSON.parse(JSON.stringify(context.yaa.use('core/markdown').parse('<!-- x -->\n\na <!-- y --> b'))), JSON.parse(JSON.stringify(use('core/markdown').parse('<!-- x -->\n\na <!-- y --> b'))))
})

test('the session comes out as it went in, whatever is in it', () => {
  const html = page({ source: yaa.source(), session, language: 'zh', theme: 'dark', saved: '2026-01-01T00:00:00Z' })
  assert.deepStrictEqual(extract(html), { format: 'yaa.page', version: 1, saved: '2026-01-01T00:00:00Z', language: 'zh', theme: 'dark', session })
})

test('what comes in out of one brings no permissions along', () => {
  const grant = { tool: 'shell', decision: 'allow' }
  const { session: out } = extract(page({ source: yaa.source(), session: { ...session, version: 1, grants: [grant] } }))
  const { sessions, removed } = use('core/session-import').readSessions(JSON.stringify(out))
  assert.deepStrictEqual([sessions[0].messages, JSON.stringify(removed)], [session.messages, JSON.stringify([[{ kind: 'grant', path: '/grants/0', value: grant }]])])
})

test('other files hold none', () => {
  const open = '<script type="application/json" id="yaa-session">'
  for (const html of ['', '<p>x', open, `${open}{`, `${open}{}</script>`, `${open}null</script>`, `${open}{"format":"x"}</script>`]) assert.strictEqual(extract(html), null, html)
})

test('line ends of another system do not change what is hashed', () => {
  const html = page({ source: 'a\r\nb\rc', session })
  assert.ok(scripts(html)[1][1].includes('a\nb\nc'))
})

test('the page names itself with the title, harmlessly', () => {
  assert.ok(page({ source: '', session }).includes('<title>&#60;/script&#62;'))
})

test('every script of the client can be carried', () => {
  const all = (folder) => fs.readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? all(path.join(folder, one.name)) : path.join(folder, one.name)))
  for (const file of all(path.dirname(JS)).filter((one) => one.endsWith('.js') && path.basename(one) !== 'yaa.js')) {
    const text = fs.readFileSync(file, 'utf8')
    if (!file.includes(`${path.sep}css${path.sep}`) && path.basename(file) !== 'style.js') continue
    assert.ok(!/<\/?script|<!--/i.test(text), `${file}: styles are raw text, and cannot be written in another way`)
  }
})
