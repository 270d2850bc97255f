// Tables in text (RFC 4180): quoted fields, doubled quotes, line breaks in fields; what separates fields is found out. Pure.

yaa.define('ext/files/csv', [], () => {
  const SEPARATORS = [',', ';', '\t', '|']

  /** The sign that is most often outside of quotes in the first line. @param {string} text */
  function separatorOf(text) {
    const line = (/^(?:"(?:[^"]|"")*"?|[^"\n])*/.exec(text)?.[0] ?? '').replace(/"(?:[^"]|"")*"?/g, '')
    const counts = SEPARATORS.map((sign) => line.split(sign).length)
    return SEPARATORS[counts.indexOf(Math.max(...counts))]
  }

  /**
   * @param {string} text @param {number} [most] rows that are read
   * @returns {{rows: string[][], columns: number, more: boolean}} `more`: there are rows that were not read
   */
  function parseTable(text, most = Infinity) {
    const source = text.replace(/^\ufeff/, '')
    const separator = separatorOf(source)
    /** @type {string[][]} */ const rows = []
    /** @type {string[]} */ let row = []
    let [field, at, quoted] = ['', 0, false]
    const endRow = () => {
      row.push(field)
      if (row.length > 1 || row[0]) rows.push(row)
      row = []
      field = ''
    }
    for (; at < source.length && rows.length < most; at++) {
      const sign = source[at]
      if (quoted) {
        if (sign !== '"') field += sign
        else if (source[at + 1] === '"') field += source[++at]
        else quoted = false
      } else if (sign === '"' && !field) quoted = true
      else if (sign === separator) {
        row.push(field)
        field = ''
      } else if (sign === '\n') endRow()
      else if (sign !== '\r' || source[at + 1] !== '\n') field += sign
    }
    if (rows.length < most && (field || row.length)) endRow()
    return { rows, columns: Math.max(0, ...rows.map((one) => one.length)), more: at < source.length }
  }

  return { parseTable }
})
