// What is said of a text in Markdown when it is read aloud: sentences without marks, and their language. Blocks of code,
// formulas and notes are left out, of a link only its words are said. Browsers stop long utterances, so all are short.

yaa.define('ext/voice/spoken-text', ['core/markdown'], ({ parse }) => {
  /** Characters of one utterance: Chromium goes silent after about fifteen seconds. */
  const MOST = 180
  const ADDRESS = /^(?:https?:\/\/|www\.)([^\s/?#:]+)\S*$/i
  /** The end of a sentence: a mark before a gap, or one of Chinese and Japanese. */
  const END = /([.!?…]["'”’)\]]*) |([。！？]["”’）】]*)/g
  /** Scripts with the language to take where none of the reader's has it. */
  const SCRIPTS = /** @type {[RegExp, string, string[]][]} */ ([
    [/[\p{Script=Hiragana}\p{Script=Katakana}]/gu, 'ja', ['ja']],
    [/\p{Script=Hangul}/gu, 'ko', ['ko']],
    [/\p{Script=Han}/gu, 'zh-CN', ['zh', 'yue']],
    [/\p{Script=Cyrillic}/gu, 'ru', ['ru', 'uk', 'bg', 'be', 'sr', 'mk', 'kk']],
    [/\p{Script=Arabic}/gu, 'ar', ['ar', 'fa', 'ur']],
    [/\p{Script=Hebrew}/gu, 'he', ['he', 'yi']],
    [/\p{Script=Devanagari}/gu, 'hi', ['hi', 'mr', 'ne']],
    [/\p{Script=Greek}/gu, 'el', ['el']],
    [/\p{Script=Thai}/gu, 'th', ['th']],
  ])
  /** Words that are frequent in one language and rare in the others. @type {Record<string, string>} */
  const FREQUENT = {
    en: 'the and is of to that with this for are', de: 'der die und ist das nicht mit ein auf für', fr: 'le les des est une pour dans que avec pas',
    es: 'el los que una para por con las es del', it: 'il che di una per non con sono della gli', pt: 'o que não uma para com os do da em', nl: 'het een van en is dat niet voor met zijn',
  }

  /** @param {string} markdown @returns {string[]} */
  function sentencesOf(markdown) {
    return parse(markdown).flatMap(said).flatMap((text) => text.replace(/\s+/g, ' ').replace(END, '$1$2\n').split('\n')).flatMap(pieces)
  }

  /** The texts of a block, each a sentence at least. @param {any} block @returns {string[]} */
  function said(block) {
    switch (block.type) {
      case 'paragraph': case 'heading': return [wordsOf(block.children)]
      case 'quote': return block.children.flatMap(said)
      case 'details': return [wordsOf(block.summary), ...block.children.flatMap(said)]
      case 'list': return block.items.flatMap((/** @type {any} */ item) => item.children.flatMap(said))
      case 'table': return [block.head, ...block.rows].map((row) => row.map(wordsOf).filter(Boolean).join(', '))
      default: return []
    }
  }

  /** @param {any[]} nodes @returns {string} */
  function wordsOf(nodes) {
    return (nodes ?? []).map((node) => {
      if (node.type === 'text' || node.type === 'code') return node.text.split(/(\s+)/).map(hostOf).join('')
      if (node.type === 'break') return ' '
      if (node.type === 'image') return node.alt ?? ''
      return ['cite', 'note', 'math'].includes(node.type) ? '' : wordsOf(node.children)
    }).join('')
  }

  /** Of an address its host is enough. @param {string} word */
  const hostOf = (word) => ADDRESS.exec(word)?.[1].replace(/^www\./i, '') ?? word

  /** @param {string} sentence @returns {string[]} */
  function pieces(sentence) {
    const found = []
    let rest = sentence.trim()
    while (rest.length > MOST) {
      const gap = Math.max(...[', ', '; ', '，', '；', '、', ': ', ' – '].map((mark) => rest.lastIndexOf(mark, MOST - 2)))
      const space = rest.lastIndexOf(' ', MOST)
      let end = gap > MOST / 4 ? gap + 1 : space > 0 ? space : MOST
      if (/[\ud800-\udbff]/.test(rest[end - 1])) end -= 1
      found.push(rest.slice(0, end).trim())
      rest = rest.slice(end).trim()
    }
    return [...found, rest].filter((one) => /[\p{L}\p{N}]/u.test(one))
  }

  /**
   * The language of a text: by its script, then by frequent words. @param {string} text
   * @param {readonly string[]} known the languages of the reader, the likeliest first
   */
  function languageOf(text, known) {
    const sample = text.slice(0, 4000)
    const count = (/** @type {RegExp} */ script) => sample.match(script)?.length ?? 0
    const letters = count(/\p{L}/gu) || 1
    const ofReader = (/** @type {string[]} */ all) => known.find((one) => all.includes(one.split('-')[0].toLowerCase()))
    for (const [script, usual, all] of SCRIPTS) if (count(script) > letters / 5) return ofReader(all) ?? usual
    const words = sample.toLowerCase().match(/\p{L}+/gu) ?? []
    const scores = Object.entries(FREQUENT).map(([name, list]) => ({ name, n: words.filter((word) => list.split(' ').includes(word)).length }))
    const best = scores.reduce((one, two) => (two.n > one.n ? two : one))
    const likely = known.find((one) => scores.some(({ name, n }) => n === best.n && name === one.split('-')[0].toLowerCase()))
    return likely ?? ofReader([best.name]) ?? best.name
  }

  return { sentencesOf, languageOf }
})
