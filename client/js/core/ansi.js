// What a program wrote for a terminal: the text without its control sequences, and which parts of it have a colour. Pure.

yaa.define('core/ansi', [], () => {
  const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
  /** CSI sequences, OSC strings (titles, links) and single escapes; of one that is cut off, what is there. */
  const SEQUENCE = /\u001b(?:\[([0-9;:]{0,64})[ -/]{0,4}([@-~]?)|\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)?|[ -/]{0,2}[0-~]?)/g

  /**
   * @param {string} source @returns {{text: string, spans: [kind: string, start: number, end: number][]}} kinds are `ansi-red` or `ansi-strong`; only the places that have one
   */
  function parseAnsi(source) {
    /** @type {[string, number, number][]} */ const spans = []
    if (!source.includes('\u001b')) return { text: source, spans }
    /** @type {string[]} */ const pieces = []
    let [length, last, colour, strong] = [0, 0, '', false]
    /** @param {string} piece */
    const add = (piece) => {
      const kind = colour || (strong ? 'strong' : '')
      if (piece && kind) spans.push([`ansi-${kind}`, length, length + piece.length])
      pieces.push(piece)
      length += piece.length
    }
    for (const found of source.matchAll(SEQUENCE)) {
      add(source.slice(last, found.index))
      last = found.index + found[0].length
      if (found[2] === 'm') [colour, strong] = styleAfter(found[1] ?? '', colour, strong)
    }
    add(source.slice(last))
    return { text: pieces.join(''), spans }
  }

  /** @param {string} codes @param {string} colour @param {boolean} strong @returns {[string, boolean]} */
  function styleAfter(codes, colour, strong) {
    const all = codes.split(/[;:]/).map(Number)
    for (let i = 0; i < all.length; i++) {
      const code = all[i]
      if (code === 0) [colour, strong] = ['', false]
      else if (code === 1) strong = true
      else if (code === 22) strong = false
      else if (code === 39) colour = ''
      else if (code >= 30 && code <= 37) colour = NAMES[code - 30]
      else if (code >= 90 && code <= 97) colour = NAMES[code - 90]
      else if (code === 38 || code === 48) { // of many colours the first sixteen have names
        if (code === 38 && all[i + 1] === 5) colour = NAMES[all[i + 2] < 16 ? all[i + 2] % 8 : -1] ?? ''
        i += all[i + 1] === 5 ? 2 : all[i + 1] === 2 ? 4 : 0
      }
    }
    return [colour, strong]
  }

  return { parseAnsi }
})
