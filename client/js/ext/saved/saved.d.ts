/** One file with a session and the client. */

declare global {
  interface Modules {
    'ext/saved/page-file': {
      page(given: { source: string; session: Session; objects?: Record<string, string>; sprite?: string; language?: string; theme?: string; saved?: string }): string
      extract(html: string): any
      ID: string
    }
  }
}
export {}
