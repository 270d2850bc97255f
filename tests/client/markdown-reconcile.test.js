// Pieces of Markdown on a page of make-believe: at every cut of a text what is shown is what a page made anew would show,
// and what did not change is still the same element.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, random } = require('./load-modules.js')

const { stream } = use('core/markdown')
const { piecesOf, blockOf, refill } = use('core/markdown-reconcile')

/** As much of an element as `refill` asks for; a text is a node with `data`. */
class Node {
  nodeType = 1
  childNodes = []

  constructor(name) {
    this.name = name
  }

  get lastChild() {
    return this.childNodes.at(-1)
  }

  append(one) {
    const node = typeof one === 'string' ? new Text(one) : one
    node.parent = this
    this.childNodes.push(node)
  }

  remove() {
    this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1)
  }

  replaceWith(one) {
    this.parent.append(one)
    this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1, this.parent.childNodes.pop())
  }

  get html() {
    return `<${this.name}>${this.childNodes.map((one) => one.html).join('|')}</>`
  }
}

class Text extends Node {
  nodeType = 3

  constructor(data) {
    super('#text')
    this.data = data
  }

  appendData(more) {
    this.data += more
  }

  get html() {
    return this.data
  }
}

function draw(piece) {
  if (piece.type === 'text') return piece.text
  const { children, items, head, rows, summary, ...frame } = piece
  const el = new Node(JSON.stringify(frame))
  const isLeaf = ['code', 'math', 'break', 'image', 'box', 'note', 'alert', 'noteLabel'].includes(piece.type)
  for (const one of isLeaf ? [] : piecesOf(piece)) el.append(draw(one))
  return el
}

/** What shows a text that grows. */
function page() {
  const [el, text] = [new Node('page'), stream()]
  let shown = []
  return { el, update(words, live) {
    const next = text.update(words, { live }).map(({ node }) => blockOf(node))
    refill(el, shown, next, draw)
    shown = next
  } }
}

const BITS = [
  '# H\n', 'words ', '**b**', '*i* ', '`c` ', '\n', '\n\n', '- ', '  - ', '1. ', '> ', '```js\n', '```\n', '| a | b |\n', '|---|:-:|\n', '| 1 | **2** |\n',
  '[x](http://a.b) ', '![p](http://a.b/c.png) ', '$x^2$ ', '$$\ny\n$$\n', '- [ ] ', '- [x] ', '---\n', '~~s~~', '[r]', '\n[r]: http://z.z\n', '中文，**注意：**API ', '> [!NOTE]\n', '[^1] ', '\n[^1]: n\n', '<kbd>a</kbd> ', '<sub>', '</sub>', '<details>\n', '<summary>s *t*</summary>\n', '\n</details>\n', '\\begin{align}\n', '\\end{align}\n',
]

test('at every cut it is as made anew', () => {
  const next = random(7)
  for (let n = 0; n < 150; n++) {
    const words = Array.from({ length: 3 + next() * 25 }, () => BITS[Math.floor(next() * BITS.length)]).join('')
    const grown = page()
    for (let end = 1; end <= words.length + 1; end += 1 + Math.floor(next() * 3)) {
      const [part, live] = [words.slice(0, end), end < words.length]
      const whole = page()
      grown.update(part, live)
      whole.update(part, live)
      assert.strictEqual(grown.el.html, whole.el.html, JSON.stringify(part))
    }
  }
})

test('what did not change stays', () => {
  const { el, update } = page()
  const words = '| a | b |\n|---|---|\n| [this](https://a.example) | 1 |\n| 2 | 3'
  update(words, true)
  const rows = () => el.childNodes[0].childNodes[0].childNodes[1].childNodes
  const before = [...rows()]
  update(`${words} and more |\n| 4 | 5 |\n`, true)
  assert.deepStrictEqual([rows().length, ...before.map((one, i) => rows()[i] === one)], [3, true, true])
})
