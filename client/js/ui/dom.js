// The DOM builder: every element of the client is made here. Nothing takes markup as a string, so text from a
// model, a tool or a file can never become an element; the page's Content-Security-Policy says the same.
// Rule of the file: a property that is not on a list throws, so that a typing slip is found at once.

yaa.define('ui/dom', [], () => {
  const SVG = 'http://www.w3.org/2000/svg'
  const PROPERTIES = new Set([
    'value', 'id', 'title', 'placeholder', 'lang', 'dir', 'name', 'alt', 'download', 'hidden', 'disabled', 'checked',
    'open', 'required', 'translate', 'readOnly', 'selected', 'inert', 'spellcheck', 'tabIndex', 'htmlFor', 'rows', 'type', 'controls', 'multiple', 'accept',
  ])
  const ATTRIBUTES = new Set([
    'role', 'min', 'max', 'step', 'autocomplete', 'autocapitalize', 'inputmode', 'popover', 'popovertarget',
    'scope', 'start', 'loading', 'list', 'datetime', 'closedby', 'preload',
  ])
  const LINK = /^(?:https?:|mailto:|#)/i
  const SOURCE = /^(?:https?:|blob:|data:(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/\w+)[;,])/i

  /**
   * `h('button.primary', {onclick, 'aria-label': text}, 'Send')`. Children are nodes, strings, arrays of these, or
   * null/false (left out); strings become text nodes.
   * @param {string} selector `tag.class.class`
   * @param {Object<string, any> | null} [props]
   * @param {...any} children
   * @returns {any} the element; `any` because the tag is only known at run time
   */
  function h(selector, props, ...children) {
    const [tag, ...classes] = selector.split('.')
    const el = document.createElement(tag)
    if (classes.length) el.className = classes.join(' ')
    for (const name in props ?? {}) set(el, name, props?.[name])
    append(el, children)
    return el
  }

  /** @param {any} el @param {string} name @param {any} value undefined and null leave the property alone */
  function set(el, name, value) {
    if (value === undefined || value === null) return
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value)
    else if (name.startsWith('aria-') || name.startsWith('data-') || ATTRIBUTES.has(name)) attr(el, name, value)
    else if (PROPERTIES.has(name)) el[name] = value
    else if (name === 'href' && LINK.test(value)) link(el, value)
    else if (name === 'src' && SOURCE.test(value)) el.src = value
    else throw new TypeError(`h: property "${name}" is not allowed on <${el.localName}>`)
  }

  /** Links leave this page in a new tab and do not say where from. @param {any} el @param {string} value */
  function link(el, value) {
    el.setAttribute('href', value)
    if (value.startsWith('#')) return
    el.setAttribute('target', '_blank')
    el.setAttribute('rel', 'noreferrer noopener')
  }

  /**
   * Write an attribute only when it changes: each write would otherwise cost a style pass. null and undefined remove it.
   * @param {Element} el @param {string} name @param {any} value
   */
  function attr(el, name, value) {
    const text = value === null || value === undefined ? null : String(value)
    if (el.getAttribute(name) === text) return
    if (text === null) el.removeAttribute(name)
    else el.setAttribute(name, text)
  }

  /** Write a text only when it changes, so that a selection in it survives. @param {Node} el @param {string} value */
  function text(el, value) {
    if (el.textContent !== value) el.textContent = value
  }

  /** Written again, `hidden` makes Chromium style the element anew. @param {any} el @param {boolean} hidden */
  function hide(el, hidden) {
    if (el.hidden !== hidden) el.hidden = hidden
  }

  /** Cuts a long text at the first gap after so many characters, however it arrived. */
  const PIECE = /[^]{2000}[^\s，。]*[\s，。]|[^]+/g

  /**
   * The text of an element that has nothing else, in pieces. What only grew is appended, so that a selection in it stays and
   * that no lines above those of the last piece are laid out and painted anew (docs/design/speed.md).
   * @param {Element} el @param {string} value
   */
  function grow(el, value) {
    const [shown, last] = [el.textContent ?? '', /** @type {Text | null} */ (el.lastChild)]
    if (!last || el.firstElementChild || !value.startsWith(shown)) return el.replaceChildren(...value.match(PIECE) ?? [])
    const [first, ...more] = value.slice(shown.length - last.length).match(PIECE) ?? []
    if (first && first.length > last.length) last.appendData(first.slice(last.length))
    el.append(...more)
  }

  /** @param {Element} el @param {any} child */
  function append(el, child) {
    if (Array.isArray(child)) for (const one of child) append(el, one)
    else if (child !== null && child !== undefined && child !== false) el.append(child)
  }

  /** Replace all children. @param {Element} el @param {...any} children */
  function fill(el, ...children) {
    el.replaceChildren()
    append(el, children)
  }

  /**
   * An icon of the sprite in index.html; decoration only, so it is hidden from screen readers.
   * @param {string} name @param {string} [className]
   */
  function icon(name, className = '') {
    const svg = document.createElementNS(SVG, 'svg')
    svg.setAttribute('class', `icon ${className}`.trim())
    svg.setAttribute('aria-hidden', 'true')
    svg.setAttribute('viewBox', '0 0 20 20')
    const use = document.createElementNS(SVG, 'use')
    use.setAttribute('href', `#i-${name}`)
    svg.append(use)
    return svg
  }

  /**
   * A button with an icon and no words: the words are its name and its tooltip.
   * @param {string} name @param {string} label @param {Object<string, any>} props @param {string} [classes]
   */
  function iconButton(name, label, props, classes = 'ghost.small') {
    return h(`button.button.square.${classes}`, { type: 'button', 'aria-label': label, title: label, ...props }, icon(name))
  }

  /** @typedef {import('./types').View} View */
  /** @type {WeakMap<Element, Map<string, View>>} */
  const lists = new WeakMap()

  /**
   * Keep the children of `parent` equal to `items`: views are kept by key, made when new, moved only when out of place.
   * @param {Element} parent whose children belong to this list alone
   * @param {readonly any[]} items @param {(item: any, index: number) => string} keyOf unique in `items`
   * @param {(item: any) => View} make
   * @param {number} [from] items before this one did not change: their views are not asked to update
   * @returns {Map<string, View>} the views by key
   */
  function list(parent, items, keyOf, make, from = 0) {
    const before = lists.get(parent) ?? new Map()
    /** @type {Map<string, View>} */
    const after = new Map()
    items.forEach((item, index) => {
      let key = keyOf(item, index)
      while (after.has(key)) key += ' ' // of two with one key each has its view
      const known = before.get(key)
      const view = known ?? make(item)
      after.set(key, view)
      if (!known || index >= from) view.update(item)
    })
    for (const [key, view] of before) if (!after.has(key)) drop(view)
    /** @type {Node | null} */ let at = parent.firstChild
    for (const { el } of after.values()) {
      if (el === at) at = el.nextSibling
      else place(parent, el, at)
    }
    lists.set(parent, after)
    return after
  }

  /** @param {View} view */
  function drop(view) {
    view.destroy?.()
    view.el.remove()
  }

  /**
   * moveBefore keeps focus and selection of what is moved, but only within one document.
   * @param {any} parent @param {any} el @param {Node | null} at
   */
  function place(parent, el, at) {
    if (el.isConnected && parent.isConnected && parent.moveBefore) parent.moveBefore(el, at)
    else parent.insertBefore(el, at)
  }

  /**
   * A style sheet, written as css`…` in a script of client/css and put on the page when that module is first used.
   * Nothing can read a linked sheet from disk, and the one-file export has to carry every style along.
   * @param {TemplateStringsArray} parts
   */
  function css(parts) {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(String.raw(parts))
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
    return sheet
  }

  /** Is any of it written from the right? @param {string} text */
  const fromRight = (text) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text)

  let serial = 0
  /** An id for label/for and aria-* pairs, unique in the page. @param {string} prefix */
  const uid = (prefix) => `${prefix}-${++serial}`

  return { h, attr, hide, text, fill, grow, icon, iconButton, list, uid, css, fromRight }
})
