// Texts that try to become more than text (tests/vectors/injection.json): whatever comes out of the parser is a node
// of a known kind, and every address that leaves core/safe-urls is one of the few schemes a link or a picture may have.
// tests/browser/test_injection.py puts the same texts on the page.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, ROOT } = require('./load-modules.js')

const { parse, stream } = use('core/markdown')
const urlsafe = use('core/safe-urls')
const CORPUS = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/vectors/injection.json'), 'utf8'))
const TEXTS = Object.values(CORPUS).flat()

/** What a node of each kind may have besides its type. */
const KINDS = {
  paragraph: ['children'], heading: ['level', 'children'], code: ['text', 'lang', 'info', 'open'], quote: ['alert', 'children'], details: ['shown', 'summary', 'children'], footnote: ['n', 'children'],
  note: ['n', 'text'], cite: ['text'], kbd: ['children'], sub: ['children'], sup: ['children'],
  list: ['ordered', 'start', 'tight', 'items'], table: ['align', 'head', 'rows'], rule: [], html: ['text'], text: ['text'], break: [],
  emphasis: ['children'], strong: ['children'], strike: ['children'], link: ['href', 'title', 'host', 'children'], image: ['src', 'title', 'alt'],
  math: ['text', 'display', 'children'],
}

function visit(value, see) {
  if (Array.isArray(value)) return value.forEach((one) => visit(one, see))
  if (value === null || typeof value !== 'object') return
  if ('type' in value) see(value)
  Object.values(value).forEach((one) => visit(one, see))
}

test('the corpus is large, and no text is in it twice', () => {
  assert.ok(TEXTS.length >= 200, String(TEXTS.length))
  assert.strictEqual(new Set(TEXTS).size, TEXTS.length)
})

test('nodes are of known kinds, addresses of known schemes', () => {
  for (const text of TEXTS) {
    visit(parse(text), (node) => {
      assert.ok(Object.hasOwn(KINDS, node.type), `${node.type}: ${text}`)
      assert.deepStrictEqual(Object.keys(node).filter((key) => key !== 'type' && !KINDS[node.type].includes(key)), [], text)
      const href = node.type === 'link' ? urlsafe.link(node.href) : null
      if (href !== null) assert.match(href, /^(?:https?:\/\/[^@/]+(?:\/|$)|mailto:)/, text)
      const image = node.type === 'image' ? urlsafe.image(node.src) : null
      if (image && !image.remote) assert.match(image.src, /^(?:data:image\/(?:png|jpeg|gif|webp|avif)[;,])/i, text)
    })
  }
})

test('letter by letter they come to the same', () => {
  for (const text of TEXTS) {
    const growing = stream()
    for (let end = 0; end < text.length; end += 3) growing.update(text.slice(0, end), { live: true })
    assert.deepStrictEqual(growing.update(text).map((block) => block.node), parse(text), text)
  }
})
