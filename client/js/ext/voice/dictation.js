// The microphone beside the button that sends: what is said is put where the caret is, and not sent. The recording goes to
// the server alone, which has it transcribed (POST /transcriptions), and is kept nowhere.

yaa.define('ext/voice/dictation', ['ui/dom', 'ui/i18n', 'ui/popup', 'ui/composer', 'ui/commands', 'ext/voice/texts', 'ext/voice/style'], (
  { h, icon, fill, attr, text }, { t }, { toast, say }, { draftOf }, commands,
) => {
  const KINDS = ['audio/webm;codecs=opus', 'audio/ogg;codecs=opus', 'audio/mp4']
  /** A piece of the recording comes so often, so its size is known on the way. */
  const PIECE_MS = 1000
  /** A provider may take so long to write down a long recording. */
  const TRANSCRIPTION_MS = 330_000
  /** So much less than may be sent, the recording ends by itself: a piece more is on its way. */
  const SPARE_BYTES = 64 * 1024
  /** What the browser calls the reasons why there is no microphone. @type {Record<string, string>} */
  const REASONS = {
    NotAllowedError: 'voice.denied', SecurityError: 'voice.denied', NotFoundError: 'voice.noMicrophone',
    OverconstrainedError: 'voice.noMicrophone', NotReadableError: 'voice.inUse', AbortError: 'voice.inUse',
  }

  /** @param {import('../../ui/types').CommandContext} context */
  function start({ app }) {
    /** @type {'idle' | 'asking' | 'recording' | 'sending'} */ let phase = 'idle'
    /** What ends the present recording without a word. */ let cancel = () => {}
    let finish = () => {}
    let began = 0
    let drawn = ''
    const clock = h('span.dictation-clock', { role: 'timer' })
    const button = h('button.button.ghost.small.square.dictation', { type: 'button', onclick: press })
    const el = h('span.dictation-place', null, clock, button)
    app.watchers.add(update)
    commands.register({ id: 'voice.dictate', title: 'voice.dictate', icon: 'mic', slash: 'dictate', when: () => phase === 'idle' && !el.hidden, run: press })
    addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || phase === 'idle' || event.isComposing) return
      event.preventDefault()
      event.stopPropagation()
      cancel()
      say(t('voice.cancelled'))
    }, true)
    addEventListener('pagehide', () => cancel())
    app.draw()

    /** @param {import('../../ui/types').State} state */
    function update(state) {
      el.hidden = !state.info?.transcription && phase === 'idle'
      if (!el.isConnected) document.querySelector('.composer-bar .send')?.before(el)
      draw()
    }

    function draw() {
      const provider = app.server.info()?.transcription?.provider ?? ''
      const label = phase === 'recording' ? t('voice.stop') : phase === 'sending' ? t('voice.sending') : t('voice.dictate')
      const time = phase === 'recording' ? clockOf(performance.now() - began) : ''
      text(clock, time)
      const key = [phase, label, provider].join('\n')
      if (key === drawn) return
      drawn = key
      attr(button, 'data-phase', phase)
      attr(button, 'aria-label', label)
      attr(button, 'title', `${label} · ${phase === 'idle' ? t('voice.by', { provider }) : t('voice.escape')}`)
      attr(button, 'aria-pressed', phase === 'recording' ? 'true' : 'false')
      fill(button, phase === 'sending' || phase === 'asking' ? h('span.spinner') : icon(phase === 'recording' ? 'stop' : 'mic'))
    }

    /** @param {typeof phase} next */
    function turn(next) {
      phase = next
      draw()
    }

    function press() {
      if (phase === 'idle') record()
      else if (phase === 'recording') finish()
      else cancel()
    }

    /** Record until it is pressed again, then have it transcribed. */
    async function record() {
      const place = placeOf()
      let wanted = true
      cancel = () => { wanted = false, turn('idle') }
      turn('asking')
      /** @type {MediaStream} */ let stream
      try {
        stream = await navigator.mediaDevices.getUserMedia({ audio: true })
      } catch (error) {
        const { name, message } = /** @type {DOMException} */ (error)
        if (wanted) toast(REASONS[name] ? t(REASONS[name]) : t('voice.failed', { detail: message || name }), { bad: true })
        return wanted && turn('idle')
      }
      const free = () => { for (const track of stream.getTracks()) track.stop() }
      if (!wanted) return free()
      try {
        const sound = await soundOf(stream)
        free()
        if (sound) await send(sound, place)
        else turn('idle')
      } catch (error) {
        free()
        toast(t('voice.failed', { detail: /** @type {Error} */ (error).message }), { bad: true })
        turn('idle')
      }
    }

    /** @param {MediaStream} stream @returns {Promise<Blob | null>} null: it was cancelled */
    function soundOf(stream) {
      const mimeType = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind))
      const recorder = new MediaRecorder(stream, mimeType ? { mimeType } : {})
      const most = (app.server.info()?.transcription?.max_bytes ?? Infinity) - SPARE_BYTES
      /** @type {Blob[]} */ const parts = []
      let size = 0
      let wanted = true
      const end = () => { if (recorder.state !== 'inactive') recorder.stop() }
      cancel = () => { wanted = false, end() }
      finish = end
      began = performance.now()
      turn('recording')
      say(t('voice.recording'))
      const timer = setInterval(draw, 500)
      return new Promise((resolve, reject) => {
        recorder.ondataavailable = ({ data }) => {
          parts.push(data)
          size += data.size
          if (size > most && recorder.state !== 'inactive') end(), toast(t('voice.full')) // `end` brings one more piece
        }
        recorder.onerror = (/** @type {any} */ event) => { clearInterval(timer), reject(event.error ?? new Error('MediaRecorder')) }
        recorder.onstop = () => { // also when the microphone is taken away
          clearInterval(timer)
          resolve(wanted ? new Blob(parts, { type: recorder.mimeType || mimeType }) : null)
        }
        recorder.start(PIECE_MS)
      })
    }

    /** @param {Blob} sound @param {Session} place the session that was open */
    async function send(sound, place) {
      const control = new AbortController()
      cancel = () => control.abort()
      turn('sending')
      try {
        const response = await app.server.api().request('/transcriptions', {
          method: 'POST', body: sound, headers: { 'Content-Type': sound.type, Accept: 'application/json' }, signal: control.signal, silence: TRANSCRIPTION_MS,
        })
        const words = String((await response.json())?.text ?? '').trim()
        if (control.signal.aborted) return
        if (words) put(words, place)
        else toast(t('voice.nothing'))
      } catch (error) {
        if (control.signal.aborted) return
        const { message, kind } = /** @type {any} */ (error)
        const detail = kind === 'network' ? t('voice.unreachable') : message
        toast(t('voice.failed', { detail }), { bad: true, label: t('voice.again'), action: () => { if (phase === 'idle') send(sound, place) } })
      } finally {
        turn('idle')
      }
    }

    const placeOf = () => app.current.session

    /** Into the field, or into the draft of the session that was open then. @param {string} words @param {Session} place */
    function put(words, place) {
      const { composer } = app.views
      if (app.current.session.id === place.id) {
        const area = /** @type {HTMLTextAreaElement} */ (composer.el.querySelector('textarea'))
        const [before, after] = [area.value.slice(0, area.selectionStart), area.value.slice(area.selectionEnd)]
        composer.insert(gap(before) + words + (after && !/^\s/.test(after) ? ' ' : ''))
        return say(t('voice.put'))
      }
      const draft = draftOf(place)
      const before = app.settings.draft(draft)
      app.settings.setDraft(draft, before + gap(before) + words)
      toast(t('voice.elsewhere', { title: place.title || t('session.untitled') }))
    }
  }

  /** Between what stands there and what is said; Chinese needs none. @param {string} before */
  const gap = (before) => (/[!-~\u00a1-\u04ff]$/.test(before) ? ' ' : '')

  /** @param {number} ms */
  const clockOf = (ms) => `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`

  return { start }
})
