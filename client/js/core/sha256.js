// SHA-256 (FIPS 180-4), synchronous: crypto.subtle is missing on plain-http addresses and always a promise elsewhere.

yaa.define('core/sha256', [], () => {
  /**
   * @param {number} power 2 or 3
   * @param {number} count first 32 bits of the fractional parts of roots of the first primes
   */
  function roots(power, count) {
    const found = []
    for (let n = 2; found.length < count; n++) {
      let prime = true
      for (let d = 2; d * d <= n && prime; d++) prime = n % d !== 0
      if (prime) found.push(((n ** (1 / power)) % 1) * 2 ** 32 | 0)
    }
    return found
  }

  const K = Int32Array.from(roots(3, 64))
  const START = roots(2, 8)

  /** @param {string | Uint8Array} input text is taken as UTF-8 @returns {string} 64 hex digits */
  function sha256(input) {
    const bytes = padded(typeof input === 'string' ? new TextEncoder().encode(input) : input)
    const view = new DataView(bytes.buffer)
    const hash = Int32Array.from(START)
    const words = new Int32Array(64)
    for (let at = 0; at < bytes.length; at += 64) {
      for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + i * 4)
      for (let i = 16; i < 64; i++) {
        const a = words[i - 15]
        const b = words[i - 2]
        const s0 = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)
        const s1 = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10)
        words[i] = words[i - 16] + s0 + words[i - 7] + s1
      }
      compress(hash, words)
    }
    return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
  }

  /** @param {Int32Array} hash changed in place @param {Int32Array} words */
  function compress(hash, words) {
    let [a, b, c, d, e, f, g, h] = hash
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + words[i]) | 0
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0
    }
    const next = [a, b, c, d, e, f, g, h]
    for (let i = 0; i < 8; i++) hash[i] += next[i]
  }

  /** One bit, zeros, and the length in bits, up to whole blocks of 64. @param {Uint8Array} bytes */
  function padded(bytes) {
    const out = new Uint8Array((bytes.length + 9 + 63) & ~63)
    out.set(bytes)
    out[bytes.length] = 0x80
    const view = new DataView(out.buffer)
    view.setUint32(out.length - 8, Math.floor(bytes.length / 0x20000000))
    view.setUint32(out.length - 4, bytes.length << 3)
    return out
  }

  /** @param {number} word @param {number} by */
  const turn = (word, by) => (word >>> by) | (word << (32 - by))

  return { sha256 }
})
