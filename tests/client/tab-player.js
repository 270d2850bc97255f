// Plays stories of tabs (tab-stories.js) in a world that has them: Node's (two-tabs.test.js) or a browser
// (tests/browser/tab-stories.mjs).
'use strict'

const { begun, Record } = require('./tab-stories.js')

/** How often a world is looked at until what was begun has come to an end. */
const LONG = 3000

/**
 * @typedef {object} Tab
 * @property {(act: any) => any} act (tab-acts.js)
 * @property {() => any} crash
 * @property {string} [draft] @property {boolean} [deleted] @property {boolean} [frozen]
 *
 * @typedef {object} World
 * @property {() => Promise<Tab>} tab a new one
 * @property {Tab[]} tabs
 * @property {() => Promise<any>} turn gives the tabs some time
 * @property {number} quiet turns without a run, after which none is to be expected
 * @property {() => boolean} [asks] did a tab ask for a lock since the last look: what it is for is still to come
 * @property {number} tries how often the end is looked at until all is there
 */

class Player {
  record = new Record()
  /** @type {Map<any, Promise<any>>} what was begun, and what comes of it */ pending = new Map()

  /** @param {World} world @param {string} mark of the story */
  constructor(world, mark) { Object.assign(this, { world, mark, tabs: world.tabs }) }

  async begin() {
    while (this.tabs.length < 3) this.tabs.push(await this.world.tab())
    await this.tabs[0].act({ what: 'begin', sessions: begun(this.mark) })
    for (const tab of this.tabs) await this.open(tab)
  }

  /** @param {Tab} tab */
  async open(tab) {
    Object.assign(tab, { deleted: false, frozen: false, draft: await tab.act({ what: 'open', mark: this.mark }) })
    return tab
  }

  /** @param {any} act */
  async play(act) {
    const tab = this.tabs[act.tab]
    const alone = !this.pending.size && this.tabs.every(({ frozen }) => !frozen)
    if (act.what === 'crash') return this.crash(tab)
    const going = (this[act.what] ?? this.only).call(this, tab, act, alone)
    this.pending.set(act, going)
    going.finally(() => this.pending.delete(act))
    if (act.waits || act.what === 'touch') await this.settled(() => this.pending.size)
    else if (act.turns) await this.world.turn()
  }

  /** @param {() => any} goes on */
  async settled(goes) {
    for (let n = 0; goes(); n++) {
      if (n > LONG) throw new Error(`${[...this.pending.keys()].map((act) => JSON.stringify(act))} does not end`)
      await this.world.turn()
    }
  }

  async only(tab, act) { await tab.act(act) }

  set(tab, act) {
    this.record.sets.add(`${act.where} ${act.words}`)
    return this.only(tab, act)
  }

  rename(tab, act, alone) {
    this.record.write(`${act.where} title`, act.words, alone)
    return this.only(tab, act)
  }

  upload(tab, act, alone) {
    this.record.write(`${act.where} tree`, act.words, alone)
    return this.only(tab, act)
  }

  async answer(tab, act, alone) {
    const ended = this.record.answer(act.question, act.yes, alone)
    await tab.act(act)
    ended()
  }

  /** It may be refused, as something runs: then it is not made. */
  async edit(tab, act, alone) {
    const place = `${act.where} words`
    const before = this.record.values.get(place) ?? new Set(['before'])
    this.record.values.set(place, new Set([...before, act.words]))
    const done = await tab.act(act)
    for (const one of done ? (alone ? before : []) : [act.words]) this.record.values.get(place).delete(one)
  }

  async say(tab, act) {
    const one = { sure: true, tab }
    this.record.words.set(act.words, one)
    if (await tab.act(act)) one.tab = null // it goes with no tab
  }

  /** Other words for one that waits: the last it had, or none if it is said meanwhile. */
  async change(tab, act) {
    const first = await tab.act(act)
    if (first !== undefined) for (const words of [act.words, first]) this.record.words.set(words, { sure: false, tab })
  }

  async end() { await Promise.all(this.tabs.map((tab) => tab.act({ what: 'end' }))) }

  async remove(tab, act, alone) {
    this.record.write('gone', false, alone)
    tab.deleted = await tab.act(act)
  }

  /** What all have heard to be deleted stays so. */
  async touch(tab, act, alone) {
    if (!alone && this.record.values.has('gone')) this.record.write('gone', true, false)
    if (alone) for (let n = this.world.quiet; n; n--) await this.world.turn()
    await tab.act(act)
  }

  stop(tab, act) {
    this.record.stopped = true
    return this.only(tab, act)
  }

  async restore(tab, act, alone) {
    if (!tab.deleted) return
    this.record.write('gone', true, alone)
    await tab.act(act)
  }

  async import(tab, act) { if (await tab.act(act)) this.record.imports.add(act.words) }

  draft(tab, act) {
    this.record.drafts.delete(tab.draft)
    this.record.drafts.add(act.words)
    tab.draft = act.words
    return this.only(tab, act)
  }

  undraft(tab, act) {
    this.record.drafts.delete(tab.draft)
    tab.draft = ''
    return this.only(tab, act)
  }

  freeze(tab, act) {
    tab.frozen = true
    return this.only(tab, act)
  }

  thaw(tab, act) {
    tab.frozen = false
    return this.only(tab, act)
  }

  /** Once what was begun in it is done. What it has said and not stored yet may go with it. */
  async crash(tab) {
    this.record.stopped = true
    const at = this.tabs.indexOf(tab)
    await this.settled(() => [...this.pending.keys()].some((act) => act.tab === at))
    const known = JSON.stringify(await tab.act({ what: 'stored' }))
    for (const [words, one] of this.record.words) if (one.tab === tab && !known.includes(`"${words}"`)) one.sure = false
    await tab.crash()
    this.tabs[at] = await this.open(await this.world.tab())
  }

  /** A tab that is opened at the end finds all of it. @returns {Promise<string[]>} what is wrong */
  async over() {
    await this.rest()
    const last = await this.open(await this.world.tab())
    this.tabs.push(last)
    await this.world.turn()
    await last.act({ what: 'resume' })
    for (let n = this.world.tries; ; n--) {
      await this.rest()
      const wrong = await this.wrong(last)
      if (!wrong.length || n <= 1) return wrong
    }
  }

  /** @param {Tab} last @returns {Promise<string[]>} */
  async wrong(last) {
    const { ids, sessions, waits, drafts } = await last.act({ what: 'stored' })
    const stored = new Map([...ids.map((id) => [id, {}]), ...sessions])
    const runs = (await Promise.all(this.tabs.map((tab) => tab.act({ what: 'runs' })))).flat().map((name) => `${name} runs`)
    return [...this.record.wrong(stored, drafts), ...waits.map((one) => `${JSON.stringify(one)} still waits`), ...runs]
  }

  /** Until nothing runs any more: what waits is sent when a run ends. */
  async rest() {
    for (const tab of this.tabs) await tab.act({ what: 'thaw' })
    for (let quiet = 0, n = 0; quiet < this.world.quiet && n < LONG; n++) {
      await this.end()
      await this.world.turn()
      const runs = await Promise.all(this.tabs.map((tab) => tab.act({ what: 'runs' })))
      quiet = this.pending.size || runs.flat().length || this.world.asks?.() ? 0 : quiet + 1
    }
  }
}

module.exports = { Player }
