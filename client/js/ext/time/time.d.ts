/** Events of runs: recorded, and made from a document. */

declare global {
  /** The events of one run, packed. */
  interface Recording { run: string; lines: any[] }
  /** `turns`: indices of events at which a person spoke; `recorded`: how many were really seen. */
  interface Replayed { start: Session; events: YaaEvent[]; turns: number[]; recorded: number; whole: boolean }

  interface Modules {
    'ext/time/event-recording': {
      pack(run: string, seen: { at: number; event: YaaEvent }[]): Recording
      unpack(recording: Recording): YaaEvent[]
      idsOf(events: YaaEvent[]): string[]
    }
    'ext/time/replay': {
      replay(session: Session, recordings?: Recording[]): Replayed
      sessionAfter(replayed: { start: Session; events: YaaEvent[]; whole?: boolean }, count: number): Session
      applyEvent(session: Session, event: YaaEvent): void
    }
    'ext/time/event-log': {
      save(session: string, run: string, seen: { at: number; event: YaaEvent }[]): Promise<void>
      load(session: string): Promise<Recording[]>
      remove(session: string): Promise<any>
      removeUnused(here: Set<string>): Promise<void>
      clear(): Promise<void>
    }
  }
}
export {}
