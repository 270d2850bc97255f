// Markdown: a table of examples for each construct, streaming equals the whole, hostile texts take linear time.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, random, cpu } = require('./load-modules.js')

const { parse, stream } = use('core/markdown')

// A short notation of the tree, so that the table can be read: p(…) h2(…) code[js](…) ul/ol(li(…)) …
const INLINE = {
  text: (n) => n.text.replaceAll('\n', '⏎'),
  code: (n) => `\`${n.text}\``,
  break: () => '↵',
  emphasis: (n) => `<i>${inlines(n.children)}</i>`,
  strong: (n) => `<b>${inlines(n.children)}</b>`,
  kbd: (n) => `<kbd ${inlines(n.children)}>`,
  sub: (n) => `<sub ${inlines(n.children)}>`,
  sup: (n) => `<sup ${inlines(n.children)}>`,
  note: (n) => `^${n.n}`,
  cite: (n) => n.text,
  strike: (n) => `<s>${inlines(n.children)}</s>`,
  link: (n) => `<a ${n.href}${n.title ? ` "${n.title}"` : ''}${n.host ? ` (${n.host})` : ''}>${inlines(n.children)}</a>`,
  math: (n) => `${n.display ? 'M' : 'm'}(${n.text.replaceAll('\n', '⏎')})`,
  image: (n) => `<img ${n.src}${n.title ? ` "${n.title}"` : ''} ${n.alt}>`,
}
const BLOCK = {
  paragraph: (n) => `p(${inlines(n.children)})`,
  heading: (n) => `h${n.level}(${inlines(n.children)})`,
  code: (n) => `code[${n.info}](${n.text.replaceAll('\n', '⏎')})${n.open ? '…' : ''}`,
  quote: (n) => `${n.alert ?? 'quote'}(${blocks(n.children)})`,
  details: (n) => `${n.shown ? 'open' : 'fold'}[${inlines(n.summary)}](${blocks(n.children)})`,
  footnote: (n) => `note${n.n}(${inlines(n.children)})`,
  list: (n) => `${n.ordered ? `ol${n.start === 1 ? '' : n.start}` : 'ul'}${n.tight ? '' : '+'}(${n.items.map(item).join(' ')})`,
  table: (n) => `table[${n.align.map((a) => a ?? '-').join()}](${[n.head, ...n.rows].map((row) => row.map(inlines).join('|')).join(' / ')})`,
  rule: () => 'hr',
  math: (n) => `${n.display ? 'M' : 'm'}(${n.text.replaceAll('\n', '⏎')})`,
  html: (n) => `html(${n.text.replaceAll('\n', '⏎')})`,
}
const inlines = (nodes) => nodes.map((n) => INLINE[n.type](n)).join('')
const blocks = (nodes) => nodes.map((n) => BLOCK[n.type](n)).join(' ')
const item = (n) => `${n.checked === null ? 'li' : n.checked ? '[x]' : '[ ]'}(${blocks(n.children)})`

const TABLE = {
  paragraphs: [
    ['', ''],
    ['\n\n \n', ''],
    ['aaa\n\nbbb', 'p(aaa) p(bbb)'],
    ['aaa\nbbb', 'p(aaa⏎bbb)'],
    ['  aaa\n bbb', 'p(aaa⏎bbb)'],
    ['aaa\n             bbb', 'p(aaa⏎bbb)'],
    ['aaa  \nbbb', 'p(aaa↵bbb)'],
    ['aaa\\\nbbb', 'p(aaa↵bbb)'],
    ['aaa     ', 'p(aaa)'],
    ['a\r\nb\rc', 'p(a⏎b⏎c)'],
    ['a\0b', 'p(a\ufffdb)'],
  ],
  headings: [
    ['# a', 'h1(a)'], ['###### a', 'h6(a)'], ['####### a', 'p(####### a)'], ['#a', 'p(#a)'], ['\\## a', 'p(## a)'],
    ['# a *b* \\*c\\*', 'h1(a <i>b</i> *c*)'], ['#      a     ', 'h1(a)'], ['   # a', 'h1(a)'], ['    # a', 'code[](# a)'],
    ['## a ##', 'h2(a)'], ['# a ##################', 'h1(a)'], ['### a ### b', 'h3(a ### b)'], ['# a#', 'h1(a#)'], ['# a \\#', 'h1(a #)'],
    ['#', 'h1()'], ['### ###', 'h3()'], ['a\n# b\nc', 'p(a) h1(b) p(c)'],
    ['a *b*\n===', 'h1(a <i>b</i>)'], ['a\n---', 'h2(a)'], ['a\nb\n=', 'h1(a⏎b)'], ['  a\n----', 'h2(a)'], ['a\n   ----      ', 'h2(a)'],
    ['a\n    ---', 'p(a⏎---)'], ['a\n= =', 'p(a⏎= =)'], ['> a\n-----', 'quote(p(a)) hr'], ['- a\n---', 'ul(li(p(a))) hr'], ['===', 'p(===)'],
  ],
  rules: [
    ['***\n---\n___', 'hr hr hr'], ['+++', 'p(+++)'], ['--', 'p(--)'], [' - - -', 'hr'], ['_ _ _ a', 'p(_ _ _ a)'], ['- a\n***\n- b', 'ul(li(p(a))) hr ul(li(p(b)))'],
    ['a\n***\nb', 'p(a) hr p(b)'], ['- a\n- * * *', 'ul(li(p(a)) li(hr))'],
  ],
  'code blocks': [
    ['    a\n      b', 'code[](a⏎  b)'], ['    a\n\n\n     b\n\n', 'code[](a⏎⏎⏎ b)'], ['a\n    b', 'p(a⏎b)'], ['\ta\tb', 'code[](a\tb)'], ['  \ta', 'code[](a)'],
    ['```\n<\n >\n```', 'code[](<⏎ >)'], ['~~~\na\n~~~', 'code[](a)'], ['```js x=1\na\n```', 'code[js x=1](a)'], ['````\na\n```\n``````', 'code[](a⏎```)'],
    ['```\na', 'code[](a)…'], ['```', 'code[]()…'], ['```\n\n  \n```', 'code[](⏎  )'], ['```\n```', 'code[]()'], [' ```\n a\na\n```', 'code[](a⏎a)'], ['    ```\n    a', 'code[](```⏎a)'],
    ['``` ```\na', 'p(`` ⏎a)'.replace('`` ⏎a', '` `⏎a')], ['a\n```\nb\n```\nc', 'p(a) code[](b) p(c)'], ['~~~ a ` b\nc\n~~~', 'code[a ` b](c)'], ['```\na\n``` b', 'code[](a⏎``` b)…'],
    ['```\n\tgo\n```', 'code[](\tgo)'], ['- ```\n  a\n\n   b\n  ```\n- c', 'ul(li(code[](a⏎⏎ b)) li(p(c)))'], ['> ```\n> a\n\nb', 'quote(code[](a)…) p(b)'],
    ['```&amp;\\*\n```', 'code[&*]()'],
  ],
  quotes: [
    ['> # a\n> b\n> c', 'quote(h1(a) p(b⏎c))'], ['># a\n>b', 'quote(h1(a) p(b))'], ['> a\nb', 'quote(p(a⏎b))'], ['> a\n\n> b', 'quote(p(a)) quote(p(b))'],
    ['> a\n>\n> b', 'quote(p(a) p(b))'], ['>', 'quote()'], ['> - a\n- b', 'quote(ul(li(p(a)))) ul(li(p(b)))'], ['>     a\n    b', 'quote(code[](a)) code[](b)'],
    ['> > > a\nb', 'quote(quote(quote(p(a⏎b))))'], ['>>> a\n> b\n>>c', 'quote(quote(quote(p(a⏎b⏎c))))'], ['> ```\na\n```', 'quote(code[]()…) p(a) code[]()…'], ['>\ta', 'quote(p(a))'], ['>\t\ta', 'quote(code[](  a))'],
    ['> a\n---', 'quote(p(a)) hr'], ['a\n> b', 'p(a) quote(p(b))'],
  ],
  lists: [
    ['- a\n- b', 'ul(li(p(a)) li(p(b)))'], ['- a\n+ b', 'ul(li(p(a))) ul(li(p(b)))'], ['1. a\n2. b', 'ol(li(p(a)) li(p(b)))'], ['3) a\n4) b', 'ol3(li(p(a)) li(p(b)))'], ['1. a\n2) b', 'ol(li(p(a))) ol2(li(p(b)))'],
    ['- a\n\n- b', 'ul+(li(p(a)) li(p(b)))'], ['- a\n\n  b\n- c', 'ul+(li(p(a) p(b)) li(p(c)))'], ['- a\n  - b\n    - c', 'ul(li(p(a) ul(li(p(b) ul(li(p(c)))))))'],
    ['- a\n - b\n  - c', 'ul(li(p(a)) li(p(b)) li(p(c)))'], ['- a\n\n b', 'ul(li(p(a))) p(b)'], ['- a\nb', 'ul(li(p(a⏎b)))'], ['-a', 'p(-a)'], ['1.a', 'p(1.a)'],
    ['a\n- b', 'p(a) ul(li(p(b)))'], ['a\n14. b', 'p(a⏎14. b)'], ['a\n1. b', 'p(a) ol(li(p(b)))'], ['a\n-', 'h2(a)'], ['a\n*', 'p(a⏎*)'], ['-\n  a', 'ul(li(p(a)))'], ['-\n\n  a', 'ul(li()) p(a)'],
    ['- a\n-\n- b', 'ul(li(p(a)) li() li(p(b)))'], ['* a\n*\n\n* c', 'ul+(li(p(a)) li() li(p(c)))'], ['10) a\n    - b', 'ol10(li(p(a) ul(li(p(b)))))'], ['10) a\n   - b', 'ol10(li(p(a))) ul(li(p(b)))'],
    ['- - a', 'ul(li(ul(li(p(a)))))'], ['1. - 2. a', 'ol(li(ul(li(ol2(li(p(a)))))))'], ['- # a\n- b\n  ---', 'ul(li(h1(a)) li(h2(b)))'], ['1.     a', 'ol(li(code[](a)))'.replace('(a)', '(a)')], ['-\ta', 'ul(li(p(a)))'], ['-\t\ta', 'ul(li(code[](  a)))'],
    ['- a\n  > b\n  ```\n  c\n  ```\n- d', 'ul(li(p(a) quote(p(b)) code[](c)) li(p(d)))'], ['* a\n  > b\n  >\n* c', 'ul(li(p(a) quote(p(b))) li(p(c)))'], ['- a\n  - b\n\n    c\n- d', 'ul(li(p(a) ul+(li(p(b) p(c)))) li(p(d)))'],
    ['- a\n- ```\n  b\n\n\n  ```\n- c', 'ul(li(p(a)) li(code[](b⏎⏎)) li(p(c)))'], ['1. a\n\n   b\n\n2. c', 'ol+(li(p(a) p(b)) li(p(c)))'], ['1234567890. a', 'p(1234567890. a)'], ['0. a', 'ol0(li(p(a)))'],
    ['- a\n    - b', 'ul(li(p(a) ul(li(p(b)))))'], ['* **Bold**: text\n* `code`', 'ul(li(p(<b>Bold</b>: text)) li(p(`code`)))'],
    ['- [ ] a\n- [x] b\n- [X] c\n- [y] d\n- [x]e', 'ul([ ](p(a)) [x](p(b)) [x](p(c)) li(p([y] d)) li(p([x]e)))'], ['1. [x] a', 'ol([x](p(a)))'],
  ],
  tables: [
    ['| a | b |\n|---|---|\n| c | d |', 'table[-,-](a|b / c|d)'], ['a | b\n:-- | --:\nc | d', 'table[left,right](a|b / c|d)'], ['|a|\n|:-:|', 'table[center](a)'], ['| a\\|b | `c\\|d` |\n|-|-|', 'table[-,-](a|b|`c|d`)'],
    ['| a | b |\n|---|---|\n| c |\n| d | e | f |', 'table[-,-](a|b / c / d|e)'], ['| a | b |\n|---|\n', 'p(| a | b |⏎|---|)'], ['x\n| a |\n|---|\n| b |', 'p(x) table[-](a / b)'], ['| a |\n|---|\n| b |\n\nc', 'table[-](a / b) p(c)'],
    ['| a |\n|---|\n> c', 'table[-](a) quote(p(c))'], ['- | a |\n  |---|\n  | b |', 'ul(li(table[-](a / b)))'], ['| **a** | [b](c) |\n|-|-|\n| x<br>y | ~~z~~ |', 'table[-,-](<b>a</b>|<a c>b</a> / x↵y|<s>z</s>)'], ['a\n---|---', 'p(a⏎---|---)'],
    ['| a | b |\n|---|---|\nc', 'table[-,-](a|b / c)'],
  ],
  'html is text': [
    ['<div>\n*a*\n</div>\n\nb', 'html(<div>⏎*a*⏎</div>) p(b)'], ['<script>\nalert(1)\n\n</script>\na', 'html(<script>⏎alert(1)⏎⏎</script>) p(a)'], ['<!-- a\n\nb -->\nc', 'html(<!-- a⏎⏎b -->) p(c)'],
    ['a <b>c</b> *d*', 'p(a <b>c</b> <i>d</i>)'.replace('<b>c</b>', '<b>c</b>')], ['<img src=x onerror=alert(1)>', 'html(<img src=x onerror=alert(1)>)'], ['a <a title="*b*">c', 'p(a <a title="*b*">c)'], ['a<br>b<br/>c', 'p(a↵b↵c)'], ['<think>\na', 'html(<think>⏎a)'],
    ['a <!-- *b* --> c', 'p(a <!-- *b* --> c)'], ['1 < 2 > 0', 'p(1 < 2 > 0)'], ['<details>\n<summary>a</summary>\n\n**b**\n\n</details>', 'fold[a](p(<b>b</b>))'],
  ],
  'code spans': [
    ['`a`', 'p(`a`)'], ['`` a ` b ``', 'p(`a ` b`)'], ['` `` `', 'p(````)'.replace('````', '````')], ['`  `` `', 'p(` `` `)'.replace('` `` `', '` ```')], ['`a\nb`', 'p(`a b`)'], ['`a\\`b`', 'p(`a\\`b`)'], ['*a`*`', 'p(*a`*`)'], ['`a', 'p(`a)'], ['```a``', 'p(```a``)'], ['` `', 'p(` `)'], ['`<a href="`">`', 'p(`<a href="`">`)'],
  ],
  emphasis: [
    ['*a*', 'p(<i>a</i>)'], ['a * b *', 'p(a * b *)'], ['a*"b"*', 'p(a*"b"*)'], ['a*b*c', 'p(a<i>b</i>c)'], ['_a_', 'p(<i>a</i>)'], ['a_b_c', 'p(a_b_c)'], ['snake_case_name', 'p(snake_case_name)'], ['_a_b_', 'p(<i>a_b</i>)'],
    ['**a**', 'p(<b>a</b>)'], ['** a **', 'p(** a **)'], ['__a__', 'p(<b>a</b>)'], ['a__b__', 'p(a__b__)'], ['***a***', 'p(<i><b>a</b></i>)'], ['*a **b** c*', 'p(<i>a <b>b</b> c</i>)'], ['**a *b* c**', 'p(<b>a <i>b</i> c</b>)'], ['***a** b*', 'p(<i><b>a</b> b</i>)'], ['***a* b**', 'p(<b><i>a</i> b</b>)'],
    ['*a**b*', 'p(<i>a**b</i>)'], ['**a*', 'p(*<i>a</i>)'], ['*a**', 'p(<i>a</i>*)'], ['*a _b* c_', 'p(<i>a _b</i> c_)'], ['\\*a*', 'p(*a*)'], ['*(**a**)*', 'p(<i>(<b>a</b>)</i>)'], ['**a (*b*)**', 'p(<b>a (<i>b</i>)</b>)'], ['*a\nb*', 'p(<i>a⏎b</i>)'], ['*[a*](b)', 'p(*<a b>a*</a>)'], ['****a****', 'p(<b><b>a</b></b>)'],
    ['2 * 3 * 4', 'p(2 * 3 * 4)'], ['**a**b', 'p(<b>a</b>b)'], ['*a*b*', 'p(<i>a</i>b*)'], ['foo******bar*********baz', 'p(foo<b><b><b>bar</b></b></b>***baz)'],
    ['**注意：**请', 'p(<b>注意：</b>请)'], ['这是**“重点”**的', 'p(这是<b>“重点”</b>的)'], ['*中文（注）*后', 'p(<i>中文（注）</i>后)'],
    ['**注意：**API 会', 'p(<b>注意：</b>API 会)'], ['用Python**（推荐）**', 'p(用Python<b>（推荐）</b>)'], ['x**「y」**z', 'p(x<b>「y」</b>z)'], ['**Note:**text', 'p(**Note:**text)'],
    ['~~a~~', 'p(<s>a</s>)'], ['a ~~b *c*~~', 'p(a <s>b <i>c</i></s>)'], ['~~~a~~~', 'code[a~~~]()…'], ['3~5 和 6~8', 'p(3~5 和 6~8)'], ['~~a', 'p(~~a)'], ['~~ a ~~', 'p(~~ a ~~)'],
  ],
  links: [
    ['[https://**a**.b](https://c.d)', 'p(<a https://c.d (c.d)>https://<b>a</b>.b</a>)'], ['[`https://a.b`](https://c.d)', 'p(<a https://c.d (c.d)>`https://a.b`</a>)'], ['[a.md](https://c.d)', 'p(<a https://c.d>a.md</a>)'],
    ['[\u202ea\u2066b *c\u202e* `d\u202e`](e)\u202e', 'p(<a e>ab <i>c</i> `d`</a>\u202e)'],
    ['[a](/b "c")', 'p(<a /b "c">a</a>)'], ['[a](b)', 'p(<a b>a</a>)'], ['[a]()', 'p(<a >a</a>)'], ['[a](<b c>)', 'p(<a b c>a</a>)'], ['[a](b c)', 'p([a](b c))'], ['[a](b(c)d)', 'p(<a b(c)d>a</a>)'], ['[a](b\\))', 'p(<a b)>a</a>)'], ["[a](b 'c')", 'p(<a b "c">a</a>)'], ['[a](b (c))', 'p(<a b "c">a</a>)'],
    ['[a [b] c](d)', 'p(<a d>a [b] c</a>)'], ['[a] b](c)', 'p([a] b](c))'], ['[a [b](c)](d)', 'p([a <a c>b</a>](d))'], ['[*a*](b)', 'p(<a b><i>a</i></a>)'], ['*[a*](b)', 'p(*<a b>a*</a>)'], ['[a`](b)`', 'p([a`](b)`)'], ['[a](b"c")', 'p(<a b"c">a</a>)'],
    ['![a *b*](c "d")', 'p(<img c "d" a b>)'], ['[![a](b)](c)', 'p(<a c><img b a></a>)'], ['!\\[a]', 'p(![a])'], ['\\![a](b)', 'p(!<a b>a</a>)'],
    ['[a][b]\n\n[b]: c "d"', 'p(<a c "d">a</a>)'], ['[a][]\n\n[A]: <c>', 'p(<a c>a</a>)'], ['[a]\n\n[a]: c', 'p(<a c>a</a>)'], ['[a]: b\n[c]: d\n\n[a] [c]', 'p(<a b>a</a> <a d>c</a>)'], ['[a]: b\n[a]: c\n\n[a]', 'p(<a b>a</a>)'], ['[a]\n\n[a]: b "c" d', 'p([a]) p([a]: b "c" d)'], ['[a]: b\nc', 'p(c)'], ['[a]:\nb\n"c"\n\n[a]', 'p(<a b "c">a</a>)'], ['[a]: b\n===\n\n[a]', 'p(===) p(<a b>a</a>)'], ['a\n[b]: c\n\n[b]', 'p(a⏎[b]: c) p([b])'], ['> [a]: b\n\n[a]', 'quote() p(<a b>a</a>)'], ['[foo][bar][baz]\n\n[baz]: u', 'p([foo]<a u>bar</a>)'],
    ['<https://a.b/c?d=e>', 'p(<a https://a.b/c?d=e>https://a.b/c?d=e</a>)'], ['<a@b.c>', 'p(<a mailto:a@b.c>a@b.c</a>)'], ['<a b>', 'html(<a b>)'], ['x <m:abc>', 'p(x <m:abc>)'],
    ['see https://a.b/c_d_e.', 'p(see <a https://a.b/c_d_e>https://a.b/c_d_e</a>.)'], ['www.a.b', 'p(<a http://www.a.b>www.a.b</a>)'], ['(https://a.b/(c))', 'p((<a https://a.b/(c)>https://a.b/(c)</a>))'], ['xhttps://a.b', 'p(xhttps://a.b)'], ['awww.b.c', 'p(awww.b.c)'], ['见https://a.b/c。然后', 'p(见<a https://a.b/c>https://a.b/c</a>。然后)'], ['a.b+c@d.e!', 'p(<a mailto:a.b+c@d.e>a.b+c@d.e</a>!)'], ['https://a.b?c&amp;', 'p(<a https://a.b?c>https://a.b?c</a>&)'],
    ['[https://a.b](https://c.d)', 'p(<a https://c.d (c.d)>https://a.b</a>)'], ['**https://a.b**', 'p(<b><a https://a.b>https://a.b</a></b>)'], ['http://localhost:8080/x', 'p(<a http://localhost:8080/x>http://localhost:8080/x</a>)'], ['http:// a', 'p(http:// a)'], ['[a](javascript:b)', 'p(<a javascript:b>a</a>)'], ['@user a@b', 'p(@user a@b)'], ['[1] www.a.b', 'p([1] <a http://www.a.b>www.a.b</a>)'],
  ],
  formulas: [
    ['costs $5 and $6', 'p(costs $5 and $6)'], ['$5 to $10. Price R$ 12', 'p($5 to $10. Price R$ 12)'], ['$10，约R$ 12', 'p($10，约R$ 12)'], ['$2xy + 3$ $3 \\text{ if } x$', 'p(m(2xy + 3) m(3 \\text{ if } x))'], ['$x$ and $HOME and $PATH', 'p(m(x) and $HOME and $PATH)'], ['$5 costs $x$', 'p($5 costs m(x))'], ['\\$5$', 'p($5$)'], ['`$x$` $y$', 'p(`$x$` m(y))'],
    ['a \\(x^2\\) b', 'p(a m(x^2) b)'], ['\\(\\)', 'p(())'], ['\\[\\]', 'p([])'], ['$a\\$b$', 'p(m(a\\$b))'], ['$ a$', 'p($ a$)'], ['$a $', 'p($a $)'], ['$a_1$ b_2$', 'p(m(a_1) b_2$)'], ['设 $x$ 为', 'p(设 m(x) 为)'],
    ['$$\nx\n+ y\n$$\n\nb', 'M(x⏎+ y) p(b)'], ['$$ x = 1 $$', 'M(x = 1)'], ['a\n$$\nb\n$$\nc', 'p(a) M(b) p(c)'], ['$$a\n= b$$\nok', 'M(a⏎= b) p(ok)'], ['\\[\nx\n\\]', 'M(x)'], ['\\[ a \\] b', 'p(M(a) b)'], ['$$a$$ is', 'p(M(a) is)'],
    ['$$\nx', 'p($$⏎x)'], ['$$\nx\n\ny\n$$', 'p($$⏎x) p(y) p($$)'], ['- $$\n  x\n  $$\n- b', 'ul(li(M(x)) li(p(b)))'], ['> $$\n> x\n> $$', 'quote(M(x))'], ['$$$ a', 'p($$$ a)'], ['| $a$ |\n|---|', 'table[-](m(a))'],
    ['**$a$**', 'p(<b>m(a)</b>)'], ['[$a$](b)', 'p(<a b>m(a)</a>)'],
  ],
  alerts: [
    ['> [!NOTE]\n> a', 'note(p(a))'], ['> [!warning]  \n>\n> - a', 'warning(ul(li(p(a))))'], ['> [!TIP]', 'tip()'], ['> [!NOTE] a', 'quote(p([!NOTE] a))'], ['> [!OTHER]\n> a', 'quote(p([!OTHER]⏎a))'],
    ['- > [!CAUTION]\n  > a', 'ul(li(caution(p(a))))'], ['[!NOTE]\na', 'p([!NOTE]⏎a)'], ['> a\n> [!NOTE]', 'quote(p(a⏎[!NOTE]))'], ['> [!NOTE]\na', 'note(p(a))'],
  ],
  notes: [
    ['a[^1]\n\n[^1]: b *c*', 'p(a^1) note1(b <i>c</i>)'], ['a[^x] b[^y]\n\n[^y]: 1\n[^x]: 2', 'p(a^2 b^1) note1(1) note2(2)'], ['a[^1]', 'p(a[^1])'], ['[^1]: b', 'note1(b)'], ['a\n[^1]: b\nc', 'p(a) note1(b⏎c)'],
    ['[^A]: b\n\n[^a]', 'note1(b) p(^1)'], ['[^1]: a\n[^1]: b', 'note1(a) note1(b)'], ['[x][^1]\n\n[^1]: b', 'p([x]^1) note1(b)'], ['[a[^1]](b)\n\n[^1]: c', 'p(<a b>a[^1]</a>) note1(c)'], ['![^1](u)\n\n[^1]: c', 'p(<img u ^1>) note1(c)'],
    ['- a[^1]\n- [^1]: b', 'ul(li(p(a^1)) li(note1(b)))'], ['[^ a]: b', ''], ['[^s1.2]: b "c"', ''], ['[^p1]: b c', 'p([^p1]: b c)'], ['[^s1]: b c', 'note1(b c)'], ['[^1]:b', ''], ['[^s1.2] [^p1]\n\n[^1]: b', 'p([^s1.2] [^p1]) note1(b)'], ['`[^1]`\n\n[^1]: b', 'p(`[^1]`) note1(b)'],
    ['[^1]:\nb', 'note1(b)'], ['[^constructor] [^__proto__]\n\n[^__proto__]: b', 'p([^constructor] ^1) note1(b)'],
  ],
  'words in tags': [
    ['<kbd>Ctrl</kbd>+<KBD>C</KBD>', 'p(<kbd Ctrl>+<kbd C>)'], ['H<sub>2</sub>O, x<sup>*n*</sup>', 'p(H<sub 2>O, x<sup <i>n</i>>)'], ['<kbd>a', 'p(<kbd>a)'], ['a</kbd>', 'p(a</kbd>)'], ['<kbd>a</sub>', 'p(<kbd>a</sub>)'],
    ['<kbd onclick="x">a</kbd>', 'p(<kbd onclick="x">a</kbd>)'], ['<sup>a<sub>b</sup>c</sub>', 'p(<sup a<sub>b>c</sub>)'], ['*a <kbd>b* c</kbd>', 'p(*a <kbd b* c>)'], ['<kbd>*a</kbd>*', 'p(<kbd *a>*)'],
    ['[a <kbd>b](c) d</kbd>', 'p(<a c>a <kbd>b</a> d</kbd>)'], ['<kbd>[a</kbd>](c)', 'p(<kbd [a>](c))'], ['[<kbd>a</kbd>](b)', 'p(<a b><kbd a></a>)'], ['`<kbd>`a</kbd>', 'p(`<kbd>`a</kbd>)'], ['<kbd></kbd>', 'p(<kbd >)'],
    ['<sup><sup>a</sup>b</sup>', 'p(<sup <sup a>b>)'], ['**<kbd>a</kbd>**', 'p(<b><kbd a></b>)'], ['<script>a</script>', 'html(<script>a</script>)'], ['x <b>a</b>', 'p(x <b>a</b>)'],
  ],
  'parts that are opened': [
    ['<details>\n<summary>A *b*</summary>\n\n- c\n\n</details>\nd', 'fold[A <i>b</i>](ul(li(p(c)))) p(d)'], ['<details open><summary>A</summary>\nb\n</details>', 'open[A](p(b))'], ['<details>\na', 'fold[](p(a))'], ['a\n<details>\nb\n</details>', 'p(a) fold[](p(b))'],
    ['<details>\n```\n</details>\n```\n</details>\na', 'fold[](code[](</details>)) p(a)'], ['<details>\n<details>\na\n</details>\nb\n</details>\nc', 'fold[](fold[](p(a)) p(b)) p(c)'], ['<details>a</details>', 'html(<details>a</details>)'],
    ['- <details>\n  a', 'ul(li(html(<details>⏎a)))'], ['<details ontoggle="x">\na', 'html(<details ontoggle="x">⏎a)'], ['</details>', 'html(</details>)'], ['<details>\na\n<summary>b</summary>', 'fold[](p(a) html(<summary>b</summary>))'],
    ['<details>\n> a\n</details>\nb', 'fold[](quote(p(a))) p(b)'],
  ],
  environments: [
    ['\\begin{align}\na &= b \\\\\n\\end{align}', 'M(\\begin{align}⏎a &= b \\\\⏎\\end{align})'], ['\\begin{align*} a \\end{align*}\nb', 'M(\\begin{align*} a \\end{align*}) p(b)'], ['\\begin{itemize}\na', 'p(\\begin{itemize}⏎a)'], ['\\begin{align}\na', 'p(\\begin{align}⏎a)'],
    ['x\n\\begin{cases}a\\end{cases}', 'p(x) M(\\begin{cases}a\\end{cases})'], ['\\begin{align}a\\end{gather}', 'p(\\begin{align}a\\end{gather})'],
  ],
  'escapes and entities': [
    ['\\!\\"\\#\\$\\%\\&\\\'\\(\\)\\*\\+\\,\\-\\.\\/\\:\\;\\<\\=\\>\\?\\@\\[\\\\\\]\\^\\_\\`\\{\\|\\}\\~', 'p(!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~)'], ['\\a\\ ', 'p(\\a\\)'], ['&amp; &copy; &#35; &#x22; &nope; &#0; &', 'p(& © # " &nope; \ufffd &)'], ['&#42;a&#42;', 'p(*a*)'], ['\\\\*a*', 'p(\\<i>a</i>)'], ['`&amp;`', 'p(`&amp;`)'], ['[a](b&amp;c "d&quot;")', 'p(<a b&c "d"">a</a>)'],
  ],
}

for (const [name, rows] of Object.entries(TABLE)) {
  test(name, () => {
    for (const [source, expected] of rows) assert.strictEqual(blocks(parse(source)), expected, JSON.stringify(source))
  })
}

// -- streaming --------------------------------------------------------------------------------------

const EVERYTHING = Object.values(TABLE).flat().map(([source]) => source)

/** Texts of lines that like to change what the lines before them mean. */
function texts(count, seed) {
  const next = random(seed)
  const pick = (list) => list[Math.floor(next() * list.length)]
  const lines = ['', '', '', '- a', '- b', '  - c', '1. a', '2. b', '  text', 'text *em* `code`', '> q', '---', '===', '```', '~~~', '    code', '| a | b |',
    '|---|---|', '[r]: u', '[r] and [s][r]', '# h', '<div>', '</div>', '* x', '+ y', '\ttab', '-', '1', '12.', '**b', 'c**', '<!--', '-->', '$$', '$$ a', 'b $$', '\\[', '\\]', 'x $y$ z', '$', '中文**强**', '[x](y', ')', '> [!NOTE]', '[^1]: n', 'a[^1]', '<kbd>k', 'l</kbd>', '<sub>[', '<details>', '<summary>s</summary>', '</details>', '\\begin{align}', '\\end{align}']
  return Array.from({ length: count }, () => Array.from({ length: 1 + Math.floor(next() * 14) }, () => (next() < 0.15 ? pick(EVERYTHING) : pick(lines))).join('\n'))
}

test('a text that grows gives what the whole text gives, at every step', () => {
  const next = random(5)
  for (const text of [...EVERYTHING, ...texts(400, 1)]) {
    const growing = stream()
    for (let end = 0; end < text.length; end += 1 + Math.floor(next() * 4)) {
      const nodes = growing.update(text.slice(0, end)).map((block) => block.node)
      assert.deepStrictEqual(nodes, parse(text.slice(0, end)), JSON.stringify(text.slice(0, end)))
    }
    for (const live of [true, false]) {
      const nodes = growing.update(text, { live }).map((block) => block.node)
      if (!live) assert.deepStrictEqual(nodes, parse(text), JSON.stringify(text))
    }
  }
})

test('a text that changes anywhere gives what the new text gives', () => {
  const all = texts(300, 9)
  const changing = stream()
  for (const text of all) {
    const found = changing.update(text)
    assert.deepStrictEqual(found.map((block) => block.node), parse(text), JSON.stringify(text))
    assert.strictEqual(new Set(found.map((block) => block.key)).size, found.length, 'keys differ')
  }
})

test('blocks that did not change stay the same objects', () => {
  const growing = stream()
  const first = growing.update('# a\n\nb\n\n- c\n')
  const second = growing.update('# a\n\nb\n\n- c\n- d\n\ne')
  assert.strictEqual(second[0].node, first[0].node)
  assert.strictEqual(second[1].node, first[1].node)
  assert.strictEqual(second[2].key, first[2].key, 'a list that grew keeps its key')
  const again = growing.update('# a\n\nb\n\n- c\n- d\n\ne')
  assert.ok(again.every(({ node }, i) => node === second[i].node))
})

test('a definition that arrives late makes links of what stands above', () => {
  const growing = stream()
  const before = growing.update('see [a]\n\nother\n\n')
  const after = growing.update('see [a]\n\nother\n\n[a]: https://b\n')
  assert.strictEqual(blocks(after.map((block) => block.node)), 'p(see <a https://b>a</a>) p(other)')
  assert.strictEqual(after[1].node, before[1].node)
})

test('a live text holds back a line that has only marks', () => {
  const rows = [['a\n-', 'p(a)'], ['a\n- ', 'p(a)'], ['a\n1', 'p(a)'], ['a\n1.', 'p(a)'], ['a\n==', 'p(a)'], ['a\n``', 'p(a)'], ['a\n> -', 'p(a)'], ['a\n>', 'p(a)'], ['> a\n> > ', 'quote(p(a))'], ['a\n|->', 'p(a)'], ['a\n|--', 'p(a)'],
    ['a\n- b', 'p(a) ul(li(p(b)))'], ['> a\n\n> [!NO', 'quote(p(a))'], ['> [', ''], ['> [!NOTE]', ''], ['> [!NOTE]\n', 'note()'], ['#', ''], ['-', ''], ['a -', 'p(a -)'], ['a\n-\n', 'h2(a)']]
  for (const [text, expected] of rows) {
    const growing = stream()
    assert.strictEqual(blocks(growing.update(text, { live: true }).map((block) => block.node)), expected, text)
  }
})

// -- hostile texts ----------------------------------------------------------------------------------

const N = 100_000
const EVIL = {
  'quotes in one line': '>'.repeat(N),
  'quotes, deeper each line': Array.from({ length: 440 }, (_, i) => '>'.repeat(i)).join('\n'),
  'lists in one line': '- '.repeat(N / 2),
  'numbers in one line': '1. '.repeat(N / 3),
  'lists, deeper each line': Array.from({ length: 440 }, (_, i) => `${' '.repeat(i)}- a`).join('\n'),
  'list and blank lines': '- a\n\n'.repeat(N / 5),
  stars: '*'.repeat(N), 'stars and letters': '*a '.repeat(N / 3), 'star pairs': '*a **a '.repeat(N / 7), 'open and close': 'a**b'.repeat(N / 4) + 'c* '.repeat(N / 3),
  'nested strong': `${'**'.repeat(N / 4)}a${'**'.repeat(N / 4)}`, 'nested with text': `${'*a'.repeat(N / 4)}${'b*'.repeat(N / 4)}`, underscores: '_a__b_'.repeat(N / 6), tildes: '~~a '.repeat(N / 4),
  brackets: '['.repeat(N), 'brackets closed': '['.repeat(N / 2) + ']'.repeat(N / 2), 'brackets and definitions': `[a]: b\n\n${'['.repeat(N / 2)}${']'.repeat(N / 2)}`,
  'links half': '[a]('.repeat(N / 4), 'links in links': `${'['.repeat(N / 8)}a${'](b)'.repeat(N / 8)}`, pictures: '!['.repeat(N / 2), 'pictures and links': '!['.repeat(N / 8) + '[a](b)'.repeat(N / 12),
  'pictures in pictures': `${'!['.repeat(N / 8)}a${'](b)'.repeat(N / 8)}`, 'pointed targets': '[a](<b'.repeat(N / 6), titles: '[a](b "c'.repeat(N / 8), parentheses: `[a](${'('.repeat(N)}`, 'empty labels': '[]['.repeat(N / 3),
  backticks: Array.from({ length: 440 }, (_, i) => '`'.repeat(i)).join(' '), 'backticks, open': '`a ``b '.repeat(N / 7), 'one backtick': `\`${'a'.repeat(N)}`,
  angles: '<'.repeat(N), comments: '<!--'.repeat(N / 4), 'half addresses': '<a:'.repeat(N / 3), 'half tags': '<a b="'.repeat(N / 6), 'long tag': `<a ${'b '.repeat(N / 2)}`, 'tag spaces': `x <a${' '.repeat(N)}`,
  'bare addresses': 'http://'.repeat(N / 7), 'bare addresses that are none': 'http://!'.repeat(N / 8), 'address ends': `http://a${')'.repeat(N)}`, 'address entities': `http://a${'&amp;'.repeat(N / 5)}`, www: 'www.'.repeat(N / 4),
  mails: 'a@'.repeat(N / 2), 'mail dots': `a@b${'.c'.repeat(N / 2)}`, 'mail name': `${'a'.repeat(N)}@`, 'mails in brackets': `[${'a@b.c '.repeat(N / 6)}`, entities: '&'.repeat(N), 'entity names': '&a'.repeat(N / 2),
  spaces: `a${' '.repeat(N)}b`, tabs: '\t'.repeat(N), 'tabs in quotes': '>\t'.repeat(N / 2), 'heading spaces': `# a${' '.repeat(N)}b`, 'heading marks': `# a ${'#'.repeat(N)}b`, 'blank lines': '\n'.repeat(N),
  'hard breaks': 'a  \n'.repeat(N / 4), 'table columns': `${'|a'.repeat(N / 10)}|\n${'|-'.repeat(N / 10)}|\n${'|\n'.repeat(N / 4)}`, 'table rows': `|a|\n|-|\n${'|b|\n'.repeat(N / 4)}`, 'almost a table': '|-\n'.repeat(N / 3), 'delimiter spaces': `a|b\n-${' '.repeat(N)}x|`,
  definitions: '[a]: b\n'.repeat(N / 7), 'half definitions': '[a\n'.repeat(N / 3), 'definition titles': "[a]: b '\n".repeat(N / 9), fences: '```\n'.repeat(N / 4), 'fence words': `\`\`\`${'a'.repeat(N)}`, 'fence spaces': `\`\`\`\na\n\`\`\`${' '.repeat(N)}x`,
  rules: '* '.repeat(N / 2) + 'x', underlines: 'a\n-\n'.repeat(N / 4), html: '<div>\n'.repeat(N / 6), lazy: `> a\n${'b\n'.repeat(N / 2)}`, escapes: '\\'.repeat(N), nul: '\0'.repeat(N), dollars: '$'.repeat(N), 'dollar letters': '$a'.repeat(N / 2), 'half formulas': '\\('.repeat(N / 2), 'formulas with ticks': `${'\\('.repeat(N / 3)}\`\\)`, 'display half': '$$ a\n'.repeat(N / 5),
  'tags, open': '<kbd>'.repeat(N / 5), 'tags, closed': '</kbd>'.repeat(N / 6), 'tags, other end': `${'<kbd>'.repeat(N / 10)}${'</sub>'.repeat(N / 12)}`, 'tags, nested': `${'<sup>'.repeat(N / 10)}a${'</sup>'.repeat(N / 11)}`, 'tags and brackets': '<sup>[*a</sup>'.repeat(N / 14), 'tags across links': '<sub>[a</sub>](b)'.repeat(N / 16),
  details: '<details>\n'.repeat(N / 10), 'details closed': '</details>\n'.repeat(N / 11), 'details with summary': '<details>\n<summary>a</summary>\n'.repeat(N / 30), notes: '[^1]: a\n'.repeat(N / 8), 'notes, all different': Array.from({ length: N / 12 }, (_, i) => `[^${i}]: a`).join('\n'), 'points at notes': `[^1]: a\n\n${'[^1]'.repeat(N / 4)}`, alerts: '> [!NOTE]\n'.repeat(N / 10), environments: '\\begin{align}\n'.repeat(N / 14),
  surrogates: '\ud800'.repeat(N), 'a fence that is none': `${'`'.repeat(N)} a\``, 'addresses before semicolons': 'http://a; '.repeat(N / 4),
}

test('hostile texts take linear time, and their trees are not deep', () => {
  const depth = (value, level = 0) => (value !== null && typeof value === 'object' ? Math.max(level, ...Object.values(value).slice(0, 50).map((each) => depth(each, level + 1))) : level)
  for (const [name, text] of Object.entries(EVIL)) {
    const started = cpu()
    const tree = parse(text)
    const took = cpu() - started
    assert.ok(took < 1000, `${name}: ${took.toFixed()} ms`)
    assert.ok(depth(tree) < 400, `${name}: depth ${depth(tree)}`)
  }
})

test('so does a line of marks that is being written', () => {
  for (const text of ['>'.repeat(N), '> '.repeat(N / 2), '-'.repeat(N), `>${' '.repeat(N)}`, `${'>'.repeat(N / 2)}${'-'.repeat(N / 2)}`]) {
    const started = cpu()
    stream().update(`a\n${text}x`, { live: true })
    const took = cpu() - started
    assert.ok(took < 1000, `${text.slice(0, 3)}: ${took.toFixed()} ms`)
  }
})

test('a megabyte of the worst takes seconds, not minutes', () => {
  for (const piece of ['[', '*', '>', '`', '_a ', '<a:', 'a@', 'a\n', '$$\n', '| a |\n', '![', '](', '&', '\\']) {
    const text = piece.repeat(1_000_000 / piece.length)
    const started = cpu()
    parse(text)
    const took = cpu() - started
    assert.ok(took < 6000, `${JSON.stringify(piece)}: ${took.toFixed()} ms`)
  }
})
