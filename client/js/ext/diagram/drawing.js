// A Mermaid diagram over its source: the shapes of core/diagram as SVG. Elements and attributes are on a list; none has an
// address or runs anything. What is not understood stays a block of code.

yaa.define('ext/diagram/drawing', ['ext/diagram/diagram', 'ui/dom', 'ui/i18n', 'i18n/markup', 'ext/diagram/style'], (diagrams, { h, attr, hide }, { t }) => {
  const SVG = 'http://www.w3.org/2000/svg'
  const TAGS = new Set(['rect', 'circle', 'polygon', 'path', 'text'])
  const ATTRIBUTES = new Set(['x', 'y', 'width', 'height', 'rx', 'cx', 'cy', 'r', 'points', 'd', 'text-anchor'])

  /** @param {Diagram} diagram @param {string} label @returns {Element} */
  function svgOf({ width, height, shapes }, label) {
    const svg = document.createElementNS(SVG, 'svg')
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label, class: 'diagram' })) svg.setAttribute(name, String(value))
    for (const { tag, kind, text, attrs } of shapes) {
      if (!TAGS.has(tag)) throw new TypeError(`<${tag}> is not on the list`)
      const el = document.createElementNS(SVG, tag)
      el.setAttribute('class', kind)
      for (const [name, value] of Object.entries(attrs)) if (ATTRIBUTES.has(name)) el.setAttribute(name, String(value))
      if (text) el.append(text)
      svg.append(el)
    }
    return svg
  }

  /**
   * Put the drawing of a block over its source. @param {HTMLElement} el the block @param {HTMLElement} bar @param {HTMLElement} pre
   * @returns {(text: string) => void} to be called with each finished text
   */
  function diagramView(el, bar, pre) {
    const figure = h('div.diagram-figure', { tabIndex: 0, hidden: true })
    const toggle = h('button.button.ghost.small', { type: 'button', hidden: true, 'aria-pressed': 'false', onclick: () => show(figure.hidden) }, t('diagram.source'))
    let drawn = ''
    pre.before(figure)
    bar.querySelector('.lang')?.after(toggle)

    /** @param {boolean} picture */
    function show(picture) {
      hide(figure, !picture)
      hide(pre, picture)
      attr(toggle, 'aria-pressed', !picture)
      attr(el, 'data-drawn', picture ? '' : null)
    }

    /** @param {string} text */
    function update(text) {
      if (text === drawn) return
      drawn = text
      const diagram = pictureOf(text)
      figure.replaceChildren(...(diagram ? [svgOf(diagram, t('diagram.label'))] : []))
      hide(toggle, !diagram)
      show(Boolean(diagram))
    }

    return update
  }

  /** @param {string} text @returns {Diagram | null} */
  function pictureOf(text) {
    try {
      return diagrams.parse(text)
    } catch (error) {
      console.warn(error) // the source is there
      return null
    }
  }

  return { diagramView }
})
