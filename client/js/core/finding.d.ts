// What the modules for finding, moving and composing give one another; see client/types.d.ts.

/** A text of a session that can be found: that of one article of the thread. */
interface Page { id: string; role: string; text: string; folded: string }
/** A session that has every word. `parts`: text, and whether it matches. */
interface Found { score: number; inTitle: boolean; count: number; hits: { id: string; role: string; parts: [string, boolean][] }[] }

interface Modules {
  'core/search': {
    fold(text: string): string
    terms(query: string): string[]
    ranges(text: string, words: string[]): [number, number][]
    marked(text: string, words: string[]): [string, boolean][]
    snippet(text: string, words: string[]): [string, boolean][]
    pages(session: Session): Page[]
    look(session: { title: string; pages: Page[] }, words: string[], most?: number): Found | null
    rank(name: string, typed: string): number
    textOf(content: any): string
  }
}
