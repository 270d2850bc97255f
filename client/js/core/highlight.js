// Code → ranges to colour: one small table of patterns for each language, tried from left to right. No pattern may
// take long to fail, so strings and comments also end where the text ends: that is how they look while streaming.

yaa.define('core/highlight', [], () => {
  const END = '(?![^])'
  const DOUBLE = /"(?:[^"\\\n]|\\[^])*"?/
  const SINGLE = /'(?:[^'\\\n]|\\[^])*'?/
  const NUMBER = /(?<![\w$])(?:0[xX][\da-fA-F_]+|0[bBoO][\d_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)n?/
  const BLOCK_COMMENT = new RegExp(`/\\*[^]*?(?:\\*/|${END})`)
  const CALLED = /(?<![\w$])[A-Za-z_$][\w$]{0,80}(?=\()/

  /** @param {string} list @param {string} [flags] */
  const words = (list, flags = '') => new RegExp(`(?<![\\w$.-])(?:${list.replaceAll(' ', '|')})(?![\\w$-])`, flags)

  /** @type {Record<string, [SpanKind, RegExp][]>} */
  const TABLES = {
    json: [
      ['name', /"(?:[^"\\\n]|\\.)*"(?=[ \t]{0,9}:)/],
      ['string', DOUBLE],
      ['number', /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/],
      ['keyword', words('true false null')],
      ['comment', /\/\/.*/],
    ],
    py: [
      ['comment', /#.*/],
      ['string', new RegExp(`(?<!\\w)[rRbBfFuU]{0,2}(?:"""[^]*?(?:"""|${END})|'''[^]*?(?:'''|${END}))`)],
      ['string', new RegExp(`(?<!\\w)[rRbBfFuU]{0,2}(?:${DOUBLE.source}|${SINGLE.source})`)],
      ['name', /(?<=\b(?:def|class)[ \t]{1,4})\w+|(?<=^[ \t]{0,60})@[\w.]+/],
      ['keyword', words(
          'False None True and as assert async await break case class continue def del elif else except '
          + 'finally for from global if import in is lambda match nonlocal not or pass raise return try while '
          + 'with yield self',
      )],
      ['number', NUMBER],
      ['name', CALLED],
    ],
    js: [
      ['comment', /\/\/.*/],
      ['comment', BLOCK_COMMENT],
      ['string', new RegExp(`\`(?:[^\`\\\\]|\\\\[^])*(?:\`|${END})`)],
      ['string', DOUBLE],
      ['string', SINGLE],
      ['keyword', words(
          'abstract any as async await boolean break case catch class const continue debugger declare '
          + 'default delete do else enum export extends false finally for from function get if implements '
          + 'import in instanceof interface keyof let namespace never new null number of override private '
          + 'protected public readonly return satisfies set static string super switch this throw true try '
          + 'type typeof undefined unknown var void while with yield',
      )],
      ['number', NUMBER],
      ['name', CALLED],
    ],
    sh: [
      ['comment', /(?<![^\s;])#.*/],
      ['string', /"(?:[^"\\]|\\[^])*"?/],
      ['string', /'[^']*'?/],
      ['name', /\$(?:\w+|\{[^}\n]*\}?|[@*#?$!-])/],
      ['keyword', words(
          'case do done elif else esac export fi for function if in local return select set source then '
          + 'until while sudo cd echo exit',
      )],
    ],
    diff: [
      ['comment', /^(?:diff |index |---|\+\+\+|new file|deleted file|similarity|rename ).*/],
      ['name', /^@@.*/],
      ['added', /^\+.*/],
      ['removed', /^-.*/],
    ],
    html: [
      ['comment', new RegExp(`<!--[^]*?(?:-->|${END})`)],
      ['keyword', /<\/?[A-Za-z!?][\w:.-]*|\/?\??>/],
      ['string', /(?<==)(?:"[^"]*"?|'[^']*'?)/],
      ['name', /(?<=[\s"'])[A-Za-z_@:][\w:@.-]{0,60}(?==)/],
      ['number', /&#?\w{1,31};/],
    ],
    css: [
      ['comment', BLOCK_COMMENT],
      ['string', DOUBLE],
      ['string', SINGLE],
      ['keyword', /@[\w-]+|!important/],
      ['name', /(?<=[{;\s])(?:--)?[A-Za-z-]{1,60}(?=[ \t]{0,9}:[^:])/],
      ['number', /#[\da-fA-F]{3,8}(?!\w)|(?<![\w-])-?(?:\d+\.)?\d+(?:[a-z]{1,5}|%)?/],
    ],
    sql: [
      ['comment', /--.*/],
      ['comment', BLOCK_COMMENT],
      ['string', /'(?:[^']|'')*'?/],
      ['name', /"[^"\n]*"?|`[^`\n]*`?/],
      ['keyword', words(
          'add all alter and as asc begin between by case cascade check column commit constraint create '
          + 'cross database default delete desc distinct drop else end exists explain false foreign from full '
          + 'group having if in index inner insert intersect into is join key left like limit not null offset '
          + 'on or order outer over partition primary references returning right rollback row rows select set '
          + 'table then transaction true union unique update using values view when where with int integer '
          + 'bigint text varchar char boolean date timestamp numeric real',
      )],
      ['number', NUMBER],
      ['name', CALLED],
    ],
    yaml: [
      ['comment', /(?<=^|\s)#.*/],
      ['name', /(?<=^[ \t]{0,60}(?:- ){0,6})(?:[\w./-]{1,80}|"[^"\n]*"|'[^'\n]*')(?=:(?:\s|$))/],
      ['string', DOUBLE],
      ['string', SINGLE],
      ['keyword', words('true false null yes no on off')],
      ['number', /(?<![\w.:-])-?\d+(?:\.\d+)?(?![\w.:-])/],
      ['keyword', /[&*][\w-]+|^---$/],
    ],
    md: [
      ['string', new RegExp(`^(?:\`\`\`[^]*?(?:^\`\`\`|${END})|~~~[^]*?(?:^~~~|${END}))`)],
      ['keyword', /^#{1,6}[ \t].*|^[ \t]*(?:[-*+]|\d{1,9}[.)])(?= )/],
      ['comment', /^>.*/],
      ['string', /`[^`\n]+`/],
      ['name', /\*\*[^*\n]{1,500}\*\*|\[[^\]\n]{1,500}\](?=\()/],
    ],
  }

  /** @type {Record<string, string>} */
  const ALIASES = {
    jsonc: 'json', json5: 'json', jsonl: 'json', ndjson: 'json', python: 'py', python3: 'py', py3: 'py', pyi: 'py', javascript: 'js', jsx: 'js', mjs: 'js', cjs: 'js',
    ts: 'js', tsx: 'js', typescript: 'js', mts: 'js', bash: 'sh', shell: 'sh', zsh: 'sh', console: 'sh', shellscript: 'sh', patch: 'diff', htm: 'html', xml: 'html',
    svg: 'html', xhtml: 'html', vue: 'html', scss: 'css', less: 'css', postgresql: 'sql', mysql: 'sql', sqlite: 'sql', yml: 'yaml', markdown: 'md',
  }

  /** @type {Map<string, RegExp>} a table as one pattern, a group for each of its lines */
  const compiled = new Map()

  /** @param {string} info of a fenced block: `python title="x"`, `{.py}` @returns {string} name of a table, or '' */
  function languageOf(info) {
    const name = /[A-Za-z][\w+#-]*/.exec(info)?.[0].toLowerCase() ?? ''
    const known = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name
    return Object.hasOwn(TABLES, known) ? known : ''
  }

  /**
   * @param {string} text
   * @param {string} lang
   * @returns {[SpanKind, number, number][]} in order, none inside another
   */
  function spans(text, lang) {
    const name = languageOf(lang)
    if (!name) return []
    const table = TABLES[name]
    /** @type {[SpanKind, number, number][]} */
    const found = []
    for (const match of text.matchAll(patternOf(name))) {
      if (!match[0]) continue
      const line = match.findIndex((group, i) => i > 0 && group !== undefined) - 1
      found.push([table[line][0], match.index, match.index + match[0].length])
    }
    return found
  }

  /** @param {string} name */
  function patternOf(name) {
    let pattern = compiled.get(name)
    if (!pattern) {
      pattern = new RegExp(TABLES[name].map(([, { source }]) => `(${source})`).join('|'), name === 'sql' ? 'gim' : 'gm')
      compiled.set(name, pattern)
    }
    return pattern
  }

  return { spans, languageOf }
})
