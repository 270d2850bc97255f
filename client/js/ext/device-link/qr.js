// A text as a QR code (ISO/IEC 18004): byte mode, versions 1 to 15, error correction level M. Pure: a square of 0 and 1.

yaa.define('ext/device-link/qr', [], () => {
  /** Of each version from 1 on, at level M: codewords of error correction in a block, and how many blocks. */
  const BLOCKS = [
    [10, 1], [16, 1], [26, 1], [18, 2], [24, 2], [16, 4], [18, 4], [22, 4], [22, 5], [26, 5], [30, 5], [22, 8], [22, 9], [24, 9], [24, 10],
  ]
  const LEVEL_M = 0
  const BYTES = 4 // the mode
  const MASKS = /** @type {((y: number, x: number) => boolean)[]} */ ([
    (y, x) => (y + x) % 2 === 0,
    (y) => y % 2 === 0,
    (_, x) => x % 3 === 0,
    (y, x) => (y + x) % 3 === 0,
    (y, x) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
    (y, x) => ((y * x) % 2) + ((y * x) % 3) === 0,
    (y, x) => (((y * x) % 2) + ((y * x) % 3)) % 2 === 0,
    (y, x) => (((y + x) % 2) + ((y * x) % 3)) % 2 === 0,
  ])
  /** What looks like a corner where there is none, in both directions. */
  const FALSE_CORNERS = ['10111010000', '00001011101']

  /** Powers of 2 in the field of 256 elements with the polynomial 0x11d, and the exponent of each element. */
  const [POWERS, LOGS] = (() => {
    const [powers, logs] = [new Uint8Array(255), new Uint8Array(256)]
    for (let i = 0, x = 1; i < 255; i += 1) {
      powers[i] = x
      logs[x] = i
      x = (x << 1) ^ (x & 0x80 ? 0x11d : 0)
    }
    return [powers, logs]
  })()

  /** @param {number} a @param {number} b */
  const times = (a, b) => (a && b ? POWERS[(LOGS[a] + LOGS[b]) % 255] : 0)

  /** @param {number} version */
  const sizeOf = (version) => version * 4 + 17

  /** The middles of the small squares, in both directions. @param {number} version @returns {number[]} */
  function alignments(version) {
    if (version === 1) return []
    const n = Math.floor(version / 7) + 2
    const step = Math.floor((version * 4 + n * 2 + 1) / (n * 2 - 2)) * 2
    const last = sizeOf(version) - 7
    return [6, ...Array.from({ length: n - 1 }, (_, i) => last - step * (n - 2 - i))]
  }

  /** Codewords of all kinds: what the fixed patterns leave. @param {number} version */
  function roomOf(version) {
    const n = version > 1 ? Math.floor(version / 7) + 2 : 0
    const squares = n ? (25 * n - 10) * n - 55 : 0
    return (((16 * version + 128) * version + 64 - squares - (version >= 7 ? 36 : 0)) / 8) | 0
  }

  /** Codewords of the text and its head. @param {number} version */
  const dataRoom = (version) => roomOf(version) - BLOCKS[version - 1][0] * BLOCKS[version - 1][1]

  /** @param {number} version bits of the length */
  const lengthBits = (version) => (version < 10 ? 8 : 16)

  /** @param {Uint8Array} bytes @param {number} version @returns {number[]} with its head and filled up */
  function dataOf(bytes, version) {
    /** @type {number[]} */ const bits = []
    const add = (/** @type {number} */ value, /** @type {number} */ n) => { for (let i = n - 1; i >= 0; i -= 1) bits.push((value >>> i) & 1) }
    const room = dataRoom(version) * 8
    add(BYTES, 4)
    add(bytes.length, lengthBits(version))
    for (const byte of bytes) add(byte, 8)
    add(0, Math.min(4, room - bits.length))
    while (bits.length % 8) bits.push(0)
    const words = []
    for (let i = 0; i < bits.length; i += 8) words.push(bits.slice(i, i + 8).reduce((all, bit) => all * 2 + bit, 0))
    for (let i = 0; words.length < room / 8; i += 1) words.push(i % 2 ? 0x11 : 0xec)
    return words
  }

  /** The polynomial that `n` codewords of error correction are the rest of a division by. @param {number} n */
  function generator(n) {
    let made = [1]
    for (let i = 0; i < n; i += 1) {
      const next = [...made, 0]
      made.forEach((one, at) => { next[at + 1] ^= times(one, POWERS[i]) })
      made = next
    }
    return made.slice(1)
  }

  /** @param {number[]} block @param {number[]} divisor @returns {number[]} */
  function correction(block, divisor) {
    const rest = divisor.map(() => 0)
    for (const word of block) {
      const factor = word ^ /** @type {number} */ (rest.shift())
      rest.push(0)
      divisor.forEach((one, i) => { rest[i] ^= times(one, factor) })
    }
    return rest
  }

  /** In the order in which they are drawn: the blocks take turns. @param {number[]} words @param {number} version */
  function interleaved(words, version) {
    const [length, count] = BLOCKS[version - 1]
    const short = Math.floor(words.length / count)
    const shortOnes = count - (words.length % count)
    const divisor = generator(length)
    /** @type {number[][]} */ const blocks = []
    for (let i = 0, at = 0; i < count; i += 1) {
      const end = at + short + (i < shortOnes ? 0 : 1)
      blocks.push(words.slice(at, end))
      at = end
    }
    const rests = blocks.map((block) => correction(block, divisor))
    const turns = (/** @type {number[][]} */ all, /** @type {number} */ n) => Array.from({ length: n }, (_, i) => all.flatMap((one) => (i < one.length ? [one[i]] : []))).flat()
    return [...turns(blocks, short + 1), ...turns(rests, length)]
  }

  /** The rest of `value` with as many zeros as the polynomial has bits, divided by it. @param {number} value @param {number} polynomial */
  function rest(value, polynomial) {
    const bits = 31 - Math.clz32(polynomial)
    let left = value << bits
    for (let i = 31 - Math.clz32(left); left && i >= bits; i = 31 - Math.clz32(left)) left ^= polynomial << (i - bits)
    return left
  }

  /** @typedef {{modules: number[][], fixed: boolean[][], set(y: number, x: number, dark: boolean | number): void}} Grid */

  /** The patterns that every code of this version has. @param {number} version @returns {Grid} */
  function gridOf(version) {
    const size = sizeOf(version)
    const modules = Array.from({ length: size }, () => Array(size).fill(0))
    const fixed = Array.from({ length: size }, () => Array(size).fill(false))
    /** @type {Grid['set']} */
    const set = (y, x, dark) => {
      if (y < 0 || x < 0 || y >= size || x >= size) return
      modules[y][x] = dark ? 1 : 0
      fixed[y][x] = true
    }
    for (let i = 0; i < size; i += 1) set(6, i, i % 2 === 0), set(i, 6, i % 2 === 0)
    const rings = (/** @type {number} */ cy, /** @type {number} */ cx, /** @type {number} */ r) => {
      for (let y = -r; y <= r; y += 1) {
        for (let x = -r; x <= r; x += 1) {
          const ring = Math.max(Math.abs(y), Math.abs(x))
          set(cy + y, cx + x, r === 4 ? ring !== 2 && ring !== 4 : ring !== 1)
        }
      }
    }
    for (const [y, x] of [[3, 3], [3, size - 4], [size - 4, 3]]) rings(y, x, 4)
    const middles = alignments(version)
    const last = middles.length - 1
    middles.forEach((y, i) => middles.forEach((x, k) => {
      const corner = (i === 0 && k === 0) || (i === 0 && k === last) || (i === last && k === 0)
      if (!corner) rings(y, x, 2)
    }))
    if (version >= 7) {
      const bits = (version << 12) | rest(version, 0x1f25)
      for (let i = 0; i < 18; i += 1) {
        const [a, b] = [size - 11 + (i % 3), Math.floor(i / 3)]
        set(a, b, (bits >> i) & 1)
        set(b, a, (bits >> i) & 1)
      }
    }
    const grid = { modules, fixed, set }
    markFormat(grid, 0)
    return grid
  }

  /** Level and mask, twice. @param {Grid} grid @param {number} mask */
  function markFormat({ modules, set }, mask) {
    const size = modules.length
    const value = (LEVEL_M << 3) | mask
    const bits = ((value << 10) | rest(value, 0x537)) ^ 0x5412
    const bit = (/** @type {number} */ i) => (bits >> i) & 1
    for (let i = 0; i < 15; i += 1) {
      // beside the corner at the top, from its upper right around to its lower left
      if (i < 6) set(i, 8, bit(i))
      else if (i < 8) set(i + 1, 8, bit(i))
      else set(8, i === 8 ? 7 : 14 - i, bit(i))
      // and beside the two others
      if (i < 8) set(8, size - 1 - i, bit(i))
      else set(size - 15 + i, 8, bit(i))
    }
    set(size - 8, 8, 1)
  }

  /** Write the codewords: in columns of two from the right, up and down in turns. @param {Grid} grid @param {number[]} words */
  function place({ modules, fixed }, words) {
    const size = modules.length
    let at = 0
    for (let right = size - 1; right > 0; right -= 2) {
      if (right === 6) right = 5
      const up = ((right + 1) & 2) === 0
      for (let i = 0; i < size; i += 1) {
        const y = up ? size - 1 - i : i
        for (const x of [right, right - 1]) {
          if (fixed[y][x]) continue
          modules[y][x] = at < words.length * 8 ? (words[at >> 3] >> (7 - (at & 7))) & 1 : 0
          at += 1
        }
      }
    }
  }

  /** @param {Grid} grid @param {number} mask @returns {Grid} */
  function masked({ modules, fixed }, mask) {
    const grid = { fixed, modules: modules.map((row, y) => row.map((one, x) => (fixed[y][x] || !MASKS[mask](y, x) ? one : 1 - one))), set: (/** @type {number} */ y, /** @type {number} */ x, /** @type {any} */ dark) => { grid.modules[y][x] = dark ? 1 : 0 } }
    markFormat(grid, mask)
    return grid
  }

  /** How hard a square would be to read. @param {number[][]} rows */
  function penalty(rows) {
    const columns = rows.map((_, x) => rows.map((row) => row[x]))
    const lines = [...rows, ...columns].map((line) => line.join(''))
    let points = 0
    for (const line of lines) {
      for (const { length } of line.match(/0{5,}|1{5,}/g) ?? []) points += length - 2
      for (const pattern of FALSE_CORNERS) {
        for (let at = line.indexOf(pattern); at >= 0; at = line.indexOf(pattern, at + 1)) points += 40
      }
    }
    let dark = 0
    rows.forEach((row, y) => row.forEach((one, x) => {
      dark += one
      if (y && x && one === rows[y - 1][x] && one === row[x - 1] && one === rows[y - 1][x - 1]) points += 3
    }))
    return points + Math.floor(Math.abs(dark * 20 - rows.length ** 2 * 10) / rows.length ** 2) * 10
  }

  /**
   * @param {string} text @param {number} [mask] 0 to 7; without it the one that is easiest to read
   * @returns {number[][] | null} rows of 0 and 1 without the white edge, which is 4 wide; null: it is too long
   */
  function encode(text, mask) {
    const bytes = new TextEncoder().encode(text)
    const version = BLOCKS.findIndex((_, i) => 4 + lengthBits(i + 1) + bytes.length * 8 <= dataRoom(i + 1) * 8) + 1
    if (!version) return null
    const grid = gridOf(version)
    place(grid, interleaved(dataOf(bytes, version), version))
    if (mask !== undefined) return masked(grid, mask).modules
    const all = MASKS.map((_, each) => masked(grid, each).modules)
    const points = all.map(penalty)
    return all[points.indexOf(Math.min(...points))]
  }

  return { encode }
})
