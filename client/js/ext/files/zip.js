// Writes a ZIP file (APPNOTE 6.3): files as they are, unpacked, with names in UTF-8. io/unzip reads it, and every other
// program. Pure.

yaa.define('ext/files/zip', ['core/crc32'], ({ crc32 }) => {
  const [LOCAL, ENTRY, END] = [0x04034b50, 0x02014b50, 0x06054b50]
  const [VERSION, UTF8] = [20, 0x0800]
  /** The first day that the format knows: the same files make the same bytes. */
  const DATE = 0x0021
  const MOST = 0xffffffff

  /**
   * @param {{name: string, bytes: Uint8Array}[]} files names have no `..` and do not begin with `/`
   * @returns {Uint8Array[]} the file, in pieces @throws {RangeError} over 4 GB, or over 65,535 files
   */
  function zip(files) {
    if (files.length > 0xffff) throw new RangeError(`${files.length} files are too many for a ZIP file: at most 65,535.`)
    /** @type {Uint8Array[]} */ const pieces = []
    /** @type {Uint8Array[]} */ const list = []
    let at = 0
    for (const { name, bytes } of files) {
      const words = new TextEncoder().encode(name)
      const common = [VERSION, UTF8, 0, 0, DATE]
      const sizes = [parseInt(crc32(bytes), 16), bytes.length, bytes.length]
      const local = record([[4, LOCAL], ...common.map((value) => [2, value]), ...sizes.map((value) => [4, value]), [2, words.length], [2, 0]])
      list.push(record([[4, ENTRY], [2, VERSION], ...common.map((value) => [2, value]), ...sizes.map((value) => [4, value]), [2, words.length],
        [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), words)
      pieces.push(local, words, bytes)
      at += local.length + words.length + bytes.length
      if (at > MOST) throw new RangeError('The files are too large for a ZIP file: at most 4 GB.')
    }
    const length = list.reduce((sum, one) => sum + one.length, 0)
    const end = record([[4, END], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, length], [4, at], [2, 0]])
    return [...pieces, ...list, end]
  }

  /** Numbers of 2 or 4 bytes, the least first. @param {number[][]} fields */
  function record(fields) {
    const bytes = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0))
    const view = new DataView(bytes.buffer)
    let at = 0
    for (const [size, value] of fields) {
      if (size === 2) view.setUint16(at, value, true)
      else view.setUint32(at, value >>> 0, true)
      at += size
    }
    return bytes
  }

  return { zip }
})
