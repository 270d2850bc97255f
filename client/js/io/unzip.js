// The files in a ZIP file (APPNOTE 6.3), as exports come. The rule of the file: what is in the list at the end of the file
// has to be there as the list says, to the byte; and nothing is unpacked that is larger than it says, or than MOST.

yaa.define('io/unzip', ['core/crc32'], ({ crc32 }) => {
  /** Bytes of all files that are taken out together: a few kilobytes can be unpacked to any size. */
  const MOST = 2 ** 30
  const [LOCAL, ENTRY, END] = [0x04034b50, 0x02014b50, 0x06054b50]
  /** The end of the list has a comment of up to 64 KB behind it. */
  const [END_SIZE, ENTRY_SIZE, LOCAL_SIZE, COMMENT] = [22, 46, 30, 0xffff]
  const [ENCRYPTED, STORED, DEFLATED] = [1, 0, 8]

  /** @param {Blob} file */
  async function isZip(file) {
    const start = file.size >= END_SIZE ? (await view(file, 0, 4)).getUint32(0, true) : 0
    return start === LOCAL || start === END
  }

  /**
   * @param {Blob} file @param {(name: string) => boolean} wanted
   * @returns {AsyncGenerator<{name: string, text: string}>} in the order of the list @throws {RangeError} what is no sound ZIP file
   */
  async function* texts(file, wanted) {
    for await (const { name, bytes } of files(file, wanted)) yield { name, text: new TextDecoder().decode(bytes) }
  }

  /**
   * @param {Blob} file @param {(name: string) => boolean} wanted
   * @returns {AsyncGenerator<{name: string, bytes: Uint8Array<ArrayBuffer>}>} as `texts`
   */
  async function* files(file, wanted) {
    const all = (await list(file)).filter((entry) => wanted(entry.name))
    check(all.reduce((sum, entry) => sum + entry.size, 0) <= MOST, 'It is too large.')
    for (const entry of all) yield { name: entry.name, bytes: await unpacked(file, entry) }
  }

  /** @typedef {{name: string, flags: number, method: number, crc: number, packed: number, size: number, at: number}} Entry */

  /** @param {Blob} file @returns {Promise<Entry[]>} */
  async function list(file) {
    const from = Math.max(0, file.size - END_SIZE - COMMENT)
    const tail = await view(file, from, file.size)
    let end = tail.byteLength - END_SIZE
    while (end >= 0 && (tail.getUint32(end, true) !== END || tail.getUint16(end + 20, true) !== tail.byteLength - end - END_SIZE)) end -= 1
    check(end >= 0, 'It has no end.')
    const [many, length, at] = [tail.getUint16(end + 10, true), tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)]
    check(at + length === from + end, 'It is larger than 4 GB, or damaged.')
    const entries = await view(file, at, at + length)
    const found = []
    for (let place = 0; place < length;) {
      check(place + ENTRY_SIZE <= length && entries.getUint32(place, true) === ENTRY, 'Its list is damaged.')
      const [name, extra, comment] = [28, 30, 32].map((field) => entries.getUint16(place + field, true))
      const [crc, packed, size] = [16, 20, 24].map((field) => entries.getUint32(place + field, true))
      const [flags, method] = [8, 10].map((field) => entries.getUint16(place + field, true))
      const words = new Uint8Array(entries.buffer, place + ENTRY_SIZE, Math.min(name, length - place - ENTRY_SIZE))
      found.push({ name: new TextDecoder().decode(words), flags, method, crc, packed, size, at: entries.getUint32(place + 42, true) })
      place += ENTRY_SIZE + name + extra + comment
    }
    check(found.length === many, 'Its list is damaged.')
    return found
  }

  /** @param {Blob} file @param {Entry} entry */
  async function unpacked(file, { name, flags, method, crc, packed, size, at }) {
    check(!(flags & ENCRYPTED), `${name} is encrypted.`)
    check(method === STORED || method === DEFLATED, `${name} is packed in another way.`)
    const head = await view(file, at, at + LOCAL_SIZE)
    check(head.getUint32(0, true) === LOCAL, `${name} is not where it should be.`)
    const from = at + LOCAL_SIZE + head.getUint16(26, true) + head.getUint16(28, true)
    const stream = file.slice(from, from + packed).stream()
    const bytes = await filled(method === STORED ? stream : stream.pipeThrough(new DecompressionStream('deflate-raw')), size, name)
    check(parseInt(crc32(bytes), 16) === crc, `${name} is damaged.`)
    return bytes
  }

  /** Exactly so many bytes. @param {ReadableStream<Uint8Array>} stream @param {number} size @param {string} name */
  async function filled(stream, size, name) {
    const bytes = new Uint8Array(size)
    const reader = stream.getReader()
    let at = 0
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      check(at + chunk.value.length <= size, `${name} is larger than it says.`)
      bytes.set(chunk.value, at)
      at += chunk.value.length
    }
    check(at === size, `${name} is smaller than it says.`)
    return bytes
  }

  /** @param {Blob} file @param {number} from @param {number} to */
  async function view(file, from, to) {
    const bytes = new DataView(await file.slice(from, to).arrayBuffer())
    check(bytes.byteLength === to - from, 'It is cut off.')
    return bytes
  }

  /** @param {boolean} holds @param {string} words */
  function check(holds, words) {
    if (!holds) throw new RangeError(words)
  }

  return { isZip, texts, files }
})
