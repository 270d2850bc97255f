// The words of TeX that stand for one sign, by what the sign is in MathML, the letters of other alphabets, what stands
// around matrices, and how an element is made.

yaa.define('ext/math/tex-symbols', [], () => {
  /** `name sign name sign …` @param {string} list @returns {Record<string, string>} */
  function table(list) {
    const words = list.trim().split(/\s+/)
    const found = Object.create(null)
    for (let i = 0; i < words.length; i += 2) found[words[i]] = words[i + 1]
    return found
  }

  /** Identifiers. */
  const LETTERS = table(`
    alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ
    omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω
    Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
    infty ∞ partial ∂ nabla ∇ ell ℓ hbar ℏ Re ℜ Im ℑ aleph ℵ beth ℶ wp ℘ emptyset ∅ varnothing ∅ imath ı jmath ȷ
    top ⊤ bot ⊥ angle ∠ triangle △ square □ blacksquare ■ Box □ diamond ⋄ clubsuit ♣ diamondsuit ♢ heartsuit ♡ spadesuit ♠ flat ♭
    sharp ♯ natural ♮ degree ° prime ′ backslash \\ dagger † ddagger ‡ S § P ¶ copyright © pounds £ checkmark ✓ complement ∁ QED ∎ qed ∎
    % % $ $ # # & & _ _`)

  /** Operators and relations. */
  const OPERATORS = table(`
    times × div ÷ pm ± mp ∓ cdot ⋅ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ wedge ∧ vee ∨ land ∧ lor ∨
    cap ∩ cup ∪ sqcap ⊓ sqcup ⊔ uplus ⊎ setminus ∖ smallsetminus ∖ amalg ⨿ wr ≀ ltimes ⋉ rtimes ⋊ bowtie ⋈ lnot ¬ neg ¬
    leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ ll ≪ gg ≫ lll ⋘ ggg ⋙ equiv ≡ sim ∼ simeq ≃ approx ≈ cong ≅ propto ∝ doteq ≐ asymp ≍ leqslant ⩽
    geqslant ⩾ lesssim ≲ gtrsim ≳ prec ≺ succ ≻ preceq ⪯ succeq ⪰ triangleq ≜ coloneqq ≔ eqqcolon ≕ lt < gt > approxeq ≊ nleq ≰ ngeq ≱ nless ≮ ngtr ≯
    subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ nsubseteq ⊈ sqsubseteq ⊑ sqsupseteq ⊒ in ∈ notin ∉ ni ∋ mid ∣
    nmid ∤ parallel ∥ nparallel ∦ perp ⊥ vdash ⊢ dashv ⊣ models ⊨ vDash ⊨ Vdash ⊩ forall ∀ exists ∃ nexists ∄ therefore ∴ because ∵
    to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⟹ impliedby ⟸ iff ⟺
    longrightarrow ⟶ longleftarrow ⟵ longleftrightarrow ⟷ Longrightarrow ⟹ Longleftarrow ⟸ Longleftrightarrow ⟺ mapsto ↦ longmapsto ⟼
    uparrow ↑ downarrow ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ hookrightarrow ↪ hookleftarrow ↩
    rightharpoonup ⇀ rightharpoondown ⇁ leftharpoonup ↼ rightleftharpoons ⇌ leftrightharpoons ⇋ rightsquigarrow ⇝ leadsto ⇝
    twoheadrightarrow ↠ rightrightarrows ⇉ nrightarrow ↛ nRightarrow ⇏
    ldots … dots … cdots ⋯ vdots ⋮ ddots ⋱ dotsc … dotsb ⋯ dotsm ⋯ dotso … colon : vert | Vert ‖ lvert | rvert | lVert ‖ rVert ‖
    lbrace { rbrace } { { } } | ‖ langle ⟨ rangle ⟩ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ lbrack [ rbrack ] lparen ( rparen ) lgroup ⟮ rgroup ⟯`)

  /** Those whose limits stand above and below them in a displayed formula. */
  const SUMS = table(`
    sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄ bigsqcup ⨆`)
  const INTEGRALS = table('int ∫ iint ∬ iiint ∭ oint ∮ oiint ∯')
  const FUNCTIONS = new Set(`arccos arcsin arctan arg cos cosh cot coth csc deg dim exp hom ker lg ln log sec sin sinh tan tanh tr rank`.split(' '))
  /** Functions with limits below them. @type {Record<string, string>} */
  const LIMITS = Object.assign(table('lim lim max max min min sup sup inf inf det det gcd gcd Pr Pr'), {
    limsup: 'lim\u2009sup', liminf: 'lim\u2009inf', argmax: 'arg\u2009max', argmin: 'arg\u2009min',
  })
  const ACCENTS = table(`
    hat ^ widehat ^ check ˇ widecheck ˇ tilde ~ widetilde ~ bar ¯ overline ‾ vec → overrightarrow → overleftarrow ← overleftrightarrow ↔ overparen ⏜ dot ˙ ddot ¨ dddot ⃛
    acute ´ grave \` breve ˘ mathring ˚ overbrace ⏞ overbracket ⎴`)
  const UNDERS = table('underline _ underbrace ⏟ underbracket ⎵')
  /** In em. */
  const SPACES = table('! -0.1667 , 0.1667 thinspace 0.1667 : 0.2222 > 0.2222 medspace 0.2222 ; 0.2778 thickspace 0.2778 enspace 0.5 enskip 0.5 negthinspace -0.1667 quad 1 qquad 2')

  /** What stands around a matrix of this kind. @type {Record<string, [string, string]>} */
  const AROUND = {
    matrix: ['', ''], smallmatrix: ['', ''], pmatrix: ['(', ')'], bmatrix: ['[', ']'], Bmatrix: ['{', '}'], vmatrix: ['|', '|'], Vmatrix: ['‖', '‖'],
    cases: ['{', ''], dcases: ['{', ''], rcases: ['', '}'], array: ['', ''], subarray: ['', ''], aligned: ['', ''], align: ['', ''], alignat: ['', ''],
    alignedat: ['', ''], split: ['', ''], gathered: ['', ''], gather: ['', ''], multline: ['', ''], eqnarray: ['', ''], equation: ['', ''],
  }
  /** Columns of these are right and left in turns. */
  const PAIRS = new Set(['aligned', 'align', 'alignat', 'alignedat', 'split'])
  /** Columns of these, where nothing else is said. @type {Record<string, string>} */
  const COLUMNS = { cases: 'll', dcases: 'll', rcases: 'll', eqnarray: 'rcl' }
  /** Old words that turn all that follows in their group into letters of another kind. */
  const SWITCHES = new Map(Object.entries({ rm: 'mathrm', bf: 'mathbf', it: 'mathit', cal: 'mathcal', sf: 'mathsf', tt: 'mathtt' }))
  /** Sizes of letters: a formula has the size of the text around it. */
  const LETTER_SIZES = new Set('tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge'.split(' '))
  const LONG_ARROWS = table('xrightarrow → xleftarrow ← xleftrightarrow ↔ xRightarrow ⇒ xLeftarrow ⇐ xLeftrightarrow ⇔ xmapsto ↦ xlongequal =')

  const FENCE = new Set(['(', ')', '[', ']', '|', '/', '‖', '⟨', '⟩', '⌈', '⌉', '⌊', '⌋', '{', '}', '↑', '↓', '⇑', '⇓', '∣', '∥', '\\'])
  const STYLES = new Map([['displaystyle', 'true'], ['textstyle', 'false'], ['scriptstyle', 'false']])
  const TEXT = new Set(['text', 'textrm', 'textbf', 'textit', 'texttt', 'textsf', 'textnormal', 'mbox', 'hbox'])
  /** Lengths, in em. @type {Record<string, number>} */
  const UNITS = { em: 1, ex: 0.5, pt: 0.1, mm: 0.28, cm: 2.8, mu: 1 / 18 }

  /** First letters of the alphabets of Unicode, as [A, a, 0]; what was there before has a place of its own. */
  /** @type {Record<string, number[]>} */
  const ALPHABETS = Object.assign(Object.create(null), {
    mathbf: [0x1d400, 0x1d41a, 0x1d7ce], textbf: [0x1d400, 0x1d41a, 0x1d7ce], mathcal: [0x1d49c, 0x1d4b6, 0], mathscr: [0x1d49c, 0x1d4b6, 0],
    mathfrak: [0x1d504, 0x1d51e, 0], mathbb: [0x1d538, 0x1d552, 0x1d7d8], mathsf: [0x1d5a0, 0x1d5ba, 0x1d7e2],
    mathtt: [0x1d670, 0x1d68a, 0x1d7f6], boldsymbol: [0x1d468, 0x1d482, 0x1d7ce], bm: [0x1d468, 0x1d482, 0x1d7ce],
  })
  /** @type {Record<string, string>} */
  const OLDER = {
    '1d49d': 'ℬ', '1d4a0': 'ℰ', '1d4a1': 'ℱ', '1d4a3': 'ℋ', '1d4a4': 'ℐ', '1d4a7': 'ℒ', '1d4a8': 'ℳ', '1d4ad': 'ℛ', '1d4ba': 'ℯ', '1d4bc': 'ℊ',
    '1d4c4': 'ℴ', '1d506': 'ℭ', '1d50b': 'ℌ', '1d50c': 'ℑ', '1d515': 'ℜ', '1d51d': 'ℨ', '1d53a': 'ℂ', '1d53f': 'ℍ', '1d545': 'ℕ', '1d547': 'ℙ',
    '1d548': 'ℚ', '1d549': 'ℝ', '1d551': 'ℤ',
  }

  /** A letter or digit in another alphabet; everything else stays what it is. @param {string} char @param {string} alphabet */
  function letterIn(char, alphabet) {
    const [upper, lower, digit] = ALPHABETS[alphabet]
    const code = char.codePointAt(0) ?? 0
    const at = /^[A-Z]$/.test(char) ? upper + code - 65 : /^[a-z]$/.test(char) ? lower + code - 97 : /^[0-9]$/.test(char) && digit ? digit + code - 48 : 0
    return at ? OLDER[at.toString(16)] ?? String.fromCodePoint(at) : char
  }

  // -- elements --

  /** @param {string} tag @param {(MathNode | string)[]} children @param {Record<string, string>} [attrs] @returns {MathNode} */
  const node = (tag, children, attrs) => ({ tag, children, ...(attrs ? { attrs } : {}) })
  /** @param {MathNode[]} nodes */
  const row = (nodes) => (nodes.length === 1 ? nodes[0] : node('mrow', nodes))
  /** @param {string} sign @param {Record<string, string>} [attrs] */
  const operator = (sign, attrs) => node('mo', [sign], attrs)
  /** @param {MathNode} above @param {MathNode} below @param {boolean} choose in brackets, without a line */
  function over(above, below, choose) {
    const made = node('mfrac', [above, below], choose ? { linethickness: '0' } : undefined)
    return choose ? node('mrow', [operator('('), made, operator(')')]) : made
  }
  /** @param {number} em */
  const space = (em) => node('mspace', [], { width: `${em}em` })

  return {
    LETTERS, OPERATORS, SUMS, INTEGRALS, FUNCTIONS, LIMITS, ACCENTS, UNDERS, SPACES, ALPHABETS, AROUND, PAIRS, COLUMNS, SWITCHES, LETTER_SIZES,
    LONG_ARROWS, FENCE, STYLES, TEXT, UNITS, letterIn, node, row, operator, space, over,
  }
})
