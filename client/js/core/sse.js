// Decodes the data of server-sent events from a byte stream, however it is cut (WHATWG HTML section 9.2.6). An event
// without an empty line behind it when the stream ends is dropped: it may be incomplete.

yaa.define('core/sse', [], () => {
  const LINE_END = /\r\n|\r|\n/g

  class Decoder {
    /** Lines that begin with a colon: signs of life. */
    comments = 0
    /** Of each event of the last piece: the last id that was said. @type {string[]} */
    ids = []
    #id = ''
    #utf8 = new TextDecoder()
    /** @type {string[]} pieces of a line whose end has not come */ #line = []
    #afterCR = false
    /** @type {string[]} */ #data = []

    /** @param {Uint8Array} chunk @returns {string[]} the data of the events that it completes */
    feed(chunk) {
      let text = this.#utf8.decode(chunk, { stream: true })
      if (this.#afterCR && text.startsWith('\n')) text = text.slice(1)
      if (text) this.#afterCR = text.endsWith('\r')
      /** @type {string[]} */
      const events = []
      this.ids = []
      let from = 0
      for (const end of text.matchAll(LINE_END)) {
        this.#line.push(text.slice(from, end.index))
        this.#take(this.#line.join(''), events)
        this.#line = []
        from = end.index + end[0].length
      }
      if (from < text.length) this.#line.push(text.slice(from))
      return events
    }

    /** @param {string} line @param {string[]} events */
    #take(line, events) {
      if (!line) {
        if (this.#data.length) this.ids.push(this.#id), events.push(this.#data.join('\n'))
        this.#data = []
        return
      }
      const colon = line.indexOf(':')
      if (colon === 0) this.comments++
      const name = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
      if (name === 'data') this.#data.push(value)
      if (name === 'id') this.#id = value
    }
  }

  return { Decoder }
})
