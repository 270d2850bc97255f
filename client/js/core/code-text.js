// A block of code as a text: its lines, their numbers, and the name of the file it is saved as.

yaa.define('core/code-text', [], () => {
  /** Lines of a folded block. One with at most twice as many is shown whole. */
  const SHOWN = 60
  /** Languages whose files do not end in the language's name. @type {Record<string, string>} */
  const ENDINGS = {
    python: 'py', javascript: 'js', typescript: 'ts', bash: 'sh', shell: 'sh', zsh: 'sh', console: 'sh', powershell: 'ps1', markdown: 'md', ruby: 'rb',
    rust: 'rs', kotlin: 'kt', csharp: 'cs', 'c#': 'cs', 'c++': 'cpp', perl: 'pl', haskell: 'hs', yml: 'yaml', text: 'txt', plaintext: 'txt', latex: 'tex',
    makefile: 'mk', golang: 'go', elixir: 'ex', erlang: 'erl', clojure: 'clj', fortran: 'f90', julia: 'jl', matlab: 'm', 'objective-c': 'm', jsonc: 'json',
  }

  /** Name the file a block is saved as. The language is the model's word: what cannot be an ending is `.txt`. @param {string} lang */
  function fileNameOf(lang) {
    const name = lang.toLowerCase()
    const ending = Object.hasOwn(ENDINGS, name) ? ENDINGS[name] : /^[a-z][a-z0-9]{0,9}$/.test(name) ? name : 'txt'
    return `code.${ending}`
  }

  /** Count lines; the line end that closes the last one opens no other. @param {string} text @returns {number} at least 1 */
  function lineCount(text) {
    let count = 1
    for (let at = text.indexOf('\n'); at >= 0 && at < text.length - 1; at = text.indexOf('\n', at + 1)) count++
    return count
  }

  /** Write the numbers of the lines below each other. @param {string} text */
  const numbersOf = (text) => Array.from({ length: lineCount(text) }, (_, i) => i + 1).join('\n')

  return { SHOWN, fileNameOf, lineCount, numbersOf }
})
