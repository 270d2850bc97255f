/** A session for people to read. */

declare global {
  interface Modules {
    'ext/export/transcript': {
      markdown(session: Session, options: { words: Record<string, string>; tools?: boolean }): string
      condense(session: Session, note: (left: number) => string): Session
    }
  }
}
export {}
