// Which command lines a pattern covers that allows, as server/tools/shell_commands.py decides it: a wildcard covers
// arguments of one program, no sign that begins another command and no word that makes the program run another one.

yaa.define('core/shell-commands', [], () => {
  const SIGNS = ';&|<>$()`\n'
  const PIECE = /\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[ \t]+|[^\\'" \t\n;&|<>$()`]+|./gsu
  /** Redirections that write nothing and begin nothing count as if they were not there. */
  const UNSEEN = /(?<=[ \t])[12]?>(?:&[12]|>?[ \t]?\/dev\/null)(?=[ \t\n;&|]|$)/gu
  const WILD = /\[([*?[])\]|\[!?\]?[^\]]*\]|[*?]/gu
  const ASSIGNMENT = /^[A-Za-z_]\w*(\[[^\]]*\])?\+?=/u
  const words = (/** @type {string} */ text) => text.split(' ')
  const RUNNERS = new Set(words('sh bash dash ash zsh ksh fish csh tcsh busybox eval exec source . command builtin trap python python2 python3 pypy pypy3 ipython perl ruby node nodejs deno bun php lua luajit tclsh osascript pwsh awk gawk mawk nawk sed ed ex vi vim nvim emacs gdb lldb expect env sudo doas su runuser xargs parallel nohup time timeout nice ionice chrt taskset setsid stdbuf unbuffer script watch entr flock strace ltrace valgrind perf chroot unshare nsenter setpriv systemd-run crontab at batch tmux screen ssh scp sftp socat nc ncat npx bunx uvx pipx docker podman kubectl'))
  /** @type {Record<string, string>} */
  const OPTIONS = {
    find: '-exec -execdir -ok -okdir', fd: '-x -X --exec --exec-batch', rg: '--pre --hostname-bin',
    tar: '-I -F --to-command --checkpoint-action --use-compress-program --rsh-command --info-script --new-volume-script',
    rsync: '-e --rsh --rsync-path', sort: '--compress-program', man: '-P -H --pager --html',
    make: '-f -C -I --file --makefile --eval --directory --include-dir', npm: 'exec x explore config', pnpm: 'exec dlx config',
    yarn: 'exec dlx config', uv: 'run tool', go: 'run generate -exec -toolexec', cargo: '--config', zip: '-TT --unzip-command',
  }
  const GIT_PLAIN = new Set(words('--no-pager -P --version --help -v -h --no-optional-locks'))
  const GIT_VALUES = new Set(words('-C -c --git-dir --work-tree --namespace --config-env'))
  const GIT_COMMANDS = new Set(words('config difftool mergetool filter-branch bisect submodule instaweb send-email hook'))
  const GIT_OPTIONS = words('--exec --extcmd --upload-pack --receive-pack --open-files-in-pager --ext-diff')
  /** @type {Record<string, string>} */
  const GIT_LETTERS = { rebase: 'x', grep: 'O', clone: 'u' }

  /**
   * A command line in pieces: its signs with whether the shell acts on them, the words of its simple commands.
   * @param {string} text
   */
  function lex(text) {
    /** @type {[string, boolean][]} */ const signs = []
    /** @type {string[][]} */ const commands = [[]]
    let closed = true
    /** @type {string | null} */ let word = null
    const end = () => {
      if (word !== null) commands[commands.length - 1].push(word)
      word = null
    }
    const inert = (/** @type {string} */ piece) => { for (const sign of piece) if (SIGNS.includes(sign)) signs.push([sign, false]) }
    for (const [piece] of text.replace(UNSEEN, '').matchAll(PIECE)) {
      const [first] = piece
      let value = piece
      if (first === ' ' || first === '\t') { end(); continue }
      if (SIGNS.includes(piece) && piece !== '$') {
        end()
        signs.push([piece, true])
        if (piece !== '<' && piece !== '>') commands.push([])
        continue
      }
      if (first === '\\') {
        value = piece.slice(1) === '\n' ? '' : piece.slice(1)
        inert(piece)
        if (piece.length === 1) closed = false
      } else if (first === '"' && piece.length > 1) {
        const parts = piece.slice(1, -1).match(/\\.|./gsu) ?? []
        value = parts.map((part) => [...part].pop()).join('')
        for (const part of parts) {
          const sign = /** @type {string} */ ([...part].pop())
          if (SIGNS.includes(sign)) signs.push([sign, part === '$' || part === '`'])
        }
      } else if (first === "'" && piece.length > 1) {
        value = piece.slice(1, -1)
        inert(value)
      } else if (piece === "'" || piece === '"') closed = false
      else if (piece === '$') signs.push([piece, true])
      word = (word ?? '') + value
    }
    end()
    return { signs, commands, closed }
  }

  /** The words of a simple command that make it run another program or code. @param {string[]} command @returns {string[]} */
  function runsOthers(command) {
    let at = 0
    while (at < command.length && ASSIGNMENT.test(command[at])) at++
    const found = command.slice(0, at)
    if (at === command.length) return found
    const program = command[at].slice(command[at].lastIndexOf('/') + 1)
    const rest = command.slice(at + 1)
    if (RUNNERS.has(program) || /^(python|pypy|ruby|perl|lua|node)[\d.]*$/u.test(program)) return [...found, program]
    if (program === 'git') return [...found, ...ofGit(rest)]
    const options = Object.hasOwn(OPTIONS, program) ? words(OPTIONS[program]) : []
    if (program === 'make') found.push(...rest.filter((word) => ASSIGNMENT.test(word)))
    return [...found, ...rest.filter((word) => options.some((option) => isOption(word, option)))]
  }

  /** @param {string[]} rest */
  function ofGit(rest) {
    const found = []
    let at = 0
    while (at < rest.length && rest[at].startsWith('-')) {
      const end = at + (GIT_VALUES.has(rest[at]) ? 2 : 1)
      if (!GIT_PLAIN.has(rest[at])) found.push(...rest.slice(at, end))
      at = end
    }
    const command = rest[at] ?? ''
    if (GIT_COMMANDS.has(command)) found.push(command)
    const letter = Object.hasOwn(GIT_LETTERS, command) ? GIT_LETTERS[command] : ''
    for (const word of rest.slice(at + 1)) {
      const short = letter && new RegExp(`^-[A-Za-z]*${letter}`, 'u').test(word)
      if (short || word.includes('ext::') || GIT_OPTIONS.some((option) => isOption(word, option))) found.push(word)
    }
    return found
  }

  /** With a value, or in a short form of a long one. @param {string} word @param {string} option */
  function isOption(word, option) {
    if (option.startsWith('--')) {
      const [name] = word.split('=', 1)
      return name.length > 3 && option.startsWith(name)
    }
    return word === option || (option.length === 2 && option[0] === '-' && word.startsWith(option))
  }

  /** @param {string[][]} commands */
  const runners = (commands) => commands.flatMap(runsOthers)

  /**
   * Whether a pattern that fits a command line covers it.
   * @param {string} text @param {string} pattern
   */
  function covers(text, pattern) {
    let wild = false
    const literal = pattern.replace(WILD, (_all, sign) => {
      wild ||= sign === undefined
      return sign ?? '*'
    })
    if (!wild) return true
    const [mine, theirs] = [lex(text), lex(literal)]
    if (!mine.closed) return false
    const acting = mine.signs.some(([, acts]) => acts)
    const same = (/** @type {any} */ a, /** @type {any} */ b) => JSON.stringify(a) === JSON.stringify(b)
    if (!same(mine.signs, theirs.signs) && (acting || theirs.signs.length)) return false
    return same(runners(mine.commands), runners(theirs.commands))
  }

  /** Whether it is one command that begins no other: what is in quotes does not count. @param {string} text */
  function isPlain(text) {
    const { signs, commands, closed } = lex(text)
    return closed && !signs.some(([, acts]) => acts) && !runners(commands).length
  }

  return { covers, isPlain }
})
