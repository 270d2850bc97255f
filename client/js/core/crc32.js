// CRC-32 as zlib computes it: cheap enough to compare two folds of a whole session after every run.

yaa.define('core/crc32', [], () => {
  const TABLE = new Uint32Array(256)
  for (let n = 0; n < 256; n++) {
    let c = n
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
    TABLE[n] = c
  }

  /** @param {string | Uint8Array} input text is taken as UTF-8 @returns {string} 8 hex digits */
  function crc32(input) {
    const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input
    let c = 0xffffffff
    for (let i = 0; i < bytes.length; i++) c = TABLE[(c ^ bytes[i]) & 0xff] ^ (c >>> 8)
    return ((c ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0')
  }

  return { crc32 }
})
