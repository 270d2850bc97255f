// What the modules for keeping sessions, keys and connections give one another; see client/types.d.ts.

interface StoreOptions {
  name?: string; indexedDB?: IDBFactory; onError?: (error: StoreError) => void
  /** The browser has no room left: throws away what can be lost. */
  makeRoom?: () => Promise<any>
  layout?: number; convert?: (table: string, record: any) => any; names?: () => Promise<string[]>
}
interface Reminder { due: boolean; days: number | null; changed: number }
interface Slots {
  /** `urgent`: answers of a person do not wait behind other runs. `cancel` ends the waiting: `ready` becomes null. */
  take(options?: { urgent?: boolean; onWait?: () => void }): { ready: Promise<(() => void) | null>; cancel(): void }
}

interface Modules {
  'core/backup': {
    reminder(known: { now: number; heads: Head[]; copied?: number; snoozed?: number; persisted: boolean; folder: boolean }): Reminder
    expiredSessions(known: { now: number; heads: Head[]; keep?: Set<string>; archive?: number; remove?: number }): { archive: Head[]; remove: Head[] }
    backup(sessions: Session[], now: number): { yaa_backup: 1; made: string; sessions: Session[] }
    readBackup(value: any): { sessions: Session[]; broken: number } | null
    isLater(incoming: Session, here: Session | null): boolean
    fileName(session: Session): string
  }
  'io/key-storage': {
    open(options?: { storage?: Storage; subtle?: SubtleCrypto; rounds?: number }): {
      possible: boolean; exists(): boolean; seal(passphrase: string, value: any): Promise<void>; unseal(passphrase: string): Promise<any>; forget(): void
    }
  }
  'io/session-folder': {
    open(options?: { indexedDB?: IDBFactory }): {
      possible: boolean; state(): Promise<{ state: string; name: string }>; choose(): Promise<boolean>; ask(): Promise<boolean>
      use(handle: any): Promise<void>; write(session: Session): Promise<void>; forget(): Promise<void>
    }
  }
  'io/store-migration': {
    nameOf(name: string, layout: number): string
    migrate(to: IDBDatabase, options: { name: string; layout: number; indexedDB: IDBFactory; convert: (table: string, record: any) => any; names?: () => Promise<string[]> }): Promise<number>
  }
}
