/** What the modules that show a run in its parts give: differences, events of a document, time, context. */

declare global {
  interface DiffStep { op: 'same' | 'added' | 'removed'; before: number; after: number }
  interface DiffPart { text: string; changed: boolean }
  /** A line of a difference; `before` and `after` are line numbers, counted from 1. */
  interface DiffRow { kind: 'same' | 'added' | 'removed' | 'gap'; text: string; before?: number; after?: number; count?: number; parts?: DiffPart[] }

  interface Modules {
    'core/diff': {
      align<A>(before: readonly A[], after: readonly A[], same?: (a: A, b: A) => boolean): DiffStep[]
      rows(before: string, after: string, context?: number): DiffRow[]
      parse(text: string): DiffRow[]
      words(before: string, after: string): { before: DiffPart[]; after: DiffPart[]; alike: number }
      count(rows: DiffRow[]): { added: number; removed: number }
      linesOf(text: string): string[]
    }
  }
}
export {}
