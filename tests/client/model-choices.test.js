// Every model of every provider, as rows.
'use strict'

const test = require('node:test')
const assert = require('node:assert/strict')
const path = require('node:path')
const { use, JS } = require('./load-modules.js')

require(path.join(JS, 'core', 'model-choices.js'))
const { modelRows } = use('core/model-choices')

test('all models of all providers are listed, each once, with the window where it is told', () => {
  const main = { name: 'main', model: 'large', models: ['small', 'large', 'small'], max_context: 128000 }
  assert.deepEqual(modelRows({ models: [main, { name: 'demo', model: 'demo', models: ['demo'] }] }), [
    { provider: 'main', model: 'large', name: 'large · main', window: 128000 },
    { provider: 'main', model: 'small', name: 'small · main', window: 0 },
    { provider: 'demo', model: 'demo', name: 'demo', window: 0 },
  ])
  const many = Array.from({ length: 5000 }, (_, i) => `model-${i}`)
  assert.equal(modelRows({ models: [{ name: 'many', model: 'model-0', models: many }] }).length, 5000)
})

test('what a server tells wrongly is left out', () => {
  const cases = [
    [null, []], [{}, []], [{ models: 'x' }, []], [{ models: [null, 7, { name: 3 }] }, []],
    [{ models: [{ name: 'bare' }] }, ['bare']], [{ models: [{ name: 'a', models: [null, {}, 'x'] }] }, ['x · a']],
    [{ models: [{ name: 'a', model: '模型', models: 'no', max_context: 'much' }] }, ['模型 · a']],
  ]
  for (const [info, names] of cases) assert.deepEqual(modelRows(info).map((one) => one.name), names, JSON.stringify(info))
  assert.equal(modelRows({ models: [{ name: 'a', model: 'x', max_context: 'much' }] })[0].window, 0)
})
