// As much of a document as views need to be made and read in Node: a tree of elements without layout or style.
'use strict'

class FakeElement extends EventTarget {
  hidden = false
  dataset = {}
  style = { setProperty() {} }
  /** @type {FakeElement | null} */ parentElement = null
  /** @type {any[]} */ childNodes = []
  #attributes = new Map()

  constructor(tag) {
    super()
    this.localName = tag
  }

  get children() { return this.childNodes.filter((one) => one instanceof FakeElement) }
  get firstChild() { return this.childNodes[0] ?? null }
  get lastChild() { return this.childNodes.at(-1) ?? null }
  get isConnected() { return this.parentElement?.isConnected ?? this.isRoot === true }
  get textContent() { return this.childNodes.map((one) => one.textContent ?? one).join('') }
  set textContent(words) { this.replaceChildren(words) }
  getAttribute(name) { return this.#attributes.get(name) ?? null }
  setAttribute(name, value) { this.#attributes.set(name, value) }
  removeAttribute(name) { this.#attributes.delete(name) }
  contains(other) { return this === other || this.children.some((one) => one.contains(other)) }
  matches() { return false }
  focus() {}

  append(...nodes) {
    for (const node of nodes) {
      node.remove?.()
      if (node instanceof FakeElement) node.parentElement = this
      this.childNodes.push(node)
    }
  }

  replaceChildren(...nodes) {
    for (const one of this.children) one.parentElement = null
    this.childNodes = []
    this.append(...nodes)
  }

  remove() {
    const { parentElement } = this
    if (parentElement) parentElement.childNodes = parentElement.childNodes.filter((one) => one !== this)
    this.parentElement = null
  }

  /** By class alone. */
  querySelectorAll(selector) {
    const name = selector.slice(1)
    return this.children.flatMap((one) => [...(one.className?.split(' ').includes(name) ? [one] : []), ...one.querySelectorAll(selector)])
  }

  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null }
}

function fakeDocument() {
  const body = Object.assign(new FakeElement('body'), { isRoot: true })
  return {
    body, activeElement: body, createElement: (tag) => new FakeElement(tag), createElementNS: (_, tag) => new FakeElement(tag),
    getElementById: () => body, querySelector: () => null, querySelectorAll: () => [], addEventListener() {},
  }
}

module.exports = { fakeDocument }
