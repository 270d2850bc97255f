// Diagrams: what is understood, what is left as text, texts that try to be more or take too long, every cut.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS, cpu, random } = require('./load-modules.js')

const { parse } = use('ext/diagram/diagram')
const graphs = use('ext/diagram/graph')
const graphOf = (text) => graphs.parse(text.split('\n').map((line) => line.trim()).filter(Boolean))
const edges = (text) => graphOf(text)?.edges.map(({ from, to, label, style, start, end }) => `${start ? '<' : ''}${from}${{ solid: '-', dotted: '.', thick: '=' }[style]}${end ? '>' : ''}${to}${label && `:${label}`}`).join(' ')
const words = (text) => parse(text)?.shapes.flatMap(({ text: said }) => said ?? [])

const FLOW = 'flowchart LR\n  A["Start (now)"] --> B{Is it?}\n  B -->|Yes| C(Do it)\n  B -- No --> D((End))\n  C -.-> D\n  D ==> A\n  style A fill:#f00\n'
const SEQUENCE = 'sequenceDiagram\n  autonumber\n  participant U as User\n  actor S\n  U->>S: Hello<br/>there\n  S-->>U: Hi\n  S->>S: think\n  Note over U,S: both\n  alt good\n    U-xS: no\n  else bad\n    loop every day\n      U-)S: later\n    end\n  end\n'
const PIE = 'pie showData title Pets\n  "Dogs" : 386\n  "Cats" : 85.9\n'
const STATE = 'stateDiagram-v2\n  [*] --> Idle\n  Idle --> Running : start\n  state "Runs now" as Running\n  Running --> [*]\n'

test('links of a flowchart, with words and without, in chains and for several', () => {
  const cases = [
    ['A-->B', 'A->B'], ['A --> B --> C', 'A->B B->C'], ['A & B --> C & D', 'A->C A->D B->C B->D'], ['A---B', 'A-B'], ['A -.-> B', 'A.>B'], ['A ==> B', 'A=>B'], ['A <--> B', '<A->B'],
    ['A -->|yes, no| B', 'A->B:yes, no'], ['A -- words here --> B', 'A->B:words here'], ['A -. maybe .-> B', 'A.>B:maybe'], ['A == so ==> B', 'A=>B:so'], ['A-->|"q | r"|B', undefined], ['A --text--- B', 'A-B:text'],
    ['A[a -- b] --> B', 'A->B'], ['节点一[开始] --> 节点二', '节点一->节点二'], ['a-b --> c.d', 'a-b->c.d'], ['A:::hot --> B', 'A->B'], ['A --> B; C --> D', 'A->B C->D'], ['A -->', undefined], ['A ?? B', undefined], ['A[open --> B', undefined],
  ]
  for (const [line, wanted] of cases) assert.equal(edges(`graph TD\n${line}`), wanted, line)
})

test('labels and shapes', () => {
  const { nodes } = graphOf('graph TD\nA["x (y) [z]"]\nB(r)\nC((c))\nD{d}\nE([s])\nF[[f]]\nG>g]\nH{{h}}\nI[a<br/>b]\nJ["#quot;q#quot;"]\nK')
  assert.deepEqual([...nodes.values()].map(({ label, shape }) => `${label}/${shape}`), ['x (y) [z]/box', 'r/round', 'c/circle', 'd/diamond', 's/stadium', 'f/box', 'g/box', 'h/stadium', 'a\nb/box', '"q"/box', 'K/box'])
})

test('each kind has its words, and what it needs', () => {
  assert.deepEqual(words(FLOW).toSorted(), ['Do it', 'End', 'Is it?', 'No', 'Start (now)', 'Yes'])
  assert.deepEqual(words(SEQUENCE).slice(0, 2), ['User', 'S'])
  for (const said of ['1. Hello', 'there', '2. Hi', '3. think', 'both', 'alt [good]', '[bad]', 'loop [every day]', '4. no', '5. later']) assert.ok(words(SEQUENCE).includes(said), said)
  assert.deepEqual(words(PIE), ['Pets', 'Dogs · 386 · 81.8%', 'Cats · 85.9 · 18.2%'])
  assert.deepEqual(words(STATE).toSorted(), ['Idle', 'Runs now', 'start'])
  assert.deepEqual(words('---\ntitle: x\n---\n%%{init: {}}%%\ngraph TD\nsubgraph one [Part one]\nA --> B\nend\nB --> C').toSorted(), ['A', 'B', 'C', 'Part one'])
})

test('what is not understood is null, and so is what is too large', () => {
  for (const text of ['', 'hello', 'classDiagram\nA <|-- B', 'gantt\ntitle x', 'graph TD', 'graph TD\nA -->', 'graph TD\nsubgraph x\nA', 'graph TD\nend', 'graph TD\nsubgraph x\nA\nend\nx --> B', 'sequenceDiagram', 'sequenceDiagram\nloop x\nA->>B: y', 'sequenceDiagram\nbox x\nA->>B: y\nend',
    'sequenceDiagram\nend', 'pie', 'pie\n"a" : 0', 'pie\n"a" : -1', 'pie\na : 1', 'stateDiagram-v2\nstate X {\nA --> B\n}', `graph TD\n${'A --> B\n'.repeat(400)}`, `graph TD\n${Array.from({ length: 200 }, (_, i) => `A${i}`).join('\n')}`, `graph TD\n${'x'.repeat(30_000)}`]) {
    assert.equal(parse(text), null, text.slice(0, 60))
  }
})

test('nothing is drawn outside of the picture, and nodes do not lie on each other', () => {
  for (const direction of ['TB', 'BT', 'LR', 'RL']) {
    const { width, height, shapes } = parse(`graph ${direction}\nA[One] --> B[Two words]\nA --> C & D & E\nB & C --> F{Choose}\nF -->|again| A\nF --> F\nD --> G((x))\nE ---> G\n孤立[一个中文节点]`)
    const boxes = shapes.filter(({ tag, kind }) => tag === 'rect' && kind === 'node').map(({ attrs }) => attrs)
    for (const { x, y, width: w, height: h } of boxes) assert.ok(x >= 0 && y >= 0 && x + w <= width && y + h <= height, `${direction}: ${x} ${y}`)
    for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) assert.ok(a.x + a.width <= b.x + 0.2 || b.x + b.width <= a.x + 0.2 || a.y + a.height <= b.y + 0.2 || b.y + b.height <= a.y + 0.2, `${direction}: overlap`)
  }
})

test('a note beside the last one is inside of the picture', () => {
  const { width, shapes } = parse('sequenceDiagram\nA->>B: x\nNote right of B: words that are longer than a name')
  const rects = shapes.filter(({ tag, kind }) => tag === 'rect' && kind === 'remark').map(({ attrs }) => attrs)
  assert.equal(rects.length, 1)
  for (const { x, width: w } of rects) assert.ok(x + w <= width, `${x} ${w} ${width}`)
})

test('shapes are of a few kinds, with numbers in their places, whatever the text says', () => {
  const evil = ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '"><svg onload=alert(1)>', 'javascript:alert(1)', "'); DROP", '\u202e\u0000', '__proto__', 'constructor', '</style>', 'url(http://evil.test)', '&#x3c;']
  for (const one of evil) {
    for (const text of [`graph TD\nA["${one}"] -->|${one.replaceAll('|', '')}| B\nclick A "${one}"\nclick B callback\nlinkStyle 0 stroke:${one}\nclassDef x fill:${one}`, `sequenceDiagram\nA->>B: ${one}\nNote over A: ${one}`, `pie title ${one}\n"${one.replaceAll('"', '')}" : 1`, `stateDiagram-v2\nA --> B : ${one}`]) {
      for (const { tag, kind, attrs } of parse(text)?.shapes ?? []) {
        assert.ok(['rect', 'circle', 'polygon', 'path', 'text'].includes(tag))
        assert.match(kind, /^[a-z0-9 -]+$/)
        for (const [name, value] of Object.entries(attrs)) {
          assert.ok(['x', 'y', 'width', 'height', 'rx', 'cx', 'cy', 'r', 'points', 'd', 'text-anchor'].includes(name), name)
          assert.match(String(value), /^(?:[-\d., MLHVCAZhvlm]+|start|middle)$/, `${name} of ${text}`)
        }
      }
    }
  }
  for (const id of ['__proto__', 'constructor', 'toString']) {
    assert.deepEqual(words(`graph TD\n${id} --> b`).toSorted(), [id, 'b'].toSorted())
    assert.deepEqual(words(`sequenceDiagram\n${id}->>b: x`).toSorted(), [id, 'b', 'x'].toSorted())
  }
})

test('cut anywhere, and with letters changed, nothing is thrown', () => {
  const next = random(3)
  const LETTERS = '-->|[](){}"&;:\n <br>%AB=.x'
  for (const text of [FLOW, SEQUENCE, PIE, STATE]) {
    for (let end = 0; end <= text.length; end++) parse(text.slice(0, end))
    for (let n = 0; n < 400; n++) {
      const letters = [...text]
      for (let i = 0; i < 5; i++) letters[Math.floor(next() * letters.length)] = LETTERS[Math.floor(next() * LETTERS.length)]
      const found = parse(letters.join(''))
      for (const value of found ? [found.width, found.height, ...found.shapes.flatMap(({ attrs }) => Object.values(attrs))] : []) assert.doesNotMatch(String(value), /NaN|Infinity|undefined/, letters.join(''))
    }
  }
})

test('the worst takes a moment', () => {
  const nodes = Array.from({ length: 140 }, (_, i) => `n${i}`)
  const evil = {
    'a long chain with edges back': `graph TD\n${nodes.slice(1).map((one, i) => `${nodes[i]} --> ${one}`).join('\n')}\n${nodes.slice(0, 100).map((one) => `n139 --> ${one}`).join('\n')}`,
    'all to all': `graph TD\n${nodes.slice(0, 17).join(' & ')} --> ${nodes.slice(20, 37).join(' & ')}`, 'a wide layer': `graph TD\n${nodes.slice(1).map((one) => `n0 --> ${one}`).join('\n')}`, 'ampersands': `graph TD\n${'A & '.repeat(4000)}A --> B`,
    'links that do not end': `graph TD\nA ${'-- '.repeat(6000)}`, 'dashes': `graph TD\nA${'-'.repeat(19_000)}`, 'brackets': `graph TD\nA${'['.repeat(19_000)}`, 'one long word': `graph TD\nA[${'x'.repeat(19_000)}]`, 'spaces': `graph TD\nA${' '.repeat(19_000)}B`, 'subgraphs': `graph TD\n${'subgraph x\n'.repeat(400)}`,
    'a message without end': `sequenceDiagram\nA${'-'.repeat(19_000)}`, 'colons': `sequenceDiagram\nA->>B${':'.repeat(19_000)}`, 'many messages': `sequenceDiagram\n${'A->>B: some words that are wrapped, and some more of them\n'.repeat(290)}`, 'pie words': `pie\n"${'x'.repeat(19_000)}" : 1`, 'state words': `stateDiagram\n${'a'.repeat(9000)} --> ${'b'.repeat(9000)}`,
  }
  for (const [name, text] of Object.entries(evil)) {
    const began = cpu()
    parse(text)
    assert.ok(cpu() - began < 500, `${name}: ${(cpu() - began).toFixed()} ms`)
  }
})
