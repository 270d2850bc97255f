// Effort, temperature and length of a session's answers.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'core', 'answer-settings.js'))
const { read, wrong, write } = use('core/answer-settings')
const NOTHING = { effort: '', temperature: '', length: '' }

test('what is written is read again, and everything else stays', () => {
  const others = { yaa: { language: 'fr' }, llm_api: { provider: { name: 'x' }, model_settings: { top_p: 0.5 } } }
  for (const config of [undefined, {}, others]) {
    for (const wishes of [{ effort: 'high', temperature: '0', length: '4096' }, { ...NOTHING, temperature: '1.5' }, { ...NOTHING, length: '1' }, { ...NOTHING, effort: 'of tomorrow' }]) {
      const written = write(config, wishes)
      assert.deepEqual(read(written), wishes)
      assert.equal(written.llm_api.model_settings?.top_p, config?.llm_api?.model_settings.top_p)
      assert.deepEqual(written.yaa, config?.yaa)
      assert.deepEqual(read(write(written, NOTHING)), NOTHING, 'and taken back')
    }
  }
  assert.deepEqual(write({}, NOTHING), { llm_api: {} })
  assert.deepEqual(write({}, { ...NOTHING, temperature: '0.2' }).llm_api.model_settings, { use_custom_temp: true, temperature: 0.2 }, 'else it is not sent')
  assert.equal(write({ llm_api: { max_tokens: 7 } }, NOTHING).llm_api.max_tokens, null, 'what the settings say does not come back in its place')
})

test('a temperature that is not used is none, and what a document says wrongly is left out', () => {
  for (const config of [null, 7, { llm_api: null }, { llm_api: { model_settings: 7, max_tokens: 'x' } }, { llm_api: { model_settings: { temperature: 1, reasoning_effort: 3 } } }]) {
    assert.deepEqual(read(config), NOTHING)
  }
})

test('what cannot be sent is named', () => {
  const cases = [
    [NOTHING, null], [{ temperature: '2', length: '1' }, null], [{ temperature: '2.1' }, 'temperature'], [{ temperature: '-1' }, 'temperature'], [{ temperature: 'warm' }, 'temperature'],
    [{ length: '0' }, 'length'], [{ length: '1.5' }, 'length'], [{ length: '-3' }, 'length'], [{ length: '1e99' }, 'length'], [{ length: 'all' }, 'length'],
  ]
  for (const [wishes, name] of cases) assert.equal(wrong({ ...NOTHING, ...wishes }), name, JSON.stringify(wishes))
})
