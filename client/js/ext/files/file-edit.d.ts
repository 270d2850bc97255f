/** What a call of edit_file would do to a text, and a patch as it is read. */

declare global {
  /** Why a call will fail. `part`: which edit or hunk, from 1; 0: none of several. `lines`: where it fits, if in several places. */
  interface EditProblem { why: 'missing' | 'often' | 'noFile' | 'there' | 'unfit' | 'nothing' | 'large'; part: number; lines: number[]; times?: number }
  /** `after` is the text as it was where there is a problem, and null if the file is deleted. */
  interface EditOutcome { after: string | null; places?: number; problem?: EditProblem }

  interface PatchHunk {
    start: number | null; newStart: number | null; counts: number[]; counted: boolean; headings: string[]; strict: boolean; atEnd: boolean; unended: boolean[]
    lines: { sign: ' ' | '-' | '+'; text: string; whole: string }[]
  }
  interface PatchSection { kind: 'Add' | 'Update' | 'Delete'; names: string[]; hunks: PatchHunk[] }
  interface PlacedHunk { hunk: PatchHunk; part: number; core: number[]; last: number; level: number; starts: number[] }
  interface FileLines { lines: string[]; spend(): void; places(wanted: string[][], level: number): number[] }

  interface Modules {
    'ext/files/patch-text': { readPatch(patch: string): PatchSection[] | null; trim(line: string): string; trimRight(line: string): string }
    'ext/files/apply-patch': { applyPatch(text: string | null, patch: string, path: string): EditOutcome; isCrlf(text: string): boolean }
    'ext/files/file-edit': {
      editFile(text: string | null, args: any): EditOutcome | null
      applyEdits(text: string, edits: { old: string; new: string; replace_all?: boolean }[]): EditOutcome
    }
  }
}
export {}
