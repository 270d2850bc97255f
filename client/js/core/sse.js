// Server-sent events from any cut of the byte stream (WHATWG HTML section 9.2.6). Whatever has no empty line behind
// it when the stream ends is dropped: it may be half of something.

yaa.define('core/sse', [], () => {
  const LINE_END = /\r\n|\r|\n/g

  class Decoder {
    /** Lines that begin with a colon: signs of life. */
    comments = 0
    #utf8 = new TextDecoder()
    /** @type {string[]} pieces of a line whose end has not come */ #line = []
    #afterCR = false
    #lastId = ''
    /** @type {string[]} */ #data = []
    #event = ''

    /** @param {Uint8Array | string} chunk @returns {SseEvent[]} the events that it completes */
    feed(chunk) {
      let text = typeof chunk === 'string' ? chunk : this.#utf8.decode(chunk, { stream: true })
      if (this.#afterCR && text.startsWith('\n')) text = text.slice(1)
      if (text) this.#afterCR = text.endsWith('\r')
      /** @type {SseEvent[]} */
      const events = []
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

    /** @param {string} line @param {SseEvent[]} events */
    #take(line, events) {
      if (!line) {
        if (this.#data.length) events.push({ event: this.#event || 'message', data: this.#data.join('\n'), id: this.#lastId })
        this.#data = []
        this.#event = ''
        return
      }
      const colon = line.indexOf(':')
      if (colon === 0) this.comments++
      const name = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
      if (name === 'data') this.#data.push(value)
      else if (name === 'event') this.#event = value
      else if (name === 'id' && !value.includes('\0')) this.#lastId = value
    }
  }

  return { Decoder }
})
