// The look of the page: language, theme, colour, size of the text, spacing, and whether single keys are commands. Each is
// one attribute or one property of the root element; the style sheets do the rest.

yaa.define('ui/appearance', ['ui/dom', 'ui/i18n', 'ui/commands', 'css/settings', 'i18n/settings', 'i18n/commands'], ({ h, uid }, { t }, commands) => {
  const LANGUAGES = [['en', 'English'], ['zh', '中文']]
  const THEMES = [['', 'settings.themeSystem'], ['light', 'settings.themeLight'], ['dark', 'settings.themeDark']]
  const SIZES = [
    ['small', 'settings.sizeSmall'], ['', 'settings.sizeNormal'], ['large', 'settings.sizeLarge'], ['huge', 'settings.sizeHuge'],
  ]
  const DENSITIES = [['', 'settings.densityRoomy'], ['tight', 'settings.densityTight']]
  /** Hues of one lightness and chroma (css/base), so that every one of them has the same contrast. */
  const HUES = [
    ['', 'settings.hueTeal', 212], ['255', 'settings.hueBlue', 255], ['295', 'settings.hueViolet', 295], ['350', 'settings.huePink', 350],
    ['45', 'settings.hueRust', 45], ['105', 'settings.hueOlive', 105], ['155', 'settings.hueGreen', 155],
  ]

  /** @param {import('./types').Actions} actions */
  function appearancePanel(actions) {
    const words = (/** @type {any[][]} */ options) => options.map(([value, key]) => [value, t(key)])
    const fields = {
      language: segments('settings.language', [['', t('settings.languageSystem')], ...LANGUAGES], (language) => actions.set({ language })),
      theme: segments('settings.theme', words(THEMES), (theme) => actions.set({ theme })),
      hue: swatches((hue) => actions.set({ hue })),
      size: segments('settings.size', words(SIZES), (size) => actions.set({ size })),
      density: segments('settings.density', words(DENSITIES), (density) => actions.set({ density })),
    }
    const single = h('input', { type: 'checkbox', onchange: () => actions.set({ keys: single.checked ? 'on' : '' }) })
    const sheet = h('button.button.small', { type: 'button', onclick: () => commands.run('keys') }, t('settings.keysSheet'))
    const keys = h('div.stack', null,
      h('span.label', null, t('keys.title')), h('label.check', null, single, t('keys.single')),
      h('p.hint', null, t('keys.singleHint')), h('div', null, sheet))
    const el = h('div.group', null, Object.values(fields).map((field) => field.el), keys)

    /** @param {import('./types').State} state */
    function update({ settings }) {
      for (const [name, field] of Object.entries(fields)) field.write(settings[name] ?? '')
      single.checked = settings.keys === 'on'
    }

    return { el, update }
  }

  /**
   * One of a few: radio buttons that look like one control.
   * @param {string} label @param {string[][]} options @param {(value: string) => void} save
   */
  function segments(label, options, save) {
    const name = uid('choice')
    const inputs = options.map(([value]) => h('input', { type: 'radio', name, value, onchange: () => save(value) }))
    const choices = options.map(([, words], i) => h('label', null, inputs[i], h('span', null, words)))
    const el = h('fieldset.field', null, h('legend.label', null, t(label)), h('div', null, h('div.segments', null, choices)))
    return { el, write: (/** @type {string} */ value) => inputs.forEach((input) => { input.checked = input.value === value }) }
  }

  /** @param {(hue: string) => void} save */
  function swatches(save) {
    const name = uid('hue')
    const inputs = HUES.map(([value]) => h('input', { type: 'radio', name, value, onchange: () => save(String(value)) }))
    const choices = HUES.map(([, key, hue], i) => {
      const colour = h('span', { title: t(String(key)) }, h('span.sr-only', null, t(String(key))))
      colour.style.setProperty('--hue', String(hue))
      return h('label.swatch', null, inputs[i], colour)
    })
    const el = h('fieldset.field', null, h('legend.label', null, t('settings.accent')), h('div.swatches', null, choices))
    return { el, write: (/** @type {string} */ value) => inputs.forEach((input) => { input.checked = input.value === String(value) }) }
  }

  return { appearancePanel }
})
