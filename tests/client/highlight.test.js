// Code to ranges: a sample of each language, the laws of ranges, and no pattern that takes long.
'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { use, random, cpu } = require('./load-modules.js')

const { spans, languageOf } = use('core/highlight')
const shown = (text, lang) => spans(text, lang).map(([kind, from, to]) => `${kind}:${text.slice(from, to)}`).join(' ')

const SAMPLES = [
  ['json', '{"a": "b\\"c", "d": [1, -2.5e3, true, null]}', 'name:"a" string:"b\\"c" name:"d" number:1 number:-2.5e3 keyword:true keyword:null'],
  ['python', '@dec\ndef go(x):  # note\n    return f"a{x}" + \'b\' + """c\nd""" if not 0x1f', 'name:@dec keyword:def name:go comment:# note keyword:return string:f"a{x}" string:\'b\' string:"""c\nd""" keyword:if keyword:not number:0x1f'],
  ['ts', 'const a: string = `x${1}` // c\nf(2) /* d */', 'keyword:const keyword:string string:`x${1}` comment:// c name:f number:2 comment:/* d */'],
  ['bash', 'for f in "$x" \'y\'; do echo ${f} # c\ndone', 'keyword:for keyword:in string:"$x" string:\'y\' keyword:do keyword:echo name:${f} comment:# c keyword:done'],
  ['diff', '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same', 'comment:--- a comment:+++ b name:@@ -1 +1 @@ removed:-old added:+new'],
  ['html', '<!-- c --><a href="b" x=\'y\'>&amp;</a>', 'comment:<!-- c --> keyword:<a name:href string:"b" name:x string:\'y\' keyword:> number:&amp; keyword:</a keyword:>'],
  ['css', 'a:hover { color: #fff; margin: -1.5em } /* c */ @media x', 'name:color number:#fff name:margin number:-1.5em comment:/* c */ keyword:@media'],
  ['sql', "SELECT count(*) FROM t WHERE a = 'x''y' -- c", "keyword:SELECT name:count keyword:FROM keyword:WHERE string:'x''y' comment:-- c"],
  ['yml', 'a: 1\n- b: "c" # d\n  e.f: true', 'name:a number:1 name:b string:"c" comment:# d name:e.f keyword:true'],
  ['md', '# T\n- a **b** `c` [d](e)\n> q\n```\nx\n```', 'keyword:# T keyword:- name:**b** string:`c` name:[d] comment:> q string:```\nx\n```'],
  ['brainfuck', '+++', ''],
  ['', '"x"', ''],
]

test('a sample of each language', () => {
  for (const [lang, text, expected] of SAMPLES) assert.strictEqual(shown(text, lang), expected, lang)
})

test('names of languages', () => {
  const rows = [['python title="x"', 'py'], ['{.python}', 'py'], ['TSX', 'js'], ['xml', 'html'], ['', ''], ['toString', ''], ['constructor', ''], ['c++', '']]
  for (const [info, name] of rows) assert.strictEqual(languageOf(info), name, info)
})

test('strings and comments that are still being written', () => {
  const rows = [['js', '"ab'], ['js', '/* ab\ncd'], ['js', '`ab\ncd'], ['py', '"""ab\ncd'], ['html', '<!-- ab'], ['sh', '"ab\ncd']]
  for (const [lang, text] of rows) assert.deepStrictEqual(spans(text, lang).map((span) => span.slice(1)), [[0, text.length]], text)
})

test('ranges are in order, apart, inside the text, and take linear time on anything', () => {
  const next = random(2)
  const pieces = ['"', "'", '`', '/*', '*/', '//', '#', '\\', '\n', ' ', 'a', 'if', '1', '.', '(', '<', '>', '=', '-', '--', '+', '{', '}', ':', '@', '$', '"""', '**', '[', '中', '😀', '\t', '- ']
  for (const lang of ['json', 'py', 'js', 'sh', 'diff', 'html', 'css', 'sql', 'yaml', 'md']) {
    const texts = [...pieces.map((piece) => piece.repeat(100_000 / piece.length)), ...Array.from({ length: 50 }, () => Array.from({ length: 200 }, () => pieces[Math.floor(next() * pieces.length)]).join(''))]
    for (const text of texts) {
      const started = cpu()
      let last = 0
      for (const [, from, to] of spans(text, lang)) {
        assert.ok(from >= last && to > from && to <= text.length)
        last = to
      }
      const took = cpu() - started
      assert.ok(took < 500, `${lang} ${JSON.stringify(text.slice(0, 6))}: ${took.toFixed()} ms`)
    }
  }
})
