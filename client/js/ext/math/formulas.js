// Formulas on the page: the tree that core/tex makes, as MathML. What core/tex does not know stays as it was written.
// Elements and attributes are on a list, as in ui/dom; none of them has an address or runs anything.

yaa.define('ext/math/formulas', ['ext/math/tex', 'ui/dom', 'ext/math/style'], (tex, { fill }) => {
  const MATHML = 'http://www.w3.org/1998/Math/MathML'
  const TAGS = new Set([
    'mrow', 'mi', 'mn', 'mo', 'mtext', 'mspace', 'mfrac', 'msqrt', 'mroot', 'msub', 'msup', 'msubsup', 'munder', 'mover', 'munderover',
    'mtable', 'mtr', 'mtd', 'mstyle', 'mphantom', 'mpadded',
  ])
  const ATTRIBUTES = new Set([
    'mathvariant', 'stretchy', 'form', 'minsize', 'maxsize', 'lspace', 'rspace', 'movablelimits', 'width', 'linethickness', 'displaystyle',
    'accent', 'accentunder', 'class',
  ])

  /** Characters of a formula in a line that a small screen may not hold: it scrolls, and keys have to reach it. */
  const MAY_BE_WIDE = 40

  /** @param {MathNode} node @returns {Element} */
  function elementOf({ tag, attrs = {}, children }) {
    if (!TAGS.has(tag)) throw new TypeError(`<${tag}> is not on the list`)
    const el = document.createElementNS(MATHML, tag)
    for (const [name, value] of Object.entries(attrs)) if (ATTRIBUTES.has(name)) el.setAttribute(name, value)
    for (const child of children) el.append(typeof child === 'string' ? child : elementOf(child))
    return el
  }

  /** Puts the formula in place of its source. @param {HTMLElement} el @param {string} source @param {boolean} display */
  function draw(el, source, display) {
    const tree = tex.parse(source)
    if (!tree) return
    const math = document.createElementNS(MATHML, 'math')
    if (display) math.setAttribute('display', 'block')
    else if (source.length > MAY_BE_WIDE) el.tabIndex = 0
    math.setAttribute('alttext', source)
    math.append(elementOf(tree))
    fill(el, math)
  }

  return { draw }
})
