// Formulas: what people write in answers becomes MathML; anything unknown is refused whole; hostile ones stay small.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { use, random, ROOT, cpu } = require('./load-modules.js')

const { parse } = use('ext/math/tex')
/** `frac(a b)`: element names without their m, attributes left out. */
const short = (node) => (typeof node === 'string' ? node : ['mi', 'mn', 'mo', 'mtext'].includes(node.tag) ? node.children.join('') : `${node.tag.slice(1)}(${node.children.map(short).join(' ')})`)
const shown = (source) => { const tree = parse(source); return tree && short(tree) }

const TABLE = [
  ['x', 'x'], ['', 'row()'], ['12.5', '12.5'], ['x^2', 'sup(x 2)'], ['x_i^2', 'subsup(x i 2)'], ['x^2_i', 'subsup(x i 2)'], ['x^23', 'row(sup(x 2) 3)'], ['x^{23}', 'sup(x 23)'],
  ['^2', 'sup(row() 2)'], ["f'(x)", 'row(sup(f ′) ( x ))'], ["f''^2", 'sup(f row(′′ 2))'], ['\\frac{a}{b}', 'frac(a b)'], ['\\frac12', 'frac(1 2)'], ['\\dfrac ab', 'style(frac(a b))'],
  ['\\sqrt{x}', 'sqrt(x)'], ['\\sqrt[3]{x}', 'root(x 3)'], ['\\binom nk', 'row(( frac(n k) ))'], ['\\alpha\\beta\\Gamma', 'row(α β Γ)'], ['a\\le b', 'row(a ≤ b)'], ['a-b', 'row(a − b)'],
  ['\\sum_{i=0}^n i', 'row(underover(∑ row(i = 0) n) i)'], ['\\int_0^1 f', 'row(subsup(∫ 0 1) f)'], ['\\int\\limits_0^1', 'underover(∫ 0 1)'], ['\\sum\\nolimits_i', 'sub(∑ i)'], ['\\lim_{x\\to 0}', 'under(lim row(x → 0))'],
  ['\\sin^2 x', 'row(sup(sin 2) x)'], ['\\operatorname{foo} x', 'row(foo x)'], ['\\operatorname*{argmax}_x', 'under(argmax x)'], ['\\mathbb{R}', 'ℝ'], ['\\mathbf{x}', '𝐱'], ['\\mathcal L', 'ℒ'], ['\\mathrm{kg}', 'kg'], ['\\mathrm d x', 'row(d x)'],
  ['\\text{if $x$}', 'if\u00a0$x$'], ['\\text{a \\& b}', 'a\u00a0&\u00a0b'], ['\\hat{x}', 'over(x ^)'], ['\\vec v', 'over(v →)'], ['\\overbrace{a}^n', 'over(over(a ⏞) n)'], ['\\underbrace{a}_n', 'under(under(a ⏟) n)'],
  ['\\left(\\frac12\\right]', 'row(( frac(1 2) ])'], ['\\left.x\\right|_0', 'sub(row(x |) 0)'], ['\\left\\{a\\middle|b\\right\\}', 'row({ a | b })'], ['\\bigl[x\\bigr]', 'row([ x ])'],
  ['\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}', 'row(( table(tr(td(a) td(b)) tr(td(c) td(d))) ))'], ['\\begin{cases}1&x\\\\2&y\\\\\\end{cases}', 'row({ table(tr(td(1) td(x)) tr(td(2) td(y))))'],
  ['\\begin{array}{c|c}a&b\\end{array}', 'table(tr(td(a) td(b)))'], ['\\begin{align*}a&=b\\\\[2pt]&=c\\end{align*}', 'table(tr(td(a) td(= b)) tr(td() td(= c)))'], ['a\\\\b', 'table(tr(td(a)) tr(td(b)))'], ['a\\\\ [0,1)', 'table(tr(td(a)) tr(td([ 0,1 ))))'],
  ['\\overset{?}{=}', 'over(= ?)'], ['\\xrightarrow{f}', 'over(→ padded(f))'], ['a\\not=b', 'row(a ≠ b)'], ['a\\pmod n', 'row(a row(space() ( mod space() n )))'], ['50\\%', 'row(50 %)'], ['a % note\nb', 'row(a b)'], ['\\{a\\}', 'row({ a })'],
  ['\\begin{dcases}1&x\\end{dcases}', 'row({ table(tr(td(1) td(x))))'], ['\\begin{rcases}a\\end{rcases}', 'row(table(tr(td(a))) })'], ['\\begin{alignat}{2}a&=b\\end{alignat}', 'table(tr(td(a) td(= b)))'], ['\\begin{eqnarray}a&=&b\\end{eqnarray}', 'table(tr(td(a) td(=) td(b)))'],
  ['{n\\choose k}x', 'row(row(( frac(n k) )) x)'], ['a+b\\over c', 'frac(row(a + b) c)'], ['{\\rm kg}x', 'row(row(k g) x)'], ['{\\bf xy}z', 'row(row(𝐱 𝐲) z)'], ['\\cal L', 'ℒ'], ['a\\lt b\\gt c', 'row(a < b > c)'], ['\\cancel{x}', 'row(x)'], ['\\mathop{a}_b', 'under(row(a) b)'],
  ['a\\mathrel{+}b', 'row(a + b)'], ['a\\mod n', 'row(a row(space() mod space()) n)'], ['a\\hspace{1.5 em}b', 'row(a space() b)'], ['\\large x', 'x'], ['\\overleftrightarrow{AB}', 'over(row(A B) ↔)'], ['\\xRightarrow{f}', 'over(⇒ padded(f))'],
  ['a\\,b\\quad c', 'row(a space() b space() c)'], ['x\\ y', 'row(x space() y)'], ['\\displaystyle\\sum', 'style(∑)'], ['速度 v', 'row(速 度 v)'], ['\\boxed{x}', 'row(x)'], ['\\sum_{\\substack{a\\\\b}}', 'under(∑ table(tr(td(a)) tr(td(b))))'], ['|x|', 'row(| x |)'],
]
const UNKNOWN = ['\\href{javascript:alert(1)}{x}', '\\foo', '{', '}', 'x_', 'x^', 'x_a_b', 'a^b^c', '\\frac{a}', '\\left(x', '\\right)', '\\begin{pmatrix}a', '\\begin{x}a\\end{x}', '\\begin{pmatrix}a\\end{bmatrix}', '\\end{pmatrix}', 'a&b}', '\\sqrt[3', '\\text{', '\\text{\\foo}',
  '$', '#', '\\left?x\\right)', '\\def\\a{\\a}\\a', '\\newcommand{\\x}{y}', '\\hspace{2\\x}', '\\hspace{1constructor}', '\\hspace{1px}', '\\cancel', '\\color{red}x', '\\', '\\\\[', '\\constructor', '\\__proto__', '\\begin{constructor}x\\end{constructor}', '\\begin{toString}x\\end{toString}']

test('formulas', () => {
  for (const [source, expected] of TABLE) assert.strictEqual(shown(source), expected, source)
})

test('columns of an array stand as they say', () => {
  const [row] = parse('\\begin{array}{l|c r}a&b&c\\end{array}').children
  assert.deepStrictEqual(row.children.map(({ attrs }) => attrs?.class), ['left', undefined, 'right'])
})

test('what is not known, or not whole, is no formula', () => {
  for (const source of UNKNOWN) assert.strictEqual(parse(source), null, source)
})

const TAGS = /^m(?:row|i|n|o|text|space|frac|sqrt|root|sub|sup|subsup|under|over|underover|table|tr|td|style|phantom|padded)$/

function check(node, source, depth = 0) {
  assert.ok(depth < 400, source.slice(0, 50))
  assert.match(node.tag, TAGS, source)
  for (const value of Object.values(node.attrs ?? {})) assert.match(value, /^[\w.+ -]*$/, source)
  for (const child of node.children) if (typeof child !== 'string') check(child, source, depth + 1)
}

test('nothing but elements of the list, whatever is thrown at it', () => {
  const next = random(3)
  const pieces = [...TABLE.map(([source]) => source), ...UNKNOWN, '{', '}', '^', '_', '&', '\\\\', '\\left', '\\right', '(', '[', ']', ' ', "'", '\\begin', '\\end']
  const corpus = Object.values(JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/vectors/injection.json'), 'utf8'))).flat()
  const mixed = Array.from({ length: 3000 }, () => Array.from({ length: 1 + Math.floor(next() * 6) }, () => pieces[Math.floor(next() * pieces.length)]).join(''))
  for (const source of [...corpus, ...mixed]) {
    const tree = parse(source)
    if (tree) check(tree, source)
  }
})

test('hostile formulas take no time', () => {
  for (const piece of ['{', '}', '^', '_', 'x^', 'x_{', '\\frac', '\\sqrt[', '\\left(', '\\begin{matrix}', '&', '\\\\', "'", '\\not', '\\mathbb', '1', '\\hat', '\\substack{', '\\text{', 'x', '\\displaystyle', '\\xrightarrow[']) {
    for (const times of [40, 1000, 3999, 100_000]) {
      const started = cpu()
      const tree = parse(piece.repeat(times))
      if (tree) check(tree, piece)
      assert.ok(cpu() - started < 500, piece)
    }
  }
})
