/** Texts with blanks that are used again. */

declare global {
  interface Modules {
    'ext/prompts/templates': {
      blanks(text: string): { name: string; value: string; options: string[] }[]
      fill(text: string, values: Record<string, string>): string
      slug(name: string): string
      read(value: any): { name: string; text: string }[]
      merge(old: { name: string; text: string }[], added: { name: string; text: string }[]): { name: string; text: string }[]
    }
  }
}
export {}
