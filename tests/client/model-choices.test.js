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
    { provider: 'main', model: 'large', name: 'large · main', window: 128000, price: null },
    { provider: 'main', model: 'small', name: 'small · main', window: 0, price: null },
    { provider: 'demo', model: 'demo', name: 'demo', window: 0, price: null },
  ])
  const many = Array.from({ length: 5000 }, (_, i) => `model-${i}`)
  assert.equal(modelRows({ models: [{ name: 'many', model: 'model-0', models: many }] }).length, 5000)
})

test('windows and prices are those of each model, for a million tokens', () => {
  const about = { a: { window: 1000, price: { input: 0.0025, output: 0.01, cached: 0.001, unit: 'USD' } }, b: { price: { total: 0.5, unit: '' } } }
  const rows = modelRows({ models: [{ name: 'v', model: 'a', models: ['a', 'b', 'toString'], max_context: 7, about }] })
  assert.deepEqual(rows.map(({ window, price }) => [window, price]), [
    [1000, { input: 2.5, output: 10, unit: 'USD' }], [0, { input: 500, output: 500, unit: '' }], [0, null],
  ])
  for (const price of [null, 7, {}, { input: 1 }, { input: 'x', output: 1 }, { input: -1, output: 1 }]) {
    assert.equal(modelRows({ models: [{ name: 'v', model: 'a', about: { a: { window: 'x', price } } }] })[0].price, null)
  }
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
