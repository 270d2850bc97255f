// What the pictures of tool calls are made of: a headed part, a notice, a name with a value, a list that shows its
// beginning first.

yaa.define('ui/tools/parts', ['ui/dom', 'i18n/tools', 'ui/popup', 'ui/code-block', 'core/ansi', 'css/ansi'], (dom, { t, count }, popup, { codeBlock }, { parseAnsi }) => {
  const { h, icon, iconButton, fill, text } = dom
  /** Rows of a long list that are made at first. */
  const FIRST_ROWS = 300

  /**
   * A titled part with a copy button. @param {string} title @param {() => string} words what is copied
   * @param {...any} content
   */
  function part(title, words, ...content) {
    const copy = iconButton('copy', t('tool.copy'), { onclick: () => popup.copy(words(), copy) })
    const head = h('span', null, title)
    const note = h('span.part-note')
    const el = h('div.part', null, h('div.part-head', null, head, note, copy), content)
    return { el, head, note }
  }

  /**
   * A sentence about the call that must not be overlooked.
   * @param {string} words @param {'bad' | 'ask' | ''} [tone] @param {string} [sign]
   */
  function notice(words, tone = '', sign = 'alert') {
    return h('p.notice', tone ? { 'data-tone': tone } : null, icon(sign), h('span', null, words))
  }

  /** A block of text that keeps its element while it grows. @param {{lang?: string, title: string}} options */
  function textPart({ lang = '', title }) {
    const block = codeBlock({ plain: true })
    let words = ''
    const { el, note } = part(title, () => words, block.el)

    /** @param {string} next @param {string} [noted] */
    function update(next, noted = '') {
      const { text: plain, spans } = lang ? { text: next, spans: [] } : parseAnsi(next)
      words = plain
      block.update({ text: plain || t('tool.noOutput'), lang: plain ? lang : '', ...(spans.length ? { spans } : {}) })
      text(note, noted)
    }

    return { el, update }
  }

  /**
   * Rows of a long list: the first ones, and a button for the others.
   * @param {any} holder @param {readonly any[]} all @param {(row: any, index: number) => any} make @param {number} [first] how many
   */
  function longList(holder, all, make, first = FIRST_ROWS) {
    const rest = all.length - first
    fill(holder, all.slice(0, first).map(make))
    if (rest <= 0) return
    const more = h('button.button.small.ghost.more-rows', { type: 'button', onclick: () => {
      more.remove()
      holder.append(...all.slice(first).map((row, i) => make(row, first + i)))
    } }, t('tool.more', { n: rest }))
    holder.append(more)
  }

  const block = () => codeBlock({ plain: true })

  /** @param {number} bytes */
  function size(bytes) {
    if (bytes < 1000) return t('unit.bytes', { n: count(bytes) })
    const [unit, n] = bytes < 1e6 ? ['unit.kb', bytes / 1e3] : ['unit.mb', bytes / 1e6]
    return t(unit, { n: n < 10 ? Math.round(n * 10) / 10 : count(Math.round(n)) })
  }

  return { part, notice, textPart, longList, block, size }
})
