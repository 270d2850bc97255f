// Stories of tabs over one storage, as plain values, and what must be there at their end. Who plays them (tab-player.js)
// has the tabs: a story knows only what was done in which, and whether it was.
'use strict'

const QUESTIONS = ['q1', 'q2', 'q3']
/** Beside the first question of `asks`, which stays open, nothing runs there; `talk` runs; `gone` is deleted and brought back. */
const SESSIONS = ['asks', 'talk', 'gone']
/** [what, how often] */
const ACTS = [
  ['set', 3], ['answer', 3], ['rename', 2], ['upload', 1], ['edit', 2], ['say', 3], ['change', 1], ['end', 2], ['stop', 1], ['remove', 1], ['touch', 1], ['restore', 1],
  ['import', 1], ['draft', 2], ['undraft', 1], ['freeze', 1], ['thaw', 2], ['crash', 2],
]
const WEIGHTED = ACTS.flatMap(([what, often]) => Array(often).fill(what))

/** @param {() => number} chance @param {number} seed @param {number} length @returns {any[]} what a person does one after the other */
function storyOf(chance, seed, length) {
  const pick = (/** @type {any[]} */ all) => all[Math.floor(chance() * all.length)]
  return Array.from({ length }, (_, step) => ({
    what: pick(WEIGHTED), tab: Math.floor(chance() * 3), waits: chance() < 0.6, turns: chance() < 0.5, yes: chance() < 0.5,
    question: pick(QUESTIONS.slice(1)), where: pick(['asks', 'talk']), words: `w${seed}_${step}`,
  }))
}

/** The sessions as they are before. @param {string} [mark] of one story among several in one browser, behind their ids */
function begun(mark = '') {
  const calls = QUESTIONS.map((id) => ({ id: `c-${id}`, type: 'function', function: { name: 'shell', arguments: '{}' } }))
  const of = (/** @type {string} */ id, /** @type {any} */ more) => ({ id: id + mark, version: 1, rev: 1, title: 'before', config: { limits: { max_steps: 100 } }, messages: [{ id: 'u1', role: 'user', content: 'before', at: 1 }, { id: 'a1', role: 'assistant', content: 'yes', at: 2 }], ...more })
  return [
    of('asks', {
      messages: [{ id: 'u1', role: 'user', content: 'before', at: 1 }, { id: 'a1', role: 'assistant', content: '', tool_calls: calls }],
      calls: Object.fromEntries(QUESTIONS.map((id) => [`c-${id}`, { name: 'shell', state: 'asking', attempt: 0 }])),
      interrupts: QUESTIONS.map((id) => ({ id, reason: 'tool_call', call_id: `c-${id}`, tool: 'shell', args: {} })),
    }),
    of('talk', {}), of('gone', {}),
  ]
}

/** What was done, and what may be there therefore. A value that is written over may be any of those that were under way at once. */
class Record {
  /** @type {Map<string, Set<any>>} by place */ values = new Map()
  /** places that must hold something, whoever writes beside it @type {Set<string>} */ sets = new Set()
  /** @type {Map<string, {sure: boolean}>} */ words = new Map()
  /** @type {Map<string, any[]>} */ answers = new Map()
  /** @type {Set<string>} */ drafts = new Set()
  /** @type {Set<string>} */ imports = new Set()
  /** a run may have ended otherwise than well: what waits for it is not sent */ stopped = false

  /** @param {string} place @param {any} value @param {boolean} alone nothing else was under way */
  write(place, value, alone) {
    const all = this.values.get(place)
    if (alone || !all) this.values.set(place, new Set([value]))
    else all.add(value)
  }

  /** One that has ended before another began is the first for sure. @param {string} question @param {boolean} yes @param {boolean} alone @returns {() => void} when it has ended */
  answer(question, yes, alone) {
    const given = this.answers.get(question) ?? []
    this.answers.set(question, given)
    if (given[0]?.sure) return () => {}
    const one = { yes, sure: false }
    given.push(one)
    return () => { one.sure = alone && given.length === 1 }
  }

  /**
   * What is not as it must be, in words.
   * @param {Map<string, any>} stored sessions by their names here @param {string[]} drafts of all tabs @returns {string[]}
   */
  wrong(stored, drafts) {
    const [asks, talk] = ['asks', 'talk'].map((name) => stored.get(name) && { ...stored.get(name), name })
    /** @type {string[]} */ const wrong = []
    const check = (/** @type {any} */ holds, /** @type {string} */ words) => { if (!holds) wrong.push(words) }
    check(asks && talk, 'sessions are there')
    if (!asks || !talk) return wrong
    /** @type {Record<string, any>} */
    const now = {
      gone: Boolean(stored.get('gone')),
      ...Object.fromEntries([asks, talk].flatMap((one) => [[`${one.name} title`, one.title], [`${one.name} tree`, one.workspace?.tree], [`${one.name} words`, one.messages[0].content]])),
    }
    for (const [place, values] of this.values) check(values.has(now[place]), `${place} is ${now[place]}, not ${[...values]}`)
    for (const place of this.sets) check(place.split(' ').reduce((value, name) => value?.[name], { asks: asks.config?.limits, talk: talk.config?.limits }) !== undefined, `${place} was set`)
    for (const one of [asks, talk]) check(one.config?.limits?.max_steps === 100, `${one.name}: a limit of before`)
    for (const [words, { sure }] of this.words) {
      const times = [...talk.messages.map((/** @type {any} */ one) => one.content), ...Object.values(talk.ext?.queue ?? {})].filter((one) => one === words).length
      check(times === 1 || (!sure && !times), `${words} is there ${times} times`)
    }
    check(this.stopped || !Object.keys(talk.ext?.queue ?? {}).length, 'nothing waits for a run that has ended')
    for (const [id, given] of this.answers) {
      const { answer } = asks.interrupts.find((/** @type {any} */ each) => each.id === id)
      const first = given.filter((/** @type {any} */ one, /** @type {number} */ i) => i === 0 || !given[0].sure)
      check(answer && first.some((/** @type {any} */ one) => one.yes === answer.payload.approved), `${id} is answered as it was first`)
    }
    for (const id of this.imports) check(stored.get(id), `${id} was brought in`)
    check(JSON.stringify([...this.drafts].sort()) === JSON.stringify([...drafts].sort()), `drafts are ${drafts}, not ${[...this.drafts]}`)
    return wrong
  }
}

module.exports = { storyOf, begun, Record, SESSIONS, ACTS }
