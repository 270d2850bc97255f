// Numbers in [0, 1) that are the same on every run.
'use strict'

/** @param {number} seed */
function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/**
 * The rounds of a long series that are played, counted from 0: every fourth, others with each commit (tests/tooling/turns.py);
 * without a turn all of them. The first of them is a part of the seed of what is random in more than one round.
 * @param {number} count @param {number} [parts]
 */
function rounds(count, parts = 4) {
  const turn = process.env.TESTS_TURN
  const all = Array.from({ length: count }, (_, round) => round)
  return turn === undefined ? all : all.filter((round) => round % parts === Number(turn) % parts)
}

module.exports = { random, rounds }
