/** What would be different for a session on another server. */

interface Difference { kind: string; level: 'bad' | 'warn' | 'note'; name: string; here?: any; there?: any }

interface Modules {
  'ext/servers/compare': { compare(session: Session, here: any, there: any): Difference[] }
}
