// Every example of the CommonMark specification, 0.31.2 (tests/vectors/commonmark.json; its text is CC-BY-SA 4.0, see
// tests/vectors/commonmark.LICENSE). What differs is listed with its reason, and has to differ: the list can't go stale.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, ROOT } = require('./load-modules.js')

const { parse } = use('core/markdown')
const EXAMPLES = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/vectors/commonmark.json'), 'utf8'))

/** Numbers of examples that come out differently, by reason. */
const DIFFERENT = {
  'HTML is shown as text, never made': [
    21, 31, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176,
    177, 178, 179, 180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 201, 308, 309, 344, 475, 476, 477, 491, 494, 524, 536, 613, 614, 615, 616, 617,
    623, 625, 626, 627, 628, 629, 630, 631, 642, 643,
  ],
  'the names of the 30 usual entities are known, not all 2,125': [25],
  'a bare address is a link, as in GFM': [602, 608, 611, 612],
}

// -- the tree as the HTML of the specification -------------------------------------------------------

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
/** Addresses the way the reference program writes them. */
const address = (url) => escape(encodeURI(url.replace(/%(?![0-9a-f]{2})/gi, '%25')).replace(/%25([0-9a-f]{2})/gi, '%$1').replaceAll('[', '%5B').replaceAll(']', '%5D'))
const title = (text) => (text ? ` title="${escape(text)}"` : '')

const RENDER = {
  text: (n) => escape(n.text),
  code: (n) => (n.lang === undefined ? `<code>${escape(n.text)}</code>` : fenced(n)),
  break: () => '<br />\n',
  emphasis: (n) => `<em>${all(n.children)}</em>`,
  strong: (n) => `<strong>${all(n.children)}</strong>`,
  strike: (n) => `<del>${all(n.children)}</del>`,
  link: (n) => `<a href="${address(n.href)}"${title(n.title)}>${all(n.children)}</a>`,
  image: (n) => `<img src="${address(n.src)}" alt="${escape(n.alt)}"${title(n.title)} />`,
  paragraph: (n) => `<p>${all(n.children)}</p>`,
  heading: (n) => `<h${n.level}>${all(n.children)}</h${n.level}>`,
  quote: (n) => `<blockquote>${all(n.children)}</blockquote>`,
  rule: () => '<hr />',
  html: (n) => escape(n.text),
  list(n) {
    const items = n.items.map(({ children }) => `<li>${children.map((one) => (n.tight && one.type === 'paragraph' ? all(one.children) : render(one))).join('\n')}</li>`)
    return n.ordered ? `<ol${n.start === 1 ? '' : ` start="${n.start}"`}>${items.join('')}</ol>` : `<ul>${items.join('')}</ul>`
  },
}
const fenced = (n) => `<pre><code${n.lang ? ` class="language-${escape(n.lang)}"` : ''}>${escape(n.text)}${n.text ? '\n' : ''}</code></pre>`
const render = (node) => RENDER[node.type](node)
const all = (nodes) => nodes.map(render).join('')

/** Line breaks between blocks mean nothing; those in code do. */
function plain(html) {
  const blocks = '(?:p|h[1-6]|ul|ol|li|blockquote|hr /|pre)'
  return html.split(/(<pre>.*?<\/pre>)/s).map((part, i) => (
    i % 2 ? part : part.replace(new RegExp(`\\s*(</?${blocks}(?: [^>]*)?>)\\s*`, 'g'), '$1')
  )).join('').replace(/\s*(<pre>|<\/pre>)\s*/g, '$1').trim()
}

const differs = ({ markdown, html }) => plain(parse(markdown).map(render).join('\n')) !== plain(html)

test('the examples of the CommonMark specification', () => {
  assert.strictEqual(EXAMPLES.length, 652)
  const listed = new Set(Object.values(DIFFERENT).flat())
  for (const example of EXAMPLES.filter(({ number }) => !listed.has(number))) {
    const found = plain(parse(example.markdown).map(render).join('\n'))
    assert.strictEqual(found, plain(example.html), `${example.number} ${example.section}: ${JSON.stringify(example.markdown)}`)
  }
})

test('HTML is all that differs where it is shown as text', () => {
  const bare = (html) => html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&').replace(/\s+/g, '')
  const [asText] = Object.values(DIFFERENT)
  for (const { number, markdown, html } of EXAMPLES.filter((one) => asText.includes(one.number))) {
    assert.strictEqual(bare(plain(parse(markdown).map(render).join('\n'))), bare(plain(html)), `${number}: ${JSON.stringify(markdown)}`)
  }
})

test('the list of differences has nothing that does not differ', () => {
  const listed = new Set(Object.values(DIFFERENT).flat())
  assert.deepStrictEqual(EXAMPLES.filter((one) => listed.has(one.number) && !differs(one)).map(({ number }) => number), [])
})
