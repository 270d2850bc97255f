// The inside of a tool card: the picture that suits the call, what went wrong, its log. A tool with
// no picture of its own shows its arguments and its result as they are, and every other can, by its menu.

yaa.define('ui/tools/card-body', [
  'ui/dom', 'i18n/tools', 'ui/interrupt-cards', 'core/tool-call-kind', 'ui/tools/parts', 'ui/tools/shell', 'ui/tools/diff', 'ui/tools/lists', 'ui/tools/file',
  'css/tools',
], (dom, { t }, cards, toolCalls, parts, { shellView }, { diffView }, lists, files) => {
  const { h, fill } = dom
  const { part, notice, textPart } = parts
  /** @type {Partial<Record<ToolKind, () => ToolPicture>>} */
  const PICTURES = {
    shell: shellView, diff: diffView, search: lists.searchView, tree: lists.treeView, table: lists.tableView,
    file: files.fileView, page: files.pageView, results: lists.resultsView,
  }
  /** Limits with words of their own; others are shown by name. */
  const LIMITS = new Set(['wall_s', 'cpu_s', 'memory_mb', 'file_mb', 'output_kb', 'processes', 'open_files', 'disk_mb'])

  /** @param {any} body the element to fill @returns {{update: (item: any) => void, destroy: () => void, looks: () => import('../types').MenuEntry[]}} */
  function toolBody(body) {
    const holder = h('div.tool-parts')
    body.append(holder)
    /** @type {ToolPicture | null} */ let picture = null
    /** @type {ToolKind} */ let kind = 'generic'
    /** @type {Map<string, any>} */ const shown = new Map()
    /** @type {any} */ let item = null
    let raw = false
    let isPlain = true

    /** @param {any} next */
    function update(next) {
      item = next
      const { call, entry, result, output } = next
      const envelope = result?.result
      const args = entry?.args ?? cards.parseArgs(call.function.arguments)
      const whole = envelope ? envelope.result : result?.content
      const value = raw ? whole : toolCalls.shownResult(result)
      const failed = Boolean(envelope?.error) || Boolean(result?.is_error)
      choose(raw ? 'generic' : toolCalls.kindOf({ name: call.function.name, args, result: failed ? undefined : value }))
      isPlain = !raw && kind === 'generic' && value === whole
      const covers = new Set(picture?.covers ?? [])
      picture?.update({ name: call.function.name, args, result: value, live: output, done: Boolean(result) && !failed })
      put('breach', breachText(envelope), breachPart)
      put('error', toolCalls.breachOf(envelope) ? undefined : errorText(result), (view) => view ?? errorPart())
      const bare = picture && isFlatObject(args) && !Object.keys(args).length
      put('args', bare || covers.has('args') ? undefined : args,
        (view) => view ?? valuePart(t(entry?.args ? 'tool.editedArguments' : 'tool.arguments')))
      put('edited', covers.has('args') && entry?.args ? t('tool.wereEdited') : undefined, (view) => view ?? noticePart('', 'pencil'))
      put('output', result || covers.has('output') ? undefined : output || undefined, (view) => view ?? valuePart(t('tool.output')))
      put('result', result && !failed && !covers.has('result') ? value ?? '' : undefined, (view) => view ?? valuePart(t('tool.result')))
      put('repairs', envelope?.repairs?.length ? envelope.repairs.map(lineOf).join('\n') : undefined,
        (view) => view ?? valuePart(t('tool.repairs')))
      put('hint', envelope?.hint, (view) => view ?? noticePart('ask', 'alert'))
      put('log', envelope?.logs?.length ? envelope.logs.map(lineOf).join('\n') : undefined, (view) => view ?? valuePart(t('tool.log')))
    }

    /** @param {ToolKind} next */
    function choose(next) {
      if (next === kind && (picture || next === 'generic')) return
      picture?.destroy?.()
      picture?.el.remove()
      kind = next
      picture = PICTURES[next]?.() ?? null
      if (picture) holder.insertBefore(picture.el, shown.get('args')?.el.nextSibling ?? holder.firstChild)
    }

    /**
     * A part is made when there is something to show and goes when there is nothing any more.
     * @param {string} key @param {any} value @param {(view: any) => any} make
     */
    function put(key, value, make) {
      const old = shown.get(key)
      if (value === undefined || value === null) {
        old?.destroy?.()
        old?.el.remove()
        shown.delete(key)
        return
      }
      const view = make(old)
      if (view !== old) holder[key === 'args' ? 'prepend' : 'append'](view.el)
      shown.set(key, view)
      view.update(value)
    }

    function toggle() {
      raw = !raw
      update(item)
    }

    const destroy = () => [picture, ...shown.values()].forEach((view) => view?.destroy?.())
    /** For the menu of the call. */
    const looks = () => (isPlain ? [] : [{ label: t(raw ? 'tool.asPicture' : 'tool.asJson'), icon: 'page', action: toggle }])
    return { update, destroy, looks }
  }

  // -- what can be missing --

  /** @param {any} envelope */
  function breachText(envelope) {
    const breach = toolCalls.breachOf(envelope)
    if (!breach) return undefined
    const name = LIMITS.has(breach.limit) ? t(`breach.${breach.limit}`) : breach.limit
    return t('breach.text', { name, limit: breach.limit, allowed: String(breach.allowed), observed: String(breach.observed) })
  }

  /** @param {any} view */
  const breachPart = (view) => view ?? noticePart('bad', 'limit')

  /** @param {any} result the tool message */
  function errorText(result) {
    const error = result?.result?.error
    if (error) return String(error.message ?? error.type ?? '')
    return result?.is_error ? String(result.content ?? '') : undefined
  }

  /** @param {any} line a string, or an object with a message */
  const lineOf = (line) => (typeof line === 'string' ? line : line?.message ?? JSON.stringify(line))

  // -- parts --

  /** @param {'' | 'ask' | 'bad'} tone @param {string} sign */
  function noticePart(tone, sign) {
    const el = h('div')
    let drawn = ''
    /** @param {string} words */
    function update(words) {
      if (words !== drawn) fill(el, notice(words, tone, sign))
      drawn = words
    }
    return { el, update }
  }

  function errorPart() {
    const view = textPart({ title: t('tool.error') })
    view.el.dataset.tone = 'bad'
    return view
  }

  /** A titled value: names and values where it is a flat object, else text or JSON. @param {string} title */
  function valuePart(title) {
    /** @type {any} */ let value
    /** @type {any} */ let block = null
    const words = () => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))
    const holder = h('div')
    const { el } = part(title, words, holder)

    /** @param {any} next */
    function update(next) {
      if (holder.firstChild && (next === value || JSON.stringify(next) === JSON.stringify(value))) return
      value = next
      if (isFlatObject(next)) {
        block = null
        return fill(holder, cards.argsList(next))
      }
      if (!block) {
        block = parts.block()
        fill(holder, block.el)
      }
      const plain = typeof next === 'string'
      block.update({ text: plain && !next ? t('tool.noOutput') : words(), lang: plain ? '' : 'json' })
    }

    return { el, update }
  }

  /** @param {any} value */
  function isFlatObject(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    return Object.values(value).every((one) => typeof one !== 'object' || one === null)
  }

  /**
   * What a call would do to a file, for whoever has to allow it: against the file as it is, where it can be read, and as
   * soon as the server has said so.
   * @param {string} name @param {any} args @param {import('../types').App} [app] @param {Session} [of] if it is not the open one
   * @returns {Promise<any>} null: names and values say it best
   */
  async function previewOf(name, args, app, of) {
    if (toolCalls.kindOf({ name, args }) !== 'diff') return null
    const session = of ?? app?.current.session
    const refined = app?.server.info() && await againstFile(name, args, app, session)
    if (refined) return refined
    const view = diffView({ asks: true })
    view.update({ name, args, result: undefined, done: false })
    const { path, content, old, new: next, edits, patch, ...rest } = args
    const el = h('div.picture', null, view.el, Object.keys(rest).length ? cards.argsList(rest) : null)
    if (app && !app.server.info()) app.server.ready.then(() => againstFile(name, args, app, session)).then((/** @type {any} */ found) => found && el.replaceWith(found))
    return el
  }

  /** @param {string} name @param {any} args @param {import('../types').App} app @param {Session} [of] @returns {Promise<any>} null where that does not come */
  async function againstFile(name, args, app, of) {
    if (!app.server.info()?.workspace) return null
    try {
      return await (await yaa.part('approval-diff'))?.refine(app, name, args, of) ?? null
    } catch (error) {
      console.warn(error)
      return null
    }
  }

  return { toolBody, previewOf }
})
